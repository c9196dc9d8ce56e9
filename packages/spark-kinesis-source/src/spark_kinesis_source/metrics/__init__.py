"""
Metrics of running queries for Prometheus and OpenTelemetry, from the progress that Spark reports to its listeners.

    spark.streams.addListener(QueryMetrics(PrometheusExporter()))

`read_progress` turns a report into facts. `QueryMetrics` turns facts into the metrics that `METRICS` declares, and hands them to
exporters. The source itself does not import this folder: tasks would pay for it.
"""

from spark_kinesis_source.metrics.declared import METRICS, Kind, Metric
from spark_kinesis_source.metrics.exporter import Exporter, Labels
from spark_kinesis_source.metrics.listener import QueryMetrics
from spark_kinesis_source.metrics.open_telemetry import OpenTelemetryExporter
from spark_kinesis_source.metrics.progress import QueryProgress, SourceProgress, StreamProgress, read_progress
from spark_kinesis_source.metrics.prometheus import PrometheusExporter

__all__ = [
    "Exporter",
    "Kind",
    "Labels",
    "METRICS",
    "Metric",
    "OpenTelemetryExporter",
    "PrometheusExporter",
    "QueryMetrics",
    "QueryProgress",
    "SourceProgress",
    "StreamProgress",
    "read_progress",
]
