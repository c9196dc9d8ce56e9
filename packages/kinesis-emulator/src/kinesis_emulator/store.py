"""Streams in memory. Each stream has a lock, so that every change and every read is atomic."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Literal

from kinesis_emulator.consumers import Consumers
from kinesis_emulator.errors import AwsError, invalid_argument, stream_not_found
from kinesis_emulator.journal import Journal, StreamLog, facts_of
from kinesis_emulator.shards import Shard
from kinesis_emulator.snapshot import StreamState, write_snapshot

MAX_HASH_KEY = 2**128 - 1
EncryptionType = Literal["NONE", "KMS"]
DistributionStrategy = Literal["USER_PARTITION_KEY", "AUTO"]


@dataclass(eq=False)
class Stream:
    """One stream. Hold `lock` to read or change its shards."""

    name: str
    region: str
    account_id: str
    created_ms: int
    mode: str = "PROVISIONED"
    max_record_kib: int = 1024
    encryption: EncryptionType = "NONE"
    strategy: DistributionStrategy = "USER_PARTITION_KEY"
    """Whether keys choose the shards, or the shards take turns (AUTO). Only on-demand streams have the choice."""
    retention_hours: int = 24
    shards: list[Shard] = field(default_factory=list)
    open_shards: list[Shard] = field(default_factory=list)
    consumers: Consumers = field(default_factory=Consumers)
    is_deleted: bool = False
    deleting_ms: int | None = None
    """When it is gone, once it is being deleted."""
    changed_ms: int | None = None
    """When it was changed last, in a way that makes it UPDATING."""
    tidied_ms: int = 0
    log: StreamLog | None = None
    """Each change is written here first. None keeps the stream in memory only."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    _turn: int = 0
    _open_starts: list[int] = field(default_factory=list)
    _by_id: dict[str, Shard] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        return stream_arn(self.region, self.account_id, self.name)

    def horizon_ms(self, now_ms: int) -> int:
        """Return the time before which records have expired."""
        return now_ms - self.retention_hours * 3_600_000

    def trim(self, now_ms: int, *, keep: bool) -> None:
        """Hide the expired records, and free them unless *keep*."""
        for shard in self.shards:
            shard.trim(self.horizon_ms(now_ms), keep=keep)

    def trim_to_capacity(self, records: int, *, keep: bool) -> None:
        """Hide the oldest records of each shard with twice as many as *records*, and free them unless *keep*."""
        for shard in self.shards:
            if shard.records.end - shard.trimmed >= 2 * records:
                self.trim_shard(shard, shard.records.end - records, keep=keep)

    def trim_shard(self, shard: Shard, index: int, *, keep: bool) -> None:
        """Hide the records of *shard* before *index*, and free them unless *keep*."""
        if self.log is not None:
            self.log.trimmed(shard.index, index)
        shard.trim_to(index, keep=keep)

    def listed_shards(self, now_ms: int) -> list[Shard]:
        """Return the shards that Kinesis lists: open ones, and closed ones within retention."""
        horizon = self.horizon_ms(now_ms)
        return [shard for shard in self.shards if shard.closed_ms is None or shard.closed_ms >= horizon]

    def find_shard(self, shard_id: str, now_ms: int) -> Shard | None:
        """Return the shard with that id if it is open or closed within retention, else None."""
        shard = self._by_id.get(shard_id)
        if shard is None or shard.closed_ms is None or shard.closed_ms >= self.horizon_ms(now_ms):
            return shard
        return None

    def has_opened(self, shard_id: str, opened_s: int) -> bool:
        """Return whether the shard belongs to this stream, and not to a deleted one of the same name."""
        shard = self._by_id.get(shard_id)
        return shard is not None and shard.opened_s == opened_s

    def open_shards_in(
        self, hash_ranges: list[tuple[int, int]], parents: tuple[Shard, ...], opened_s: int, now_ms: int
    ) -> list[Shard]:
        """Close the *parents* and open a shard for each of *hash_ranges*, which they covered."""
        if self.log is not None:
            self.log.resharded(hash_ranges, [parent.index for parent in parents], opened_s, now_ms)
        opened = [
            Shard(len(self.shards) + i, hash_range, parents, opened_s, now_ms, self.lock)
            for i, hash_range in enumerate(hash_ranges)
        ]
        self.shards.extend(opened)
        self._by_id.update((shard.shard_id, shard) for shard in opened)
        for parent in parents:
            parent.close(tuple(opened), now_ms)
            self.changed_ms = now_ms
        still_open = [shard for shard in self.open_shards if shard.closed_ms is None]
        self.open_shards = sorted(still_open + opened, key=lambda shard: shard.hash_start)
        self._open_starts = [shard.hash_start for shard in self.open_shards]
        return opened

    def retain(self, hours: int, now_ms: int, *, keep: bool) -> None:
        """Change the retention. Records that have expired before do not come back."""
        if self.log is not None:
            self.log.retained(hours, now_ms)
        self.trim(now_ms, keep=keep)
        self.retention_hours, self.changed_ms = hours, now_ms
        self.trim(now_ms, keep=keep)

    def resize_records(self, max_record_kib: int, now_ms: int | None = None) -> None:
        """Accept records of up to *max_record_kib* from now on."""
        if self.log is not None:
            self.log.sized(max_record_kib)
        self.max_record_kib, self.changed_ms = max_record_kib, now_ms

    def distribute(self, strategy: DistributionStrategy) -> None:
        """Distribute records by *strategy* from now on."""
        if self.log is not None:
            self.log.distributed(strategy)
        self.strategy = strategy

    def route(self, hash_key: int) -> Shard:
        """Return the open shard for *hash_key*, or the next one in turn if the strategy is AUTO."""
        if self.strategy == "AUTO":
            self._turn += 1
            return self.open_shards[self._turn % len(self.open_shards)]
        return self.open_shards[bisect_right(self._open_starts, hash_key) - 1]

    def wake(self) -> None:
        """Make every subscription check its shard, its consumer and the clock."""
        with self.lock:
            for shard in self.shards:
                shard.changed.notify_all()


class Store:
    """All streams by ARN, so that regions and accounts do not share streams."""

    def __init__(
        self, journal: Journal | None = None, streams: Iterable[Stream] = (), last_opened_s: int = 0
    ) -> None:
        self._registry = threading.Lock()
        """Held while streams are created and deleted, and while the journal is rewritten. Taken before any other lock."""
        self._lock = threading.Lock()
        self._journal = journal
        self._streams = {stream.arn: stream for stream in streams}
        self._last_opened_s = last_opened_s
        self._deleting: list[Stream] = []

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def tidy_journal(self) -> None:
        """Rewrite the journal if it has grown enough. The caller holds no lock."""
        if self._journal is None or not self._journal.is_due:
            return
        with self._registry:
            if not self._journal.is_due:
                return  # another thread has done it
            with self._lock:
                streams, last_opened_s = list(self._streams.values()), self._last_opened_s
            with ExitStack() as locks:
                for stream in streams:
                    locks.enter_context(stream.lock)
                states = [_state(stream, stream.log) for stream in streams if stream.log is not None]
                self._journal.rewrite(
                    lambda write, last_id: write_snapshot(write, states, last_id, last_opened_s)
                )

    def next_opened_s(self, now_ms: int) -> int:
        """
        Return a second in which no shard was opened before, for new shards' sequence numbers.

        It may be ahead of the clock: a child's numbers are above its parents', a recreated stream's differ from the old ones.
        """
        with self._lock:
            self._last_opened_s = max(now_ms // 1000, self._last_opened_s + 1)
            return self._last_opened_s

    def create(self, stream: Stream, shard_count: int) -> None:
        """Add *stream* with *shard_count* shards that share the hash keys evenly."""
        opened_s = self.next_opened_s(stream.created_ms)
        stream.open_shards_in(even_ranges(shard_count), (), opened_s, stream.created_ms)
        with self._registry, self._lock:
            if stream.arn in self._streams:
                raise AwsError(
                    "ResourceInUseException",
                    f"Stream {stream.name} under account {stream.account_id} already exists.",
                )
            if self._journal is not None:
                stream.log = self._journal.log_of()
                stream.log.created(facts_of(stream), shard_count, opened_s)
            self._streams[stream.arn] = stream

    def bury(self, now_ms: int) -> None:
        """Remove the streams that are deleted by now."""
        if not self._deleting:
            return
        with self._lock:
            gone = [s for s in self._deleting if s.deleting_ms is not None and s.deleting_ms <= now_ms]
            self._deleting = [s for s in self._deleting if s not in gone]
        for stream in gone:
            self.delete(stream)

    def delete_at(self, stream: Stream, gone_ms: int) -> None:
        """Begin to delete *stream*: it is there until *gone_ms*."""
        with self._lock:
            stream.deleting_ms = gone_ms
            self._deleting.append(stream)

    def delete(self, stream: Stream) -> None:
        with self._registry, self._lock:
            if self._streams.pop(stream.arn, None) is not None and stream.log is not None:
                stream.log.deleted()
        stream.is_deleted = True
        stream.wake()

    def wake(self) -> None:
        """Make every subscription check the clock, because time has passed."""
        with self._lock:
            streams = list(self._streams.values())
        for stream in streams:
            stream.wake()

    def get(self, arn: str) -> Stream:
        """Return the stream with this ARN; raise a ResourceNotFoundException if it does not exist."""
        with self._lock:
            stream = self._streams.get(arn)
        if stream is None:
            parts = arn.split(":", 5)
            if len(parts) != 6 or not parts[5].startswith("stream/"):
                raise invalid_argument(f"StreamARN {arn} is not a valid stream ARN.")
            raise stream_not_found(parts[5].removeprefix("stream/"), parts[4])
        return stream

    def list(self, region: str, account_id: str) -> list[Stream]:
        """Return the streams of one region and account, by name."""
        prefix = stream_arn(region, account_id, "")
        with self._lock:
            return sorted(
                (stream for arn, stream in self._streams.items() if arn.startswith(prefix)),
                key=lambda stream: stream.name,
            )


def _state(stream: Stream, log: StreamLog) -> StreamState:
    return StreamState(log.stream_id, facts_of(stream), stream.shards, stream.consumers)


def stream_arn(region: str, account_id: str, name: str) -> str:
    return f"arn:aws:kinesis:{region}:{account_id}:stream/{name}"


def even_ranges(count: int) -> list[tuple[int, int]]:
    """Return *count* even ranges that cover all hash keys, as CreateStream and UpdateShardCount make them."""
    width = (MAX_HASH_KEY + 1) // count
    starts = [i * width for i in range(count)]
    return list(zip(starts, [start - 1 for start in starts[1:]] + [MAX_HASH_KEY], strict=True))
