"""What the listener makes of starts, restarts and ends: which queries it exports, and from when to when."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from spark_kinesis_source.metrics import Labels, Metric, QueryMetrics
from unit.spark_kinesis_source.metrics.progresses import RATE_SOURCE, STARTED_S, Run, kinesis_source

SOURCE = kinesis_source("orders", lags_ms={"a": 1500})
LATER, LATER_S = "2026-11-22T20:48:09.894Z", STARTED_S + 60
OURS = "kinesis_core.errors.AccessDeniedError: ..."
RUNNING, PLANNED = "kinesis_query_running copy", "kinesis_query_planned_timestamp_seconds copy"
FAILURES, LAG = "kinesis_query_failures_total copy", "kinesis_lag_seconds copy orders"


class Shown:
    """An exporter that keeps the values of counters and gauges."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    @staticmethod
    def key(metric: Metric, labels: Labels) -> str:
        return " ".join([metric.prometheus_name, *(labels[name] for name in metric.labels)])

    def add(self, metric: Metric, labels: Labels, amount: float) -> None:
        key = self.key(metric, labels)
        self.values[key] = self.values.get(key, 0) + amount

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        self.values[self.key(metric, labels)] = value

    def unset(self, metric: Metric, labels: Labels) -> None:
        self.values.pop(self.key(metric, labels), None)

    def observe(self, metric: Metric, labels: Labels, value: float) -> None:
        pass


class Spark:
    """A listener and what it shows."""

    def __init__(self, **arguments: Any) -> None:
        self.exporter = Shown()
        self.metrics = QueryMetrics(self.exporter, **arguments)

    @property
    def values(self) -> dict[str, float]:
        return self.exporter.values

    def start(self, *runs: Run) -> None:
        for run in runs:
            self.metrics.onQueryStarted(run.started())

    def report(self, run: Run, *sources: Any, **more: Any) -> None:
        self.metrics.onQueryProgress(run.progressed(*(sources or [SOURCE]), **more))

    def idle(self, run: Run) -> None:
        self.metrics.onQueryIdle(run.idle(LATER))

    def end(self, run: Run, error: str | None = None) -> None:
        self.metrics.onQueryTerminated(run.ended(error))


def restarted(run: Run) -> Run:
    """Return the next run of the same checkpoint."""
    return Run(run.name, id=run.id)


def test_the_first_batch_of_a_named_query() -> None:
    """A query that the program names has a time from its first start on, so that a first batch that hangs rings an alarm."""
    spark = Spark(queries=("copy",))
    spark.start(Run(), Run("other"))
    assert spark.values == {RUNNING: 1, PLANNED: STARTED_S}


def test_a_named_query_that_is_idle() -> None:
    """A query that the program names moves its time on while it is idle, also before its first batch."""
    spark, run = Spark(queries=("copy",)), Run()
    spark.start(run)
    spark.idle(run)
    assert spark.values == {RUNNING: 1, PLANNED: LATER_S}


def test_a_named_query_that_fails_at_once() -> None:
    """A query that the program names counts as failed whatever its error says. Its time ends with it."""
    spark, run = Spark(queries=["copy"]), Run()
    spark.start(run)
    spark.end(run, "java.lang.RuntimeException: the sink is full")
    assert spark.values == {RUNNING: 0, FAILURES: 1}


def test_a_named_query_that_reads_something_else() -> None:
    """If its first report has no Kinesis source, the query is ignored from then on, and shows nothing."""
    spark, run = Spark(queries={"copy"}), Run()
    spark.start(run)
    spark.report(run, RATE_SOURCE)
    assert spark.values == {}
    spark.idle(run)
    spark.end(run, OURS)
    spark.start(restarted(run))
    assert spark.values == {}


def test_one_name_as_text() -> None:
    """A text instead of a tuple is refused. It would name queries of one letter."""
    with pytest.raises(TypeError, match=r"queries=\('copy',\)"):
        QueryMetrics(queries="copy")


def test_the_first_batch_after_a_restart() -> None:
    """A query that has read Kinesis has a time from its next start on, also with a new checkpoint."""
    spark, run = Spark(), Run()
    spark.report(run)
    spark.end(run)
    spark.start(Run())
    assert (spark.values[RUNNING], spark.values[PLANNED]) == (1, STARTED_S)
    assert LAG not in spark.values


def test_queries_without_a_name() -> None:
    """A query without a name is not remembered: its id may never come again, and the list would grow for ever."""
    spark, run = Spark(), Run(None)
    spark.report(run)
    spark.end(run)
    before = dict(spark.values)
    spark.start(restarted(run))
    assert spark.values == before


@pytest.mark.parametrize("same_checkpoint", [True, False])
def test_a_start_before_the_end_of_the_run_before(same_checkpoint: bool) -> None:
    """Spark may report a start before the end of the run before. Then the new run goes on, and the old lag ends."""
    spark, old = Spark(), Run()
    new = restarted(old) if same_checkpoint else Run()
    spark.start(old)
    spark.report(old)
    spark.start(new)
    spark.report(old, timestamp="2026-11-22T20:07:09.894Z")  # a late report of a long batch
    spark.end(old, "error")
    assert spark.values[RUNNING] == 1
    assert spark.values[PLANNED] == STARTED_S
    assert spark.values[FAILURES] == 1
    assert LAG not in spark.values
    spark.idle(new)
    assert (spark.values[RUNNING], spark.values[PLANNED]) == (1, LATER_S)
    spark.end(new)
    assert spark.values[RUNNING] == 0


def test_reports_of_the_new_run_before_the_end_of_the_old() -> None:
    """The end of an old run does not end what the new run has reported."""
    spark, old = Spark(), Run()
    new = restarted(old)
    spark.report(old)
    spark.start(new)
    spark.report(new, kinesis_source("orders", lags_ms={"a": 9000}))
    spark.end(old)
    assert (spark.values[RUNNING], spark.values[LAG]) == (1, 9)


def test_an_idle_query_runs() -> None:
    """A query that is idle says again that it runs: an exporter may have failed when it started."""
    spark, run = Spark(), Run()
    spark.report(run)
    spark.values.clear()
    spark.idle(run)
    assert spark.values == {RUNNING: 1, PLANNED: LATER_S}


def test_two_queries_of_one_name() -> None:
    """While one of two queries of a name runs, the name does not count as ended."""
    spark, one, other = Spark(), Run(), Run()
    spark.report(one)
    spark.report(other)
    spark.end(other)
    assert spark.values[RUNNING] == 1
    assert spark.values[LAG] == 1.5
    spark.end(one)
    assert spark.values[RUNNING] == 0
    assert LAG not in spark.values


def test_an_end_that_is_never_reported() -> None:
    """A run whose end was not heard, as while the listener was removed, does not hide the end of the next run."""
    spark, lost = Spark(), Run()
    run = restarted(lost)
    spark.report(lost)
    spark.start(run)
    spark.report(run)
    spark.end(run)
    assert spark.values[RUNNING] == 0
    assert LAG not in spark.values


def test_another_query_of_the_name_that_reads_something_else() -> None:
    """A query of the same name that does not read Kinesis does not hide an end."""
    spark, run, other = Spark(), Run(), Run()
    spark.report(other, RATE_SOURCE)
    spark.report(run)
    spark.end(run)
    assert spark.values[RUNNING] == 0


def test_a_query_that_only_writes() -> None:
    """A query that reads something else is no failed reader, though its error is one of our sink."""
    spark, run = Spark(), Run()
    spark.start(run)
    spark.report(run, RATE_SOURCE)
    spark.end(run, OURS)
    assert spark.values == {}


def test_a_report_without_its_kinesis_source() -> None:
    """A query that has read Kinesis stays a reader, also if a later report lacks the source."""
    spark, run = Spark(), Run()
    spark.report(run)
    spark.report(run, RATE_SOURCE)
    spark.end(run)
    assert spark.values[RUNNING] == 0


def test_a_failure_before_the_first_batch() -> None:
    """A query that fails before it reports anything is counted if the error comes from our modules."""
    spark = Spark()
    for name, error in (("copy", OURS), ("rate", "Table s3://lake/kinesis_archive not found")):
        run = Run(name)
        spark.start(run)
        spark.end(run, error)
    assert spark.values == {FAILURES: 1, RUNNING: 0}


def test_what_older_sparks_do_not_report() -> None:
    """On Spark 4.0 and 4.1 there is no lag, no retention and no count of losses. The rest is there."""
    older, newer = Spark(), Spark()
    older.report(Run(), kinesis_source("orders"))
    newer.report(Run())
    missing = {key.split()[0] for key in newer.values.keys() - older.values.keys()}
    assert missing == {"kinesis_lag_seconds", "kinesis_retention_seconds", "kinesis_data_losses_total"}


def test_a_source_that_drops_out_of_a_report() -> None:
    """
    Losses belong to the place of the source in Spark's list, so that a source that drops out changes no other's. The lag of a
    stream is that of its source that is further behind.
    """
    spark, run = Spark(), Run()
    first = kinesis_source("orders", lags_ms={"a": 9000}, losses=5)
    second = kinesis_source("orders", lags_ms={"a": 0}, losses=2)
    for sources in ((first, second), ({"endOffset": None}, second), (first, second)):
        spark.report(run, *sources)
    assert spark.values["kinesis_data_losses_total copy orders"] == 7
    assert spark.values[LAG] == 9
