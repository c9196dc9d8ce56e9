"""The registered consumers of a stream, each of which costs money for every shard and hour."""

from kinesis_cli.fan_out.consumers import FanOutConsumer, find, list_consumers, remove_consumer
from kinesis_cli.fan_out.showing import consumer_json, consumer_table

__all__ = [
    "FanOutConsumer",
    "consumer_json",
    "consumer_table",
    "find",
    "list_consumers",
    "remove_consumer",
]
