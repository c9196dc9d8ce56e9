"""Enhanced monitoring: which metrics each shard has. The emulator keeps the choice, and measures nothing."""

from __future__ import annotations

from typing import Any

from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service
from kinesis_emulator.store import StoredStream
from kinesis_emulator.validation import MODEL

_ALL = "ALL"
_METRICS = [name for name in MODEL["shapes"]["MetricsName"]["enum"] if name != _ALL]


def enable(service: Service, request: Request) -> dict[str, Any]:
    with service.change(request) as stream:
        return _choose(stream, {*stream.metrics, *_chosen(request)})


def disable(service: Service, request: Request) -> dict[str, Any]:
    with service.change(request) as stream:
        return _choose(stream, set(stream.metrics) - _chosen(request))


def _chosen(request: Request) -> set[str]:
    chosen = set(request.texts("ShardLevelMetrics"))
    return set(_METRICS) if _ALL in chosen else chosen


def _choose(stream: StoredStream, desired: set[str]) -> dict[str, Any]:
    current, stream.metrics = stream.metrics, [name for name in _METRICS if name in desired]
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "CurrentShardLevelMetrics": current,
        "DesiredShardLevelMetrics": stream.metrics,
    }
