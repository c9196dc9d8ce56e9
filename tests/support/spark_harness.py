"""Runs streaming queries for the scenarios: start, wait, stop, lose a commit, start again."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from .paths import python_path
from .python_log import SITE, VARIABLE
from .python_starts import PatientQuery
from .waiting import PATIENCE_S, wait_until

AWS_VARIABLES = (
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
)
"""AWS settings of a developer's machine. Tests remove them and set everything themselves."""

CONFIG = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # Spark waits this long for some of its Python processes. For others it waits 10 s, which no setting changes.
    "spark.python.authenticate.socketTimeout": f"{PATIENCE_S:.0f}s",
    # Tests are short, so a quick start matters more than quick loops.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    # How soon an idle query polls again. The default of 10 ms would keep a core of the test machine busy.
    "spark.sql.streaming.pollingDelay": "50ms",
}


def start_session(
    directory: Path, master: str = "local[2,2]", config: Mapping[str, str] | None = None
) -> SparkSession:
    """Return a session whose workers run this Python and can import the test support."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for name in [name for name in os.environ if name in AWS_VARIABLES]:
        del os.environ[name]
    os.environ.update(
        AWS_CONFIG_FILE=os.devnull, AWS_SHARED_CREDENTIALS_FILE=os.devnull, AWS_EC2_METADATA_DISABLED="true"
    )
    os.environ["PYTHONPATH"] = python_path(SITE)  # last, as a test may have a sitecustomize of its own
    os.environ[VARIABLE] = str(directory / "python.log")
    builder = SparkSession.builder.master(master).appName("tests")
    settings = {**CONFIG, "spark.sql.warehouse.dir": str(directory / "warehouse"), **(config or {})}
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


class Query:
    """
    One streaming query with its checkpoint. It may be started several times.

    Args:
        each: Processes a batch, and returns the rows that count as its result.

    Attributes:
        runs: The rows of each run of each batch, by batch id: a replayed batch has two entries.
    """

    def __init__(
        self,
        spark: SparkSession,
        checkpoint: Path,
        options: Mapping[str, Any],
        source: str = "kinesis",
        schema: StructType | str | None = None,
        each: Callable[[DataFrame], list[Row]] = DataFrame.collect,
    ) -> None:
        self._spark = spark
        self.checkpoint = checkpoint
        self.options = dict(options)
        self._source = source
        self._schema = schema
        self._each = each
        self._started: list[PatientQuery] = []
        self.runs: dict[int, list[list[Row]]] = {}

    # Running -------------------------------------------------------------------------------------------------

    def start(self, **trigger: Any) -> Query:
        """Start the query, with *trigger* as `DataStreamWriter.trigger` takes it. By default batches follow each other at once."""
        writer = self.frame().writeStream.foreachBatch(self._collect)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        query = PatientQuery(writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start)
        self._started.append(query)
        return self

    def frame(self) -> DataFrame:
        reader = self._spark.readStream.format(self._source).options(**self.options)
        return (reader if self._schema is None else reader.schema(self._schema)).load()

    def _collect(self, frame: DataFrame, batch_id: int) -> None:
        rows = self._each(frame)
        # In one step: the test looks from another thread, and a batch without a run is none.
        self.runs[batch_id] = [*self.runs.get(batch_id, []), rows]

    @property
    def running(self) -> PatientQuery:
        assert self._started, "start() comes first"
        return self._started[-1]

    @property
    def failed_starts(self) -> int:
        """How often Spark did not wait for the query's Python process."""
        return sum(each.starts - 1 for each in self._started)

    @property
    def query(self) -> StreamingQuery:
        return self.running.query

    def wait_started(self) -> Query:
        """Wait for the first batch, which Spark runs even without data: it fixes LATEST."""
        return self.wait(self.commits, "first batch")

    def process_all(self) -> Query:
        """Wait until everything that is now in the stream has been processed."""
        self.running.do(StreamingQuery.processAllAvailable)
        return self

    def wait_for_rows(self, count: int) -> Query:
        """Wait until *count* rows have arrived, without replays, and until the whole stream is processed."""
        return self.wait(lambda: len(self.rows) >= count, f"{count} rows").process_all()

    def wait(self, is_done: Callable[[], object], what: str) -> Query:
        def is_so() -> object:
            if is_done():
                return True
            self.running.do(_await_error)
            return False

        wait_until(is_so, lambda: f"no {what}, but {len(self.rows)} rows")
        return self

    def finish(self) -> Query:
        """Wait for the end of a query that ends by itself (AvailableNow, Once)."""
        assert self.running.do(lambda query: query.awaitTermination(int(PATIENCE_S))), "still running"
        return self

    def stop(self) -> Query:
        if self._started:
            self.query.stop()
        return self

    # Results -------------------------------------------------------------------------------------------------

    @property
    def batches(self) -> dict[int, list[Row]]:
        """The rows of the last run of each batch."""
        return {batch_id: runs[-1] for batch_id, runs in sorted(self.runs.items())}

    @property
    def rows(self) -> list[Row]:
        return [row for batch in self.batches.values() for row in batch]

    @property
    def payloads(self) -> list[bytes]:
        return [bytes(row.data) for row in self.rows]

    def offsets(self) -> list[int]:
        """Return the ids of the planned batches."""
        return _ids(self.checkpoint / "offsets")

    def commits(self) -> list[int]:
        """Return the ids of the finished batches."""
        return _ids(self.checkpoint / "commits")

    def end(self) -> dict[str, Any]:
        """Return the offset of the last planned batch."""
        return dict(json.loads(self._log_file.read_text().splitlines()[-1]))

    def replace_end(self, offset: Mapping[str, Any]) -> None:
        """Write another offset into the log in place of that of the last planned batch."""
        file = self._log_file
        lines = file.read_text().splitlines()
        file.write_text("\n".join([*lines[:-1], json.dumps(offset)]))
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)

    @property
    def _log_file(self) -> Path:
        return self.checkpoint / "offsets" / str(self.offsets()[-1])

    def lose_last_commit(self) -> int:
        """Remove the commit of the last batch, as if the driver had died before writing it. Return the id of the batch."""
        batch_id = self.commits()[-1]
        for name in (str(batch_id), f".{batch_id}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)
        return batch_id


def _await_error(query: StreamingQuery) -> None:
    """Wait a moment. An error of the query is raised."""
    query.awaitTermination(0.05)  # type: ignore[arg-type]


def _ids(directory: Path) -> list[int]:
    return sorted(int(file.name) for file in directory.glob("[0-9]*") if file.name.isdigit())
