"""A source of numbers that records the methods that Spark calls, with their arguments and order."""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

try:
    from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:  # before Spark 4.2
    HAS_ADMISSION_CONTROL = False
else:
    HAS_ADMISSION_CONTROL = True


class RecordingSource(DataSource):
    """Option `directory`: its file `tip` has the count of numbers, and `calls` gets the recorded calls."""

    @classmethod
    def name(cls) -> str:
        return "recording"

    def schema(self) -> str:
        return "number long"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002 - Spark's signature
        return RecordingReader(self.options)


class _Recorder(DataSourceStreamReader):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._directory = Path(options["directory"])

    def record(self, *call: Any) -> None:
        with (self._directory / "calls").open("a") as file:
            file.write(json.dumps(call) + "\n")

    def tip(self) -> int:
        return int((self._directory / "tip").read_text())

    def initialOffset(self) -> dict[str, int]:
        self.record("initialOffset")
        return {"n": 0}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        self.record("partitions", start["n"], end["n"])
        return [InputPartition((start["n"], end["n"]))] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        start, end = partition.value
        return ((number,) for number in range(start, end))

    def commit(self, end: dict[str, int]) -> None:
        self.record("commit", end["n"])


if HAS_ADMISSION_CONTROL:

    class RecordingReader(_Recorder, SupportsTriggerAvailableNow):
        """The reader for Spark 4.2 and later: ten numbers per batch."""

        _target: int | None = None

        def getDefaultReadLimit(self) -> ReadLimit:
            self.record("getDefaultReadLimit")
            return ReadMaxRows(10)

        def prepareForTriggerAvailableNow(self) -> None:
            self.record("prepareForTriggerAvailableNow")
            self._target = self.tip()

        def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
            end = min(self.tip() if self._target is None else self._target, start["n"] + 10)
            self.record("latestOffset", start["n"], type(limit).__name__, end)
            return {"n": end}

        def reportLatestOffset(self) -> dict[str, int]:
            self.record("reportLatestOffset")
            return {"n": self.tip()}

else:

    class RecordingReader(_Recorder):  # type: ignore[no-redef]
        """The reader for Spark 4.0 and 4.1."""

        def latestOffset(self) -> dict[str, int]:  # type: ignore[override] # newer versions pass more arguments
            end = self.tip()
            self.record("latestOffset", end)
            return {"n": end}
