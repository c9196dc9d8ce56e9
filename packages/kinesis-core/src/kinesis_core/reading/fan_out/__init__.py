"""Reading by enhanced fan-out: consumers, and ranges read by subscription. Programs that only poll do not import it."""

from kinesis_core.reading.fan_out.consumers import check_permission, find_consumer, remove_consumer
from kinesis_core.reading.fan_out.range_reader import FanOutRangeReader
from kinesis_core.reading.fan_out.stream_consumer import StreamConsumer

__all__ = [
    "FanOutRangeReader",
    "StreamConsumer",
    "check_permission",
    "find_consumer",
    "remove_consumer",
]
