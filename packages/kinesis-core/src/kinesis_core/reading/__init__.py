"""
Ranges to records: the tasks' part. Each range is read from its start to its end, several shards at once, by polling here or
by enhanced fan-out in `reading.fan_out`; `reading.arrow` makes Arrow record batches of the pages.
"""

from kinesis_core.reading.columns import (
    COLUMNS,
    DEFAULT_COLUMNS,
    Kind,
    UserRecord,
    find_columns,
    user_records,
)
from kinesis_core.reading.concurrent import read_concurrently
from kinesis_core.reading.polling import PollingRangeReader
from kinesis_core.reading.settings import SHARD_RATE_BYTES, FanOutSettings, FanOutTransport, ReadSettings

__all__ = [
    "COLUMNS",
    "DEFAULT_COLUMNS",
    "FanOutSettings",
    "FanOutTransport",
    "Kind",
    "PollingRangeReader",
    "ReadSettings",
    "SHARD_RATE_BYTES",
    "UserRecord",
    "find_columns",
    "read_concurrently",
    "user_records",
]
