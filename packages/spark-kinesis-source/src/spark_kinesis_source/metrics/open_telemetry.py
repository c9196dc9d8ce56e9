"""Metrics by the API of OpenTelemetry. The extra `opentelemetry` installs that; the program brings an SDK and its exporter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from spark_kinesis_source.metrics.declared import BUCKETS_S, METRICS, Kind, Metric

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, MeterProvider

Series = tuple[tuple[str, str], ...]


class OpenTelemetryExporter:
    """
    Makes instruments of *provider*, by default the global one. Set that before.

    Gauges are observed when the SDK collects, so that those of a query end with it.
    """

    def __init__(self, provider: MeterProvider | None = None) -> None:
        try:
            from opentelemetry.metrics import get_meter
        except ImportError as error:
            raise ImportError(
                'OpenTelemetryExporter needs opentelemetry-api: pip install "spark-kinesis-source[opentelemetry]"',
                name="opentelemetry",
            ) from error
        meter = get_meter("spark_kinesis_source", meter_provider=provider)
        self._counters: dict[Metric, Counter] = {}
        self._histograms: dict[Metric, Histogram] = {}
        self._values: dict[Metric, dict[Series, float]] = {}
        self._lock = Lock()  # the SDK collects in a separate thread
        for metric in METRICS:
            match metric.kind:
                case Kind.COUNTER:
                    self._counters[metric] = meter.create_counter(metric.name, metric.unit, metric.meaning)
                case Kind.GAUGE:
                    self._values[metric] = {}
                    watch = [self._watch(metric)]
                    meter.create_observable_gauge(metric.name, watch, metric.unit, metric.meaning)
                case Kind.HISTOGRAM:
                    self._histograms[metric] = meter.create_histogram(
                        metric.name,
                        metric.unit,
                        metric.meaning,
                        explicit_bucket_boundaries_advisory=BUCKETS_S,
                    )

    def add(self, metric: Metric, labels: Mapping[str, str], amount: float) -> None:
        self._counters[metric].add(amount, {**labels})

    def set(self, metric: Metric, labels: Mapping[str, str], value: float) -> None:
        with self._lock:
            self._values[metric][tuple(sorted(labels.items()))] = value

    def unset(self, metric: Metric, labels: Mapping[str, str]) -> None:
        with self._lock:
            self._values[metric].pop(tuple(sorted(labels.items())), None)

    def observe(self, metric: Metric, labels: Mapping[str, str], value: float) -> None:
        self._histograms[metric].record(value, {**labels})

    def _watch(self, metric: Metric) -> Callable[[Any], Iterable[Any]]:
        from opentelemetry.metrics import Observation

        def observe(_options: object) -> Iterable[Any]:
            with self._lock:
                return [Observation(value, dict(series)) for series, value in self._values[metric].items()]

        return observe
