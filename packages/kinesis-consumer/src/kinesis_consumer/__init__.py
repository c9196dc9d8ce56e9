"""Consumer groups for Amazon Kinesis Data Streams in plain Python, in one table with Java's KCL."""

from kinesis_consumer.delivery import Batch, BatchId
from kinesis_consumer.errors import GroupStateError, HandlerError, LeaseLostError, WorkerNameInUseError
from kinesis_consumer.group import ConsumerGroup
from kinesis_consumer.handling import Handler, OnFailure, SendTo, Unit
from kinesis_consumer.lease_stores import DynamoLeases, LeaseStore, MemoryLeases, SqliteLeases
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.stores import ItemTable, Update
from kinesis_consumer.version import __version__
from kinesis_consumer.worker import Callbacks, LeaseCallback, MetricCallback

__all__ = [
    "Batch",
    "BatchId",
    "Callbacks",
    "ConsumerGroup",
    "DynamoLeases",
    "GroupSettings",
    "GroupStateError",
    "Handler",
    "HandlerError",
    "ItemTable",
    "LeaseCallback",
    "LeaseLostError",
    "LeaseStore",
    "MemoryLeases",
    "MetricCallback",
    "OnFailure",
    "SendTo",
    "SqliteLeases",
    "Unit",
    "Update",
    "WorkerNameInUseError",
    "__version__",
]
