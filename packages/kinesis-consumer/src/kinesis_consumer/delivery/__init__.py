"""From pages of a shard to batches with fixed ends."""

from kinesis_consumer.delivery.batch import Batch, BatchId
from kinesis_consumer.delivery.pace import Pace
from kinesis_consumer.delivery.shard_reader import ShardReader
from kinesis_consumer.delivery.streams import GroupStream, KnownStreams
from kinesis_consumer.delivery.subscribed_pages import SubscribedPages

__all__ = [
    "Batch",
    "BatchId",
    "GroupStream",
    "KnownStreams",
    "Pace",
    "ShardReader",
    "SubscribedPages",
]
