"""QueryMetrics: a listener that keeps the metrics of all queries that read Kinesis."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from attrs import define, field
from pyspark.sql.streaming.listener import StreamingQueryListener

from kinesis_credentials.logs import get_logger
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
from spark_kinesis_source.metrics.exporter import Exporter, Labels
from spark_kinesis_source.metrics.progress import QueryProgress, epoch_s, query_label, read_progress

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

log = get_logger("spark_kinesis_source")

OURS = ("kinesis_core.", "kinesis_credentials.", "spark_kinesis_source.")
"""What the text of an exception contains if one of our errors ended the query."""
TOTAL = "triggerExecution"
"""Spark's name for the duration of the whole batch."""
Gauge = tuple[Metric, tuple[tuple[str, str], ...]]
"""A gauge and its labels."""


@define
class _Run:
    """One run of a query."""

    query: str
    """The name of the query, or its id if it has no name."""
    id: str
    """The id of the query. Spark runs it once at a time."""
    reads_kinesis: bool | None = None
    """None until its first report."""
    is_over: bool = False
    """Whether another run has begun since. Its end is yet to be reported, or never will be."""
    losses: dict[tuple[int, str], int] = field(factory=dict)
    """How many losses were counted, by source and stream. Each source counts for itself."""
    gauges: dict[Gauge, float] = field(factory=dict)
    """What it shows now. That ends with the run."""


class QueryMetrics(StreamingQueryListener):
    """
    Exports the metrics of all queries of a session that read Kinesis. Other queries are ignored.

    *queries* are the names of queries that read Kinesis. Those are exported from their first start on. Spark does not say what
    other queries read before their first batch has ended.

    It never raises into Spark. If an exporter fails, that is logged.
    """

    def __init__(self, *exporters: Exporter, queries: Collection[str] = ()) -> None:
        if isinstance(queries, str):
            raise TypeError(f"queries takes several names, such as queries=({queries!r},).")
        self._exporters = exporters
        self._runs: dict[str, _Run] = {}
        self._readers = set(queries)
        """The names of queries that read Kinesis. The id of a query without a name may never come again."""
        self._acts: list[Callable[[Exporter], None]] = []
        """What the exporters are told about the current event."""
        self._lock = Lock()  # sessions call their listeners in threads of their own

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        with self._safely():
            query_id = str(event.id)
            for run in self._runs.values():
                run.is_over |= run.id == query_id
            run = self._runs[str(event.runId)] = _Run(event.name or query_id, query_id)
            self._take_time(run, event.timestamp)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        with self._safely():
            report = json.loads(event.progress.json)
            # A listener may come after the start.
            began = _Run(query_label(report), str(report.get("id")))
            run = self._runs.setdefault(str(event.progress.runId), began)
            progress = read_progress(report)
            if progress is not None:
                run.reads_kinesis = True
                if report.get("name"):
                    self._readers.add(run.query)
                self._take(run, progress)
            elif run.reads_kinesis is None:
                run.reads_kinesis = False
                self._readers.discard(run.query)
                self._end(run, run.gauges)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        with self._safely():
            run = self._runs.get(str(event.runId))
            if run is not None:
                self._take_time(run, event.timestamp)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        with self._safely():
            run = self._runs.pop(str(event.runId), None) or _Run(str(event.id), str(event.id))
            if not self._is_reader(run, event.exception or ""):
                return
            self._end(run, [gauge for gauge in run.gauges if gauge[0] is not RUNNING])
            if not self._other_runs(run):
                self._set(run, RUNNING, 0)
            self._add(run, FAILURES, 0 if event.exception is None else 1)

    def _is_reader(self, run: _Run, error: str = "") -> bool:
        """Return whether *run* reads Kinesis, as far as is known. Before its first report its name or its error tells."""
        if run.reads_kinesis is None:
            return run.query in self._readers or any(module in error for module in OURS)
        return run.reads_kinesis

    def _other_runs(self, run: _Run) -> list[_Run]:
        """Return the other runs of the query that live. A start may be reported before the end of the run before."""
        living = [other for other in self._runs.values() if other is not run and not other.is_over]
        return [other for other in living if other.query == run.query and other.reads_kinesis is not False]

    def _take_time(self, run: _Run, timestamp: str) -> None:
        """Note that *run* has started, or that it found nothing to do."""
        if self._is_reader(run):
            self._set(run, RUNNING, 1)
            self._set(run, PLANNED, epoch_s(timestamp))

    def _take(self, run: _Run, progress: QueryProgress) -> None:
        before, run.gauges = run.gauges, {}
        self._set(run, RUNNING, 1)
        self._add(run, FAILURES, 0)
        self._take_batch(run, progress)
        self._take_sources(run, progress)
        self._end(run, [gauge for gauge in before if gauge not in run.gauges])

    def _take_batch(self, run: _Run, progress: QueryProgress) -> None:
        self._set(run, BATCH_NUMBER, progress.batch)
        self._set(run, PLANNED, progress.started_s)
        total_s = progress.durations_s.get(TOTAL)
        if total_s is not None:
            labels = {"query": run.query}
            self._export(lambda exporter: exporter.observe(BATCH_DURATION, labels, total_s))
            if progress.started_s is not None:
                self._set(run, FINISHED, progress.started_s + total_s)
        for phase, duration_s in progress.durations_s.items():
            self._set(run, PHASE_DURATION, duration_s, phase=phase)

    def _take_sources(self, run: _Run, progress: QueryProgress) -> None:
        for label, source in progress.by_label().items():
            self._add(run, ROWS, source.rows, stream=label)
            self._set(run, INPUT_RATE, source.input_rows_per_s, stream=label)
            self._set(run, PROCESSED_RATE, source.processed_rows_per_s, stream=label)
        for name, stream in progress.by_stream().items():
            self._set(run, LAG, stream.lag_s, stream=name)
            self._set(run, RETENTION, stream.retention_s, stream=name)
        for source in progress.sources:
            for name, stream in source.streams.items():
                if stream.losses is not None:
                    # The planner counts from the start of the run.
                    key = source.index, name
                    counted, run.losses[key] = run.losses.get(key, 0), stream.losses
                    self._add(run, LOSSES, max(0, stream.losses - counted), stream=name)

    def _set(self, run: _Run, metric: Metric, value: float | None, **more: str) -> None:
        if value is not None:
            labels = {"query": run.query, **more}
            run.gauges[metric, tuple(labels.items())] = value
            self._export(lambda exporter: exporter.set(metric, labels, value))

    def _add(self, run: _Run, metric: Metric, amount: float, **more: str) -> None:
        labels = {"query": run.query, **more}
        self._export(lambda exporter: exporter.add(metric, labels, amount))

    def _end(self, run: _Run, gauges: Iterable[Gauge]) -> None:
        """End *gauges* of *run*. Those that another run of the query shows have its values again."""
        shown = {gauge: value for other in self._other_runs(run) for gauge, value in other.gauges.items()}
        for metric, labels in gauges:
            self._end_gauge(metric, dict(labels), shown.get((metric, labels)))

    def _end_gauge(self, metric: Metric, labels: Labels, shown: float | None) -> None:
        if shown is None:
            self._export(lambda exporter: exporter.unset(metric, labels))
        else:
            self._export(lambda exporter: exporter.set(metric, labels, shown))

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
