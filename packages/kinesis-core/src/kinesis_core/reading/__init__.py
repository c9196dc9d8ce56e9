"""
Reads ranges: turns the ranges of a batch into pages of records, several shards at once. Tasks run this.

The modules here poll; `reading.fan_out` reads by enhanced fan-out; `reading.arrow` turns pages into Arrow record batches.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_core.reading.by_arrival import (
        RangeSource as RangeSource,
        merge_by_arrival as merge_by_arrival,
        ranges_after as ranges_after,
    )
    from kinesis_core.reading.columns import (
        COLUMNS as COLUMNS,
        DEFAULT_COLUMNS as DEFAULT_COLUMNS,
        Column as Column,
        ColumnKind as ColumnKind,
        UserRecord as UserRecord,
        find_columns as find_columns,
        user_records as user_records,
    )
    from kinesis_core.reading.concurrent import (
        PAGES_HELD as PAGES_HELD,
        read_concurrently as read_concurrently,
    )
    from kinesis_core.reading.polling import PollingRangeReader as PollingRangeReader
    from kinesis_core.reading.settings import FanOutSettings as FanOutSettings, ReadSettings as ReadSettings

lazy_names(
    __name__,
    {
        "kinesis_core.reading.by_arrival": "RangeSource merge_by_arrival ranges_after",
        "kinesis_core.reading.columns": (
            "COLUMNS DEFAULT_COLUMNS Column ColumnKind UserRecord find_columns user_records"
        ),
        "kinesis_core.reading.concurrent": "PAGES_HELD read_concurrently",
        "kinesis_core.reading.polling": "PollingRangeReader",
        "kinesis_core.reading.settings": "FanOutSettings ReadSettings",
    },
)
