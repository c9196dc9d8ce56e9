"""
What users of other connectors bring along: their names of options, their checkpoints, and their dates.

Each connector has its own table.
"""

from kinesis_core.options.foreign.applications import is_application, read_application
from kinesis_core.options.foreign.checkpoints import Document, is_checkpoint, read_checkpoint, read_number
from kinesis_core.options.foreign.connectors import Origin
from kinesis_core.options.foreign.databricks import DATABRICKS_ROLE, DATABRICKS_SESSION, SERVICE_CREDENTIAL
from kinesis_core.options.foreign.dates import is_databricks_time, read_databricks_time
from kinesis_core.options.foreign.glue import GLUE_CONSUMER
from kinesis_core.options.foreign.kafka import KAFKA_SINK_HINTS, KAFKA_SOURCE_HINTS
from kinesis_core.options.foreign.names import IGNORED_BY_SINK, IGNORED_BY_SOURCE, REFUSED_BY_SINK, aliases_of

__all__ = [
    "DATABRICKS_ROLE",
    "DATABRICKS_SESSION",
    "Document",
    "GLUE_CONSUMER",
    "IGNORED_BY_SINK",
    "IGNORED_BY_SOURCE",
    "KAFKA_SINK_HINTS",
    "KAFKA_SOURCE_HINTS",
    "Origin",
    "REFUSED_BY_SINK",
    "SERVICE_CREDENTIAL",
    "aliases_of",
    "is_application",
    "is_checkpoint",
    "is_databricks_time",
    "read_application",
    "read_checkpoint",
    "read_databricks_time",
    "read_number",
]
