"""
The metrics, declared once for all exporters.

A name is OpenTelemetry's. Prometheus' name follows from name, unit and kind by the rules of OpenTelemetry. So dashboards and
alert rules fit both exporters.
Source: https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

SUFFIXES = {"s": "_seconds", "{row}/s": "_per_second"}
"""What a unit adds to Prometheus' name. Other units in braces add nothing."""


class Kind(Enum):
    """How a metric's values add up."""

    COUNTER = "counter"
    """Grows while the program runs."""
    GAUGE = "gauge"
    """Is the last value, and ends with its query."""
    HISTOGRAM = "histogram"
    """Counts values by size."""


@frozen
class Metric:
    """One metric. Each label value has a separate series."""

    name: str
    kind: Kind
    unit: str
    """In UCUM's notation, as OpenTelemetry has it; "" for a plain number."""
    labels: tuple[str, ...]
    meaning: str

    @property
    def prometheus_name(self) -> str:
        """The name of the series. Those of a histogram have further suffixes."""
        total = "_total" if self.kind is Kind.COUNTER else ""
        return self.name.replace(".", "_") + SUFFIXES.get(self.unit, "") + total


QUERY, STREAM = ("query",), ("query", "stream")

LAG = Metric(
    "kinesis.lag",
    Kind.GAUGE,
    "s",
    STREAM,
    "How far the end of the last batch is behind the present, in the shard that is furthest behind; 0 if nothing is left. "
    "Spark 4.2 and later.",
)
RETENTION = Metric(
    "kinesis.retention",
    Kind.GAUGE,
    "s",
    STREAM,
    "How long the stream keeps a record. Spark 4.2 and later.",
)
LOSSES = Metric(
    "kinesis.data_losses",
    Kind.COUNTER,
    "{loss}",
    STREAM,
    "How many times planning found records lost (events data.lost and start.expired of the driver). Spark 4.2 and later.",
)
ROWS = Metric("kinesis.rows", Kind.COUNTER, "{row}", STREAM, "Rows read.")
INPUT_RATE = Metric(
    "kinesis.input_rows",
    Kind.GAUGE,
    "{row}/s",
    STREAM,
    "Rows of the last batch, for each second since the start of the batch before.",
)
PROCESSED_RATE = Metric(
    "kinesis.processed_rows",
    Kind.GAUGE,
    "{row}/s",
    STREAM,
    "Rows of the last batch, for each second that it took.",
)
BATCH_NUMBER = Metric("kinesis.batch.number", Kind.GAUGE, "", QUERY, "Spark's number of the last batch.")
BATCH_DURATION = Metric("kinesis.batch.duration", Kind.HISTOGRAM, "s", QUERY, "How long batches took.")
PHASE_DURATION = Metric(
    "kinesis.batch.phase_duration",
    Kind.GAUGE,
    "s",
    (*QUERY, "phase"),
    "How long the phases of the last batch took, by Spark's names in durationMs.",
)
FINISHED = Metric(
    "kinesis.batch.finished_timestamp",
    Kind.GAUGE,
    "s",
    QUERY,
    "When the last batch was done, in seconds since 1970.",
)
PLANNED = Metric(
    "kinesis.query.planned_timestamp",
    Kind.GAUGE,
    "s",
    QUERY,
    "When the query or its last batch started, or when planning last found nothing to do: nothing new, or less than "
    "minRecordsPerTrigger. The lag is the lag at this time.",
)
RUNNING = Metric(
    "kinesis.query.running",
    Kind.GAUGE,
    "",
    QUERY,
    "1 while the query runs, 0 after its end. It stays when the query ends.",
)
FAILURES = Metric(
    "kinesis.query.failures",
    Kind.COUNTER,
    "{failure}",
    QUERY,
    "How many times the query ended by an error.",
)

METRICS = (
    LAG,
    RETENTION,
    LOSSES,
    ROWS,
    INPUT_RATE,
    PROCESSED_RATE,
    BATCH_NUMBER,
    BATCH_DURATION,
    PHASE_DURATION,
    FINISHED,
    PLANNED,
    RUNNING,
    FAILURES,
)
BUCKETS_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""The bounds of histograms: batches take from a part of a second to an hour."""
