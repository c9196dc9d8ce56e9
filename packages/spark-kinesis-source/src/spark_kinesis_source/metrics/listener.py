"""QueryMetrics: a listener that keeps the metrics of all queries that read Kinesis."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from attrs import define, field
from pyspark.sql.streaming.listener import StreamingQueryListener

from kinesis_core.logs import get_logger
from spark_kinesis_source.metrics.declared import (
    BATCH_DURATION,
    BATCH_NUMBER,
    FAILURES,
    FINISHED,
    INPUT_RATE,
    LAG,
    LOSSES,
    PHASE_DURATION,
    PLANNED,
    PROCESSED_RATE,
    RETENTION,
    ROWS,
    RUNNING,
    Metric,
)
from spark_kinesis_source.metrics.progress import QueryProgress, SourceProgress, epoch_s, read_progress

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

log = get_logger("spark_kinesis_source")

Labels = Mapping[str, str]
TOTAL = "triggerExecution"
"""Spark's name for the duration of the whole batch."""


class Exporter(Protocol):
    """Where metrics go. *labels* has a value for each label of the metric."""

    def add(self, metric: Metric, labels: Labels, amount: float) -> None:
        """Add to a counter. Adding 0 shows it."""
        ...

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        """Set a gauge."""
        ...

    def observe(self, metric: Metric, labels: Labels, value: float) -> None:
        """Count a value of a histogram."""
        ...

    def forget(self, query: str) -> None:
        """End all gauges of *query*. They would show its last lag for ever."""
        ...


@define
class _Run:
    """One run of a query."""

    query: str
    reads_kinesis: bool = False
    losses: dict[str, int] = field(factory=dict)
    """How many losses of each stream were counted."""


class QueryMetrics(StreamingQueryListener):
    """
    Exports the metrics of all queries of a session that read Kinesis. Other queries are ignored.

    It never raises into Spark. If an exporter fails, that is logged.
    """

    def __init__(self, *exporters: Exporter) -> None:
        self._exporters = exporters
        self._runs: dict[str, _Run] = {}
        self._lock = Lock()  # sessions call their listeners in threads of their own

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        with self._safely():
            self._runs[str(event.runId)] = _Run(event.name or str(event.id))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        with self._safely():
            progress = read_progress(json.loads(event.progress.json))
            if progress is not None:
                self._take(str(event.progress.runId), progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        with self._safely():
            run, idle_s = self._runs.get(str(event.runId)), epoch_s(event.timestamp)
            if run is not None and run.reads_kinesis and idle_s is not None:
                self._set(PLANNED, {"query": run.query}, idle_s)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        with self._safely():
            run = self._runs.pop(str(event.runId), None) or _Run(str(event.id))
            # A query that fails before its first batch has reported nothing. Its error names our modules.
            if not run.reads_kinesis and "kinesis" not in (event.exception or ""):
                return
            labels = {"query": run.query}
            for exporter in self._exporters:
                exporter.forget(run.query)
            self._set(RUNNING, labels, 0)
            self._add(FAILURES, labels, 0 if event.exception is None else 1)

    def _take(self, run_id: str, progress: QueryProgress) -> None:
        run = self._runs.setdefault(run_id, _Run(progress.query))  # a listener may come after the start
        run.reads_kinesis = True
        labels = {"query": run.query}
        self._set(RUNNING, labels, 1)
        self._add(FAILURES, labels, 0)
        self._set(BATCH_NUMBER, labels, progress.batch)
        self._set(PLANNED, labels, progress.started_s)
        total_s = progress.durations_s.get(TOTAL)
        if total_s is not None:
            for exporter in self._exporters:
                exporter.observe(BATCH_DURATION, labels, total_s)
            if progress.started_s is not None:
                self._set(FINISHED, labels, progress.started_s + total_s)
        for phase, duration_s in progress.durations_s.items():
            self._set(PHASE_DURATION, {**labels, "phase": phase}, duration_s)
        for source in progress.sources:
            self._take_source(run, source)

    def _take_source(self, run: _Run, source: SourceProgress) -> None:
        labels = {"query": run.query, "stream": source.label}
        self._add(ROWS, labels, source.rows)
        self._set(INPUT_RATE, labels, source.input_rows_per_s)
        self._set(PROCESSED_RATE, labels, source.processed_rows_per_s)
        for name, stream in source.streams.items():
            labels = {"query": run.query, "stream": name}
            self._set(LAG, labels, stream.lag_s)
            self._set(RETENTION, labels, stream.retention_s)
            if stream.losses is not None:
                # The planner counts from the start of the run.
                self._add(LOSSES, labels, max(0, stream.losses - run.losses.get(name, 0)))
                run.losses[name] = stream.losses

    def _set(self, metric: Metric, labels: Labels, value: float | None) -> None:
        if value is not None:
            for exporter in self._exporters:
                exporter.set(metric, labels, value)

    def _add(self, metric: Metric, labels: Labels, amount: float) -> None:
        for exporter in self._exporters:
            exporter.add(metric, labels, amount)

    @contextmanager
    def _safely(self) -> Iterator[None]:
        """Let one thread in at a time, and no error out: Spark would log it without saying where it came from."""
        with self._lock:
            try:
                yield
            except Exception as error:  # noqa: BLE001 # metrics must not disturb the query, whatever an exporter does
                log.warning("metrics.failed", reason=f"{type(error).__name__}: {error}")
