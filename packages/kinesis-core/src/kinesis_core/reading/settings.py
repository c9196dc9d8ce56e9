"""The settings of reading, with their defaults. The options of the source take their defaults from here."""

from __future__ import annotations

import math
from collections.abc import Mapping

from attrs import field, frozen, validators

from kinesis_core.aws import FanOutTransport
from kinesis_core.errors import OptionError
from kinesis_core.model import MAX_PAGE_RECORDS, SHARD_RATE_BYTES, fault_of_tags, records_for

UNKNOWN_RECORD_BYTES = 50 * 1024
"""What a record is taken to have before the first one is known: as many as an aggregate of the Kinesis Producer Library."""

MAX_BUFFERED_BYTES = 128 * 1024 * 1024


@frozen
class ReadSettings:
    """How records are read by GetRecords. Rates are per shard. For `Stream.open(..., read=ReadSettings(...))`."""

    max_records_per_fetch: int = MAX_PAGE_RECORDS
    """Maximum number of records in a response."""
    min_fetch_period_s: float = 0.2
    """On average, the minimum time between two calls for one shard, in seconds."""
    max_fetch_rate_bytes: float = float(SHARD_RATE_BYTES)
    """Maximum bytes a second from one shard."""
    max_page_bytes: float = math.inf
    """About how many bytes of data a call returns at most. The records of the call before show how many records to request."""
    threads: int = 16
    """How many groups of related shards are read at once. 16 use one core fully if a call takes 20 ms."""
    max_buffered_bytes: int = field(default=MAX_BUFFERED_BYTES, validator=validators.ge(1))
    """
    Maximum bytes in memory of one reader: responses that are received, pages that wait, and the page that is processed. A response
    counts twice until it is decoded. If it is less than one response, one response at a time is read.
    """
    fail_on_data_loss: bool = True
    """
    Whether reading a batch raises a `DataLossError` if its records have expired. If false, the loss is logged, and the batch has the
    records that are left.
    """

    def records_per_fetch(self, record_bytes: float = UNKNOWN_RECORD_BYTES) -> int:
        """Return how many records to request if each has this many bytes."""
        return min(self.max_records_per_fetch, records_for(self.max_page_bytes, record_bytes))


@frozen
class FanOutSettings:
    """How records are read by enhanced fan-out, and when they are polled instead. For `Stream.open(..., fan_out=FanOutSettings(...))`."""

    fallback_to_polling: bool = True
    """Whether the rest of a range is polled if subscriptions fail."""
    timeout_s: float = 60.0
    """The maximum time without an event, in seconds."""
    retries: int = 10
    """Further subscriptions in a row after one without an event."""
    transport: FanOutTransport = FanOutTransport.HTTP_1_1
    consumer_tags: Mapping[str, str] = field(factory=dict)
    """The tags of a consumer that is registered. One that exists keeps its own."""

    @consumer_tags.validator
    def _check_tags(self, _: object, tags: Mapping[str, str]) -> None:
        if fault := fault_of_tags(tags):
            raise OptionError(f"consumer_tags: {fault}")
