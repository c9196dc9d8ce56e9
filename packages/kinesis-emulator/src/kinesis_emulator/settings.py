"""The behaviour of the emulator."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from kinesis_emulator.facts import fact
from kinesis_emulator.faults import Fault
from kinesis_emulator.limits import Limits
from kinesis_emulator.requests import Request


@dataclass
class Settings:
    """The behaviour of the emulator. Every field may be changed while it runs."""

    limits: Limits = field(default_factory=Limits)
    region: str = "us-east-1"
    """The region of unsigned calls and of `Emulator`'s methods. A signed call has its own."""
    account_id: str = "000000000000"
    """The account of `Emulator`'s methods, and of calls whose access key is not an account's 12 digits."""
    shard_end: Literal["with_last_records", "page_of_its_own"] = "with_last_records"
    """The page of a closed shard that has no NextShardIterator: the last one with records, or an empty one after it."""
    scan_ms: int | None = None
    """The range of arrival times that one GetRecords call searches; None: all. It gives empty pages with lag."""
    iterator_life_s: float = fact("iterator_life_s")
    token_life_s: float = fact("token_life_s")
    keep_trimmed: bool = True
    """Whether expired records stay in memory for `Emulator.records`."""
    shard_capacity_records: int | None = None
    """A shard keeps at least this many records, and may remove older ones before they expire. None: only by retention."""
    stream_creating_s: float = 0.5
    """
    How long a stream is CREATING after CreateStream. Kinesis then refuses to list, read and write it.

    As the other times of statuses, it holds for calls over HTTP that begin later, and passes by the emulator's clock.
    """
    stream_settling_s: float = 0.0
    """
    For this time after a new stream is ACTIVE by its description, calls are still refused as if it was CREATING.

    AWS does so at times. By default the emulator does not: a program that asks often until the stream is ACTIVE would fail by chance.
    """
    stream_updating_s: float = 0.5
    """How long a stream is UPDATING after a change, such as a reshard. Further changes are refused in this time."""
    stream_deleting_s: float = 0.5
    """How long a deleted stream is DELETING, with its name in use."""
    consumer_creating_s: float = 0.5
    """How long a registered consumer is CREATING."""
    consumer_deleting_s: float = 0.5
    """How long a deregistered consumer is DELETING, with its name in use."""
    subscription_life_s: float = fact("subscription_life_s")
    resubscribe_after_s: float = fact("resubscribe_after_s")
    """For this time after a SubscribeToShard another one for the same consumer and shard is refused."""
    taken_over: Literal["ends", "fails"] = "fails"
    """How a subscription ends that another one takes over: normally, or with a ResourceInUseException."""
    heartbeat_s: float = fact("heartbeat_s")
    """How long a subscription waits for records before it sends an empty event."""
    deny: set[str] = field(default_factory=set)
    """The actions that fail with AccessDeniedException."""
    knows_dry_run: bool = True
    """Whether `DryRun` is supported. A server from before September 2026 ignores it and carries the call out."""
    fault: Callable[[Request], Fault | None] | None = None
    """Called before each call, by several threads at once: a function, a `FaultScript` or `RandomFaults`."""
    broken_http2: Literal["stream", "goaway", "connection"] = "stream"
    """
    How a call of HTTP/2 ends that a fault breaks off: its stream is reset, or the connection ends with GOAWAY, or at once.

    A front that has lost the server behind it does the first, a server that stops does the others.
    """
    hide_children_s: float = 0.0
    """For this time after a split or merge ListShards and DescribeStream leave the children out."""
    trimmed_start: Literal["oldest_record", "empty_pages"] = "oldest_record"
    """Reading from an expired position continues at the oldest record, or returns empty pages for ever."""
    readable_after_s: float = 0.0
    """How long after its acknowledgement a record can be read. Until then readers have a lag."""
    signed_within_s: float | None = None
    """The maximum distance of a signature's date from the clock in seconds; AWS's value is 300. None: no check."""
    arrival_jitter_ms: int = 0
    """Arrival times are up to this much before the clock, at random, and so out of order."""
    jitter: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - not secret
    """The randomness of arrival times. Set one with your own seed."""

    @classmethod
    def like_aws(cls) -> Settings:
        """
        Return settings in which statuses, listings and records take the time that they take on AWS, by `facts.json`.

        By default statuses take half a second, and the rest no time, so that tests hardly wait.
        """
        return cls(**{name: fact(name) for name in LATENCIES})


LATENCIES = (
    "stream_creating_s",
    "stream_settling_s",
    "stream_updating_s",
    "stream_deleting_s",
    "consumer_creating_s",
    "hide_children_s",
    "readable_after_s",
)
"""The fields that `Settings.like_aws` takes from the facts."""
