"""Writing to a stream: user records are aggregated, sent by several threads, retried, and counted when written."""

from kinesis_core.producing.accumulator import MOST_CONNECTIONS, ProducerSettings
from kinesis_core.producing.counts import Totals
from kinesis_core.producing.producer import Producer
from kinesis_core.producing.rows import MAX_KEY_CHARS
from kinesis_core.producing.sender import SenderGroup

__all__ = [
    "MAX_KEY_CHARS",
    "MOST_CONNECTIONS",
    "Producer",
    "ProducerSettings",
    "SenderGroup",
    "Totals",
]
