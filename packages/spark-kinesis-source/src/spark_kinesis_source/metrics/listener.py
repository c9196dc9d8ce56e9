"""QueryMetrics: a listener that keeps the metrics of all queries that read Kinesis."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
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
OURS = ("kinesis_core.", "kinesis_credentials.", "spark_kinesis_source.")
"""What the text of an exception contains if one of our errors ended the query."""
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
    losses: dict[tuple[int, str], int] = field(factory=dict)
    """How many losses were counted, by source and stream. Each source counts for itself."""


class QueryMetrics(StreamingQueryListener):
    """
    Exports the metrics of all queries of a session that read Kinesis. Other queries are ignored.

    It never raises into Spark. If an exporter fails, that is logged.
    """

    def __init__(self, *exporters: Exporter) -> None:
        self._exporters = exporters
        self._runs: dict[str, _Run] = {}
        self._readers: set[str] = set()
        """The ids of queries that have read Kinesis. A restart does not say so before its first batch."""
        self._acts: list[Callable[[Exporter], None]] = []
        """What the exporters are told about the current event."""
        self._lock = Lock()  # sessions call their listeners in threads of their own

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        with self._safely():
            run = _Run(event.name or str(event.id), reads_kinesis=str(event.id) in self._readers)
            self._runs[str(event.runId)] = run
            if run.reads_kinesis:
                self._set(RUNNING, {"query": run.query}, 1)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        with self._safely():
            report = json.loads(event.progress.json)
            progress = read_progress(report)
            if progress is not None:
                self._readers.add(str(report.get("id")))
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
            if not run.reads_kinesis and not any(module in (event.exception or "") for module in OURS):
                return
            labels = {"query": run.query}
            self._export(lambda exporter: exporter.forget(run.query))
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
            self._export(lambda exporter: exporter.observe(BATCH_DURATION, labels, total_s))
            if progress.started_s is not None:
                self._set(FINISHED, labels, progress.started_s + total_s)
        for phase, duration_s in progress.durations_s.items():
            self._set(PHASE_DURATION, {**labels, "phase": phase}, duration_s)
        for number, source in enumerate(progress.sources):
            self._take_source(run, number, source)
        for name, stream in progress.by_stream().items():
            self._set(LAG, {**labels, "stream": name}, stream.lag_s)
            self._set(RETENTION, {**labels, "stream": name}, stream.retention_s)

    def _take_source(self, run: _Run, number: int, source: SourceProgress) -> None:
        labels = {"query": run.query, "stream": source.label}
        self._add(ROWS, labels, source.rows)
        self._set(INPUT_RATE, labels, source.input_rows_per_s)
        self._set(PROCESSED_RATE, labels, source.processed_rows_per_s)
        for name, stream in source.streams.items():
            if stream.losses is not None:
                # The planner counts from the start of the run.
                counted, run.losses[number, name] = run.losses.get((number, name), 0), stream.losses
                self._add(LOSSES, {**labels, "stream": name}, max(0, stream.losses - counted))

    def _set(self, metric: Metric, labels: Labels, value: float | None) -> None:
        if value is not None:
            self._export(lambda exporter: exporter.set(metric, labels, value))

    def _add(self, metric: Metric, labels: Labels, amount: float) -> None:
        self._export(lambda exporter: exporter.add(metric, labels, amount))

    def _export(self, act: Callable[[Exporter], None]) -> None:
        """Do the same with every exporter, once the event is read."""
        self._acts.append(act)

    @contextmanager
    def _safely(self) -> Iterator[None]:
        """Let one thread in at a time, and no error out: Spark would log it without saying where it came from."""
        with self._lock, _logged():
            self._acts = []
            yield
            for exporter in self._exporters:
                with _logged():  # one that fails takes nothing from the others
                    for act in self._acts:
                        act(exporter)


@contextmanager
def _logged() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 # metrics must not disturb the query, whatever an exporter does
        log.warning("metrics.failed", reason=f"{type(error).__name__}: {error}")
