"""What users of other connectors bring along: their names of options, their checkpoints, and their dates."""

from kinesis_core.options.foreign.applications import is_application, read_application
from kinesis_core.options.foreign.checkpoints import Document, is_checkpoint, read_checkpoint, read_number
from kinesis_core.options.foreign.forms import clamped_duration, clamped_integer
from kinesis_core.options.foreign.kafka import KAFKA_SINK_HINTS, KAFKA_SOURCE_HINTS

__all__ = [
    "Document",
    "KAFKA_SINK_HINTS",
    "KAFKA_SOURCE_HINTS",
    "clamped_duration",
    "clamped_integer",
    "is_application",
    "is_checkpoint",
    "read_application",
    "read_checkpoint",
    "read_number",
]
