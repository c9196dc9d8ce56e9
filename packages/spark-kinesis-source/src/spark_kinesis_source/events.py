"""The events that this package logs. Those of planning and reading are in `kinesis_core.events`."""

from __future__ import annotations

from kinesis_credentials.events import Event

LOGGER = "spark_kinesis_source"
EVENTS = (
    Event(
        "option.ignored",
        "INFO",
        "driver",
        "An option has no effect, or its value counts as another.",
        {"note": "the option, and why"},
        example="option.ignored note=Option 'avoidEmptyBatches' is accepted and not needed: a stream without new records makes no "
        "batches.",
    ),
)
