"""The events that this package logs. Those of planning and reading are in `kinesis_core.events`."""

from __future__ import annotations

from kinesis_credentials.events import Event

LOGGER = "spark_kinesis_source"
EVENTS = (
    Event(
        "metrics.failed",
        "WARNING",
        "driver",
        "`QueryMetrics` could not export an event of Spark. The query continues.",
        {"reason": "the error"},
        example="metrics.failed reason=ValueError: counters can only be incremented by non-negative amounts",
    ),
    Event(
        "option.ignored",
        "INFO",
        "driver",
        "An option has no effect, or its value counts as another.",
        {"reason": "the option, and why it has no effect"},
        example="option.ignored reason=Option 'avoidEmptyBatches' has no effect here: a stream without new records runs no batches.",
    ),
)
