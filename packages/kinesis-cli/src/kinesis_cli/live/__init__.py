"""
`kinesis top`: streams and shards live. Its screens are in the room `screens`, which needs textual.

A source is called again and again in a thread, and says what to show. Readers with their lag come from a function, `ReadersOf`.
"""

from kinesis_cli.live.pump import Pump
from kinesis_cli.live.readers import Speeds, readers_by
from kinesis_cli.live.source import KinesisSource
from kinesis_cli.live.views import LiveReader, ReadersOf, ShardLine, StreamView, ViewSource, no_readers

__all__ = [
    "KinesisSource",
    "LiveReader",
    "Pump",
    "ReadersOf",
    "ShardLine",
    "Speeds",
    "StreamView",
    "ViewSource",
    "no_readers",
    "readers_by",
]
