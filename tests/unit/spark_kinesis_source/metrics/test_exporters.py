"""What the listener exports to Prometheus and OpenTelemetry, read back by their own parsers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Protocol

import pytest

pytest.importorskip("pyspark")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from spark_kinesis_source.metrics import (
    METRICS,
    Kind,
    Metric,
    OpenTelemetryExporter,
    PrometheusExporter,
    QueryMetrics,
)
from unit.spark_kinesis_source.metrics.progresses import STARTED_S, Run, kinesis_source

Values = dict[str, float]
"""By the name of Prometheus and the values of the labels, such as `kinesis_lag_seconds copy orders`."""


class Backend(Protocol):
    metrics: QueryMetrics

    def values(self) -> Values: ...


def key(name: str, labels: Mapping[str, Any]) -> str:
    return " ".join(
        [name, *(str(labels[label]) for label in ("query", "stream", "phase") if label in labels)]
    )


class Prometheus:
    """A registry, as a server of Prometheus sees it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.exporter = PrometheusExporter(self.registry)
        self.metrics = QueryMetrics(self.exporter)

    def values(self) -> Values:
        text = generate_latest(self.registry).decode()
        samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
        return {
            key(s.name, s.labels): s.value for s in samples if not s.name.endswith(("_bucket", "_created"))
        }


class OpenTelemetry:
    """The reader of OpenTelemetry's own SDK."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.metrics = QueryMetrics(OpenTelemetryExporter(MeterProvider([self.reader])))

    def values(self) -> Values:
        data = self.reader.get_metrics_data()
        found: Values = {}
        for resource in () if data is None else data.resource_metrics:
            for metric in (m for scope in resource.scope_metrics for m in scope.metrics):
                (declared,) = (d for d in METRICS if d.name == metric.name)
                assert (metric.unit, metric.description) == (declared.unit, declared.meaning)
                for point in metric.data.data_points:
                    found |= self._point(declared, point)
        return found

    @staticmethod
    def _point(declared: Metric, point: Any) -> Values:
        name = declared.prometheus_name
        if declared.kind is Kind.HISTOGRAM:
            sums = {"_count": point.count, "_sum": point.sum}
            return {key(name + suffix, point.attributes): value for suffix, value in sums.items()}
        return {key(name, point.attributes): point.value}


@pytest.fixture(params=[Prometheus, OpenTelemetry], ids=["prometheus", "opentelemetry"])
def backend(request: pytest.FixtureRequest) -> Backend:
    made: Backend = request.param()
    return made


BATCH = {
    "kinesis_lag_seconds copy orders": 1.5,
    "kinesis_retention_seconds copy orders": 86400.0,
    "kinesis_input_rows_per_second copy orders": 43.0,
    "kinesis_processed_rows_per_second copy orders": 5.0,
    "kinesis_batch_number copy": 7.0,
    "kinesis_batch_phase_duration_seconds copy addBatch": 2.0,
    "kinesis_batch_phase_duration_seconds copy latestOffset": 0.25,
    "kinesis_batch_phase_duration_seconds copy triggerExecution": 2.5,
    "kinesis_batch_finished_timestamp_seconds copy": STARTED_S + 2.5,
    "kinesis_query_planned_timestamp_seconds copy": STARTED_S,
}
TOTALS = {
    "kinesis_rows_total copy orders": 86.0,
    "kinesis_data_losses_total copy orders": 0.0,
    "kinesis_batch_duration_seconds_count copy": 1.0,
    "kinesis_batch_duration_seconds_sum copy": 2.5,
    "kinesis_query_failures_total copy": 0.0,
}
SOURCE = kinesis_source("orders", lags_ms={"a": 1500, "b": 0})


def test_a_batch(backend: Backend) -> None:
    """One batch gives every metric, with the same names and values for both exporters."""
    run = Run()
    backend.metrics.onQueryStarted(run.started())
    backend.metrics.onQueryProgress(run.progressed(SOURCE))
    assert backend.values() == pytest.approx({**BATCH, **TOTALS, "kinesis_query_running copy": 1.0})
    names = {line.partition(" ")[0].removesuffix("_count").removesuffix("_sum") for line in backend.values()}
    assert names == {metric.prometheus_name for metric in METRICS}


def test_totals_add_up(backend: Backend) -> None:
    """Rows, losses and durations of batches add up. Losses are counted by the planner, from the start of a run."""
    run, again = Run(), Run()
    for losses in (0, 2, 3):
        source = kinesis_source("orders", lags_ms={"a": 0}, losses=losses)
        backend.metrics.onQueryProgress(run.progressed(source))
    backend.metrics.onQueryTerminated(run.ended())
    backend.metrics.onQueryProgress(again.progressed(kinesis_source("orders", lags_ms={"a": 0}, losses=1)))
    values = backend.values()
    assert values["kinesis_rows_total copy orders"] == 4 * 86
    assert values["kinesis_data_losses_total copy orders"] == 3 + 1
    assert values["kinesis_batch_duration_seconds_count copy"] == 4


def test_the_end_of_a_query(backend: Backend) -> None:
    """With a query its gauges end, so that no old lag is shown. Its totals stay, and it counts as ended."""
    run, other = Run(), Run("other")
    for each in (run, other):
        backend.metrics.onQueryProgress(each.progressed(SOURCE))
    backend.metrics.onQueryTerminated(run.ended())
    mine = {name: value for name, value in backend.values().items() if " copy" in name}
    assert mine == pytest.approx({**TOTALS, "kinesis_query_running copy": 0.0})
    assert backend.values()["kinesis_lag_seconds other orders"] == 1.5


def test_what_the_next_report_lacks(backend: Backend) -> None:
    """A phase and a stream that the next report does not have show no old value. Totals stay."""
    run, other = Run(), Run("other")
    teas = kinesis_source("teas", lags_ms={"a": 0})
    for each in (run, other):
        backend.metrics.onQueryProgress(each.progressed(SOURCE, teas))
    before = backend.values()
    report = run.progressed(teas, durationMs={"addBatch": 2000, "triggerExecution": 2500})
    backend.metrics.onQueryProgress(report)
    gone = before.keys() - backend.values().keys()
    assert gone == {
        "kinesis_batch_phase_duration_seconds copy latestOffset",
        "kinesis_lag_seconds copy orders",
        "kinesis_retention_seconds copy orders",
        "kinesis_input_rows_per_second copy orders",
        "kinesis_processed_rows_per_second copy orders",
    }


def test_a_second_exporter_of_a_registry() -> None:
    """A registry takes one exporter. The error says so, and the first goes on."""
    prometheus = Prometheus()
    with pytest.raises(ValueError, match="Make one exporter for each registry, and keep it"):
        PrometheusExporter(prometheus.registry)
    prometheus.metrics.onQueryProgress(Run().progressed(SOURCE))
    assert prometheus.values()["kinesis_lag_seconds copy orders"] == 1.5


def test_a_metric_of_the_program_that_is_in_the_way() -> None:
    """An exporter that could not be made leaves nothing in the registry."""
    registry = CollectorRegistry()
    own = Gauge("kinesis_batch_number", "The program's own.", registry=registry)
    with pytest.raises(ValueError, match="has some of these metrics already"):
        PrometheusExporter(registry)
    registry.unregister(own)
    PrometheusExporter(registry)


class Broken:
    """An exporter that fails."""

    def __getattr__(self, name: str) -> Any:
        raise OSError("the disk is full")


def test_a_broken_exporter(caplog: pytest.LogCaptureFixture) -> None:
    """An exporter that fails is logged, takes nothing from the others, and nothing is raised into Spark."""
    prometheus = Prometheus()
    metrics, run = QueryMetrics(Broken(), prometheus.exporter), Run()
    metrics.onQueryProgress(run.progressed(SOURCE))
    metrics.onQueryTerminated(run.ended("error"))
    assert [record.getMessage() for record in caplog.records] == [
        "metrics.failed reason=OSError: the disk is full"
    ] * 2
    assert prometheus.values()["kinesis_query_failures_total copy"] == 1


def test_events_of_an_unexpected_form(caplog: pytest.LogCaptureFixture) -> None:
    """An event that cannot be read is logged, and nothing is raised into Spark."""
    metrics = QueryMetrics(PrometheusExporter(CollectorRegistry()))
    nothing: Any = object()
    for listen in (
        metrics.onQueryStarted,
        metrics.onQueryProgress,
        metrics.onQueryIdle,
        metrics.onQueryTerminated,
    ):
        listen(nothing)
    assert len(caplog.records) == 4


@pytest.mark.parametrize(
    ("exporter", "module", "extra"),
    [
        (PrometheusExporter, "prometheus_client", "prometheus"),
        (OpenTelemetryExporter, "opentelemetry.metrics", "opentelemetry"),
    ],
)
def test_missing_packages(exporter: Any, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its package, an exporter says what to install."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"spark-kinesis-source\[{extra}\]"):
        exporter()


def test_names() -> None:
    """Names have the prefix of the project, base units and the suffixes of Prometheus' conventions."""
    for metric in METRICS:
        name = metric.prometheus_name
        assert name.startswith("kinesis_")
        assert name.endswith("_total") == (metric.kind is Kind.COUNTER)
        assert ("_seconds" in name) == (metric.unit == "s")
        assert set(metric.labels) <= {"query", "stream", "phase"}
        assert metric.meaning.endswith(".")
