"""The service's size and rate limits, and the windows that count the rates."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """
    AWS's limits; None switches one off.

    Source: https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html
    """

    put_records_max_bytes: int | None = 10 * MIB
    """Data and partition keys of one PutRecords request."""
    enforce_record_size: bool = True
    """Whether records above their stream's MaxRecordSizeInKiB (data and partition key) are refused."""
    get_records_max_records: int = 10_000
    get_records_max_bytes: int | None = 10 * MIB
    """Data of one GetRecords response, decoded."""
    consumers_per_stream: int | None = 20
    consumers_creating: int | None = 5
    """Consumers of one account that may be CREATING at the same time."""
    event_max_records: int = 10_000
    event_max_bytes: int | None = 2 * MIB
    """Data of one event of a subscription, decoded. AWS documents neither limit of events; both are guesses."""
    shards_per_account: int | None = 20_000
    """
    Open shards of the provisioned streams of one account and region. AWS's default in us-east-1, us-west-2 and eu-west-1; in other
    regions it is 1,000 or 6,000.
    """
    on_demand_streams: int | None = 50
    """On-demand streams of one account and region."""
    streams_creating: int | None = 5
    """Streams of one account and region that may be CREATING at the same time."""
    enforce_scaling: bool = True
    """Whether UpdateShardCount refuses to more than double or halve the number of shards, and more than 10,000."""
    scalings_per_day: int | None = 10
    """Calls of UpdateShardCount for one stream in 24 hours."""
    mode_changes_per_day: int | None = 2
    """Changes of one stream between the capacity modes in 24 hours."""
    encryption_changes_per_day: int | None = 25
    """New keys of one stream in 24 hours, and as many ends of its encryption."""

    read_calls_per_s: int | None = 5
    """GetRecords per shard."""
    read_bytes_per_s: int | None = 2 * MIB
    """GetRecords per shard. After a larger response the shard is throttled for the time that it takes at this rate."""
    iterators_per_s: int | None = 5
    """GetShardIterator per shard."""
    write_records_per_s: int | None = 1000
    write_bytes_per_s: int | None = MIB
    """Data and partition keys per shard."""
    create_stream_per_s: int | None = 5
    """Per account, as for the next seven."""
    delete_stream_per_s: int | None = 5
    split_shard_per_s: int | None = 5
    merge_shards_per_s: int | None = 5
    update_shard_count_per_s: int | None = 10
    describe_stream_per_s: int | None = 10
    describe_stream_summary_per_s: int | None = 20
    list_streams_per_s: int | None = 5
    """Per account, as for the next seven."""
    describe_limits_per_s: int | None = 1
    describe_account_settings_per_s: int | None = 5
    update_account_settings_per_s: int | None = 5
    update_warm_throughput_per_s: int | None = 5
    add_tags_per_s: int | None = 5
    """AddTagsToStream. AWS documents no rate of TagResource and the other two."""
    remove_tags_per_s: int | None = 5
    list_tags_per_s: int | None = 5
    list_shards_per_s: int | None = 1000
    """Per stream."""
    register_consumer_per_s: int | None = 5
    """Per account. The limits of the other calls for consumers are per stream."""
    deregister_consumer_per_s: int | None = 5
    describe_consumer_per_s: int | None = 20
    list_consumers_per_s: int | None = 5
    subscribe_calls_per_s: int | None = 1
    """SubscribeToShard per consumer and shard, including refused calls."""
    subscribe_bytes_per_s: int | None = 2 * MIB
    """Data of a subscription's events. After an event the next one waits for the time that it takes at this rate."""

    @classmethod
    def unlimited(cls) -> Limits:
        """Return limits without rates. The size limits of requests, responses and records stay."""
        rates: dict[str, Any] = {field.name: None for field in fields(cls) if field.name.endswith("_per_s")}
        return cls(**rates)


class RateWindow:
    """
    Counts the units used in a window of at least one second.

    A window with too many units lasts for the time that they take at the rate: after 10 MiB at 2 MiB/s it admits nothing
    for 5 seconds.
    """

    def __init__(self) -> None:
        self._began_s = float("-inf")
        self._used = 0

    def admits(self, rate: int | None, now_s: float, units: int = 1) -> bool:
        """Return whether *units* more fit under *rate* per second. A new window admits any number."""
        self._renew(rate, now_s)
        return rate is None or self._used == 0 or self._used + units <= rate

    def add(self, rate: int | None, now_s: float, units: int = 1) -> None:
        """Count *units* as used."""
        self._renew(rate, now_s)
        self._used += units

    def take(self, rate: int | None, now_s: float, units: int = 1) -> bool:
        """Count *units* as used if they fit. Return whether they do."""
        is_admitted = self.admits(rate, now_s, units)
        if is_admitted:
            self.add(rate, now_s, units)
        return is_admitted

    def _renew(self, rate: int | None, now_s: float) -> None:
        lasts_s = max(1.0, self._used / rate) if rate else 1.0
        if not self._began_s <= now_s < self._began_s + lasts_s:
            self._began_s, self._used = now_s, 0
