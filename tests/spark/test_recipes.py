"""The recipes of the documentation that stream: stopped in the middle, their tables are as if they had run at once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession, functions as f

from docs.blocks import Use, blocks
from kinesis_emulator import Emulator
from spark_kinesis_source.data_source import HAS_ADMISSION_CONTROL
from support.paths import TESTS
from support.python_starts import PatientQuery
from support.streams import KEY_ID, REGION, SECRET

PAGE = TESTS.parent / "docs" / "howto" / "recipes.md"
CHECKS = "assert "
"""The page's checks are for its own records."""

Puts = list[tuple[str, bytes]]


def at(minute: int) -> str:
    return f"2026-01-31T09:{minute:02}:00Z"


def of_json(stream: str, *records: dict[str, Any]) -> Puts:
    return [(stream, json.dumps(record).encode()) for record in records]


def log(kind: str, *messages: str) -> dict[str, Any]:
    events = [{"id": text, "timestamp": 1, "message": text} for text in messages]
    return {"messageType": kind, "logGroup": "/shop", "logEvents": events}


def click(name: str, minute: int) -> dict[str, Any]:
    return {"id": name, "page": "/tea", "time": at(minute)}


def gzipped(*logs: dict[str, Any]) -> Puts:
    return [("logs", gzip.compress(json.dumps(each).encode())) for each in logs]


WINDOWS = (
    of_json("clicks", click("a", 1), click("b", 1), click("a", 1)),
    of_json("clicks", click("b", 1), click("c", 2), click("d", 30)),  # d closes the windows of the others
    {"windows": [("/tea", 2), ("/tea", 1)]},
)
DEAD_LETTERS = (
    [
        *of_json("sales", {"sale": 1, "amount": 12, "time": at(0)}),
        ("sales", b"{oops"),
        ("sales", b"\xff\xfe"),
    ],
    [*of_json("sales", {"sale": 2}, {"sale": "x"}, {"amount": 1}), ("sales", b""), ("sales", b"[]")],
    {
        "sales": [1, 2],
        "dead_letters": [b"{oops", b"\xff\xfe", b'{"sale": "x"}', b'{"amount": 1}', b"", b"[]"],
    },
)
LATER = of_json("clicks", click("e", 31), click("f", 32))
"""
Before Spark 4.2 a batch writes the windows that the batch before it closed. After a crash it can be one batch more: Spark skips a
batch whose files are there, and does not learn the times of its records.
"""
half = gzip.compress(json.dumps(log("DATA_MESSAGE", "third")).encode())
LOGS = (
    gzipped(log("CONTROL_MESSAGE", "check"), log("DATA_MESSAGE", "héllo 😀", "second")),
    [("logs", half[:-9]), ("logs", b"{}"), ("logs", half)],
    {"logs": ["héllo 😀", "second", "third"]},
)
JOIN = (
    of_json("sales", *({"sale": n, "amount": 12, "time": at(0)} for n in range(3)))
    + of_json("payments", {"paid": 0, "time": at(5)}),
    of_json("payments", {"paid": 1, "time": at(59)}, {"paid": 2, "time": "2026-01-31T10:01:00Z"})
    + of_json("sales", {"sale": 3, "amount": 12, "time": at(1)})
    + of_json("payments", {"paid": 3, "time": at(2)}),
    {"pairs": [0, 1, 3]},
)
SHOWN: dict[str, Callable[[Row], Any]] = {
    "windows": lambda row: (row["page"], row["count"]),
    "sales": lambda row: row["sale"],
    "dead_letters": lambda row: bytes(row["data"]),
    "logs": lambda row: row["message"],
    "pairs": lambda row: row["sale"],
}
"""What is compared of a row of each table."""


class Recipe:
    """A section of the page, with its tables and checkpoints in *folder*."""

    def __init__(self, spark: SparkSession, emulator: Emulator, folder: Path, section: str) -> None:
        cells = [block.text for block in blocks(PAGE) if block.section == section and block.use is Use.CELL]
        lines = [line for cell in cells for line in cell.splitlines() if not line.startswith(CHECKS)]
        self._code = compile("\n".join(lines), str(PAGE), "exec")
        self._names = {"spark": spark, "f": f, "stream": self._stream, "run": self._run}
        self._spark, self._emulator, self._folder = spark, emulator, folder

    def _stream(self, name: str) -> DataFrame:
        options = {
            "streamName": name,
            "endpointUrl": self._emulator.endpoint_url,
            "region": REGION,
            "awsAccessKeyId": KEY_ID,
            "awsSecretKey": SECRET,
            "startingPosition": "TRIM_HORIZON",
        }
        return self._spark.readStream.format("kinesis").options(**options).load()

    def _run(self, frame: DataFrame, name: str) -> DataFrame:
        table = str(self._folder / "tables" / name)
        writer = frame.writeStream.format("parquet").option("path", table)
        writer = writer.option("checkpointLocation", str(self._folder / "checkpoints" / name))
        PatientQuery(writer.trigger(availableNow=True).start).do(lambda query: query.awaitTermination())
        return self._spark.read.schema(frame.schema).parquet(table)

    def run(self) -> None:
        exec(self._code, self._names)  # noqa: S102 # a page of this repository

    def resume(self) -> None:
        """Run after a crash. Before Spark 4.2 a run has one batch, and the first run only repeats the interrupted one."""
        for _ in range(1 if HAS_ADMISSION_CONTROL else 2):
            self.run()

    def forget_the_last_commits(self) -> None:
        """Leave behind what a crash between the write and the commit of each query leaves."""
        for commits in self._folder.glob("checkpoints/*/commits"):
            last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
            (commits / f"{last}").unlink()
            (commits / f".{last}.crc").unlink()

    def tables(self) -> dict[str, list[Any]]:
        return {
            path.name: sorted(SHOWN[path.name](row) for row in self._spark.read.parquet(str(path)).collect())
            for path in (self._folder / "tables").iterdir()
        }


@pytest.mark.parametrize(
    ("section", "first", "second", "expected"),
    [
        pytest.param("Windows with dedupe and a watermark", *WINDOWS, marks=pytest.mark.all_sparks),
        ("Dead letter table", *DEAD_LETTERS),
        ("CloudWatch Logs", *LOGS),
        ("Join two streams", *JOIN),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_stopped_in_the_middle(
    spark: SparkSession,
    emulator: Emulator,
    tmp_path: Path,
    section: str,
    first: Puts,
    second: Puts,
    expected: dict[str, list[Any]],
) -> None:
    """A recipe that is stopped, and crashes before its last commit, has the rows of a recipe that ran at once."""
    for name in ("clicks", "sales", "payments", "logs"):
        emulator.create_stream(name)
    stopped = Recipe(spark, emulator, tmp_path / "stopped", section)
    for puts in (first, second):
        for name, data in puts:
            emulator.put(name, data)
        stopped.resume()
        stopped.forget_the_last_commits()
    at_once = Recipe(spark, emulator, tmp_path / "at-once", section)
    at_once.run()
    for name, data in LATER:
        emulator.put(name, data)
        stopped.resume()
        at_once.run()
    assert stopped.tables() == at_once.tables() == {name: sorted(rows) for name, rows in expected.items()}
