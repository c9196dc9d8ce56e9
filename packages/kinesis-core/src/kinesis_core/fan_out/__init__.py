"""Enhanced fan-out: a range of a shard read through a subscription of its own, with polling to fall back to."""

from kinesis_core.fan_out.api import Consumer, ConsumerApi, SubscribeApi
from kinesis_core.fan_out.consumers import find_consumer, remove_consumer
from kinesis_core.fan_out.ranges import FanOutRanges
from kinesis_core.fan_out.reader import FanOutReader, FanOutSettings

__all__ = [
    "Consumer",
    "ConsumerApi",
    "FanOutRanges",
    "FanOutReader",
    "FanOutSettings",
    "SubscribeApi",
    "find_consumer",
    "remove_consumer",
]
