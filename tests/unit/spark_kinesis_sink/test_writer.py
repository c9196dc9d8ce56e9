"""What the driver logs about a batch."""

from __future__ import annotations

import logging
import pickle

import pytest

pytest.importorskip("pyspark")

from kinesis_core.producing import Totals
from spark_kinesis_sink.columns import Columns
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_sink.task import WriteTask, Written
from spark_kinesis_sink.writer import BatchWriter, StreamRowWriter

TASK = WriteTask(SinkOptions.parse({"streamName": "orders", "region": "eu-west-1"}), Columns(0))
DONE = [Written(Totals(user_records=10, records=2)), Written(Totals(user_records=5, records=1, throttled=3))]


def facts_of(record: logging.LogRecord) -> dict[str, str]:
    facts: dict[str, str] = record.__dict__["context"]
    return {name: value for name, value in facts.items() if value != "0"}


def test_commit(caplog: pytest.LogCaptureFixture) -> None:
    """A written batch is one log line with the totals of all its tasks."""
    caplog.set_level(logging.INFO, "spark_kinesis_sink")
    StreamRowWriter(TASK).commit(DONE, 7)
    [record] = caplog.records
    assert record.levelname == "INFO"
    assert record.getMessage().startswith("batch.put batch=7 tasks=2")
    assert facts_of(record) == {
        "batch": "7",
        "tasks": "2",
        "user_records": "15",
        "records": "3",
        "throttled": "3",
    }


def test_abort(caplog: pytest.LogCaptureFixture) -> None:
    """A failed batch is a warning that says how much of it is in the stream nevertheless."""
    BatchWriter(TASK).abort([DONE[0], None])
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith("batch.aborted tasks=2 unfinished=1")
    assert facts_of(record)["user_records"] == "10"


def test_travels() -> None:
    """Writers and messages of tasks pickle."""
    for sent in (BatchWriter(TASK), StreamRowWriter(TASK), DONE[0]):
        pickle.loads(pickle.dumps(sent))  # noqa: S301 - our own bytes
