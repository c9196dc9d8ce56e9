"""Progress reports as Spark makes them, for tests of the metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from attrs import define, field
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
)

STARTED = "2026-11-22T20:47:09.894Z"
STARTED_S = 1795380429.894


def offset(*streams: str) -> dict[str, Any]:
    shards = {"shardId-000000000000": {"AFTER": "4966", "arrived": 1795380425000}}
    return {"version": 1, "streams": {name: {"created": 1, "shards": shards} for name in streams}}


def kinesis_source(
    *streams: str, lags_ms: Mapping[str, int] | None = None, rows: int = 86, losses: int = 0, **more: Any
) -> dict[str, Any]:
    """Return a source of *streams*. Without *lags_ms*, by shard, it is one of Spark 4.0 or 4.1."""
    report = {
        "msBehindLatest": dict.fromkeys(streams, lags_ms),
        "retentionHours": dict.fromkeys(streams, 24),
        "dataLosses": dict.fromkeys(streams, losses),
    }
    return {
        "description": "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStream@15273775",
        "startOffset": None,
        "endOffset": offset(*streams),
        "latestOffset": offset(*streams) if lags_ms is None else report,
        "numInputRows": rows,
        "inputRowsPerSecond": 43.0,
        "processedRowsPerSecond": 5.0,
        **more,
    }


RATE_SOURCE = {
    "description": "RateStreamV2[rowsPerSecond=1]",
    "startOffset": 0,
    "endOffset": 5,
    "numInputRows": 5,
}
KAFKA_SOURCE = {
    "description": "KafkaV2[Subscribe[orders]]",
    "endOffset": {"orders": {"0": 7}},
    "latestOffset": {"orders": {"0": 9}},
    "numInputRows": 7,
    "metrics": {"maxOffsetsBehindLatest": "2"},
}


def progress(*sources: Mapping[str, Any], name: str | None = "copy", **more: Any) -> dict[str, Any]:
    return {
        "id": "4434f1fd-0b7a-4ec6-bced-487812fc23fd",
        "runId": "ba89175d-4337-4fc4-baa6-9c0ac932ec26",
        "name": name,
        "timestamp": STARTED,
        "batchId": 7,
        "batchDuration": 2500,
        "durationMs": {"addBatch": 2000, "latestOffset": 250, "triggerExecution": 2500},
        "stateOperators": [],
        "sources": list(sources),
        "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
        **more,
    }


@define
class _Progress:
    """The part of `StreamingQueryProgress` that a listener needs."""

    runId: UUID  # noqa: N815 # as Spark names it
    json: str


@define
class Run:
    """Events of one run of a query."""

    name: str | None = "copy"
    id: UUID = field(factory=uuid4)
    run_id: UUID = field(factory=uuid4)

    def started(self) -> QueryStartedEvent:
        return QueryStartedEvent(self.id, self.run_id, self.name, STARTED, set())

    def progressed(self, *sources: Mapping[str, Any], **more: Any) -> QueryProgressEvent:
        report = progress(*sources, name=self.name, id=str(self.id), runId=str(self.run_id), **more)
        return QueryProgressEvent(_Progress(self.run_id, json.dumps(report)))  # type: ignore[arg-type]

    def idle(self, timestamp: str) -> QueryIdleEvent:
        return QueryIdleEvent(self.id, self.run_id, timestamp)

    def ended(self, exception: str | None = None) -> QueryTerminatedEvent:
        return QueryTerminatedEvent(self.id, self.run_id, exception, None)
