"""Metrics in a registry of `prometheus-client`. The extra `prometheus` installs that."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from spark_kinesis_source.metrics.declared import BUCKETS_S, METRICS, Kind, Metric

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class PrometheusExporter:
    """
    Keeps the metrics in *registry*, by default that of `prometheus_client`. The program serves or pushes it.

    Make one for each registry.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        try:
            import prometheus_client
        except ImportError as error:
            raise ImportError(
                'PrometheusExporter needs prometheus-client: pip install "spark-kinesis-source[prometheus]"',
                name="prometheus_client",
            ) from error
        self._counters: dict[Metric, Counter] = {}
        self._gauges: dict[Metric, Gauge] = {}
        self._histograms: dict[Metric, Histogram] = {}
        registry = prometheus_client.REGISTRY if registry is None else registry
        try:
            self._register(registry)
        except ValueError as error:
            for made in (*self._counters.values(), *self._gauges.values(), *self._histograms.values()):
                registry.unregister(made)
            raise ValueError(
                "The registry has some of these metrics already, probably those of another PrometheusExporter. Make one "
                "exporter for each registry, and keep it: in a notebook, run its cell once. If there must be a second "
                "exporter, give it its own registry: PrometheusExporter(CollectorRegistry())."
            ) from error

    def _register(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        for metric in METRICS:
            named = (metric.prometheus_name, metric.meaning, metric.labels)
            match metric.kind:
                case Kind.COUNTER:
                    self._counters[metric] = Counter(*named, registry=registry)
                case Kind.GAUGE:
                    self._gauges[metric] = Gauge(*named, registry=registry)
                case Kind.HISTOGRAM:
                    self._histograms[metric] = Histogram(*named, registry=registry, buckets=BUCKETS_S)

    def add(self, metric: Metric, labels: Mapping[str, str], amount: float) -> None:
        self._counters[metric].labels(**labels).inc(amount)

    def set(self, metric: Metric, labels: Mapping[str, str], value: float) -> None:
        self._gauges[metric].labels(**labels).set(value)

    def unset(self, metric: Metric, labels: Mapping[str, str]) -> None:
        with suppress(KeyError):  # the program may have removed it
            self._gauges[metric].remove(*(labels[name] for name in metric.labels))

    def observe(self, metric: Metric, labels: Mapping[str, str], value: float) -> None:
        self._histograms[metric].labels(**labels).observe(value)
