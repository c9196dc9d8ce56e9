"""What `QueryMetrics` needs of an exporter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from spark_kinesis_source.metrics.declared import Metric

Labels = Mapping[str, str]


class Exporter(Protocol):
    """
    Where metrics go. *labels* has a value for each label of the metric.

    Calls must not block: Spark reports the start of a query inside `start()`, which waits for all listeners. An exporter keeps
    the values, and sends them in a separate thread.
    """

    def add(self, metric: Metric, labels: Labels, amount: float) -> None:
        """Add to a counter. Adding 0 shows it."""
        ...

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        """Set a gauge."""
        ...

    def unset(self, metric: Metric, labels: Labels) -> None:
        """End a gauge, which would show its last value for ever. It may be missing."""
        ...

    def observe(self, metric: Metric, labels: Labels, value: float) -> None:
        """Count a value of a histogram."""
        ...
