"""Streams in memory. Each stream has a lock, so that every change and every read is atomic."""

from __future__ import annotations

import json
import threading
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Any, Literal

from kinesis_emulator.consumers import RegisteredConsumer, RegisteredConsumers
from kinesis_emulator.errors import AwsError, invalid_argument, stream_not_found
from kinesis_emulator.folder import AccountSettings, Folder, SavedRecord, SavedStream
from kinesis_emulator.records import WrittenRecord
from kinesis_emulator.shards import StoredShard

MAX_HASH_KEY = 2**128 - 1
EncryptionType = Literal["NONE", "KMS"]
DistributionStrategy = Literal["USER_PARTITION_KEY", "AUTO"]
PassingStatus = Literal["CREATING", "UPDATING"]
_KEPT = (
    *("name", "region", "account_id", "created_ms", "mode", "max_record_kib", "encryption", "strategy"),
    *("retention_hours", "tags", "deleting_ms", "changes_ms"),
    *("passing", "since_ms", "passing_ms", "settling_ms", "due"),
    *("key_id", "metrics", "policy", "warm_mibps"),
)
"""The fields of a stream that a folder keeps as they are."""


@dataclass(eq=False)
class StoredStream:
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
    tags: dict[str, str] = field(default_factory=dict)
    key_id: str | None = None
    """The key with which it is encrypted, as the request named it. None: the default key, or no encryption."""
    metrics: list[str] = field(default_factory=list)
    """The metrics that each shard has."""
    policy: str | None = None
    warm_mibps: int | None = None
    """The throughput in MiB/s for which an on-demand stream is prepared."""
    shards: list[StoredShard] = field(default_factory=list)
    open_shards: list[StoredShard] = field(default_factory=list)
    consumers: RegisteredConsumers = field(default_factory=RegisteredConsumers)
    is_deleted: bool = False
    deleting_ms: int | None = None
    """When it is gone, once it is being deleted."""
    passing: PassingStatus | None = None
    """The last status that passes by itself. It began at `since_ms`, and lasts for `passing_ms`."""
    since_ms: int = 0
    passing_ms: int = 0
    settling_ms: int = 0
    """For this time after it was CREATING, calls are still refused."""
    due: list[Any] | None = None
    """When the reshard is done that was asked for, and that reshard."""
    changes_ms: dict[str, list[int]] = field(default_factory=dict)
    """When it was changed by the operations that may do so a few times a day, by operation."""
    tidied_ms: int = 0
    folder: Folder | None = None
    """It keeps the stream for the next emulator. None: the stream is in memory only."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    _openings: list[tuple[list[tuple[int, int]], list[int], int, int]] = field(default_factory=list)
    """The hash ranges of the shards that were opened together, the indexes of their parents, and the second and the time."""
    _new_rows: list[SavedRecord] = field(default_factory=list)
    _grown: set[StoredShard] = field(default_factory=set)
    """The shards with records since `save_records`."""
    _turn: int = 0
    _open_starts: list[int] = field(default_factory=list)
    _by_id: dict[str, StoredShard] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        return stream_arn(self.region, self.account_id, self.name)

    @property
    def kept_id(self) -> int:
        """The id of the stream in a folder: the second in which its first shards were opened, which no other stream has."""
        return self.shards[0].opened_s

    @property
    def last_opened_s(self) -> int:
        """The last second in which a shard was opened."""
        return self.shards[-1].opened_s

    def horizon_ms(self, now_ms: int) -> int:
        """Return the time before which records have expired."""
        return now_ms - self.retention_hours * 3_600_000

    def trim(self, now_ms: int, *, keep: bool) -> None:
        """Hide the expired records, and free them unless *keep*."""
        for shard in self.shards:
            shard.trim(self.horizon_ms(now_ms), keep=keep)

    def trim_to_capacity(self, records: int, *, keep: bool) -> None:
        """Hide the oldest records of each shard with twice as many as *records*, and free them unless *keep*."""
        full = [shard for shard in self.shards if shard.records.end - shard.trimmed >= 2 * records]
        for shard in full:
            shard.trim_to(shard.records.end - records, keep=keep)
        if full:
            self.save()

    def append(
        self, shard: StoredShard, record: WrittenRecord, size: int, arrived_ms: int, readable_ms: int = 0
    ) -> None:
        """Add a record to *shard* as `StoredShard.append` does. `save_records` ends the call that adds it."""
        index = shard.records.end
        self._grown.add(shard)
        shard.append(record, size, arrived_ms, readable_ms)
        if self.folder is not None:
            [in_json] = shard.records.fragments(index, index + 1)
            self._new_rows.append((self.kept_id, shard.index, index, size, arrived_ms, in_json))

    def save_records(self) -> None:
        """Keep the new records in the folder, all at once, and wake their readers. Call this before others can see them."""
        if self.folder is not None and self._new_rows:
            self.folder.add(self._new_rows)
        self._new_rows = []
        for shard in self._grown:
            shard.changed.notify_all()
        self._grown.clear()

    def version(self) -> str:
        """Return a text that another version of the stream, with other facts or shards, does not have."""
        return json.dumps([self._facts(), len(self.shards)])

    def _facts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _KEPT}

    def save(self) -> None:
        """Keep all but new records in the folder, and remove freed ones from it. Call this before others can see the change."""
        if self.folder is None:
            return
        state = {
            "facts": self._facts(),
            "openings": self._openings,
            "shards": [
                (shard.records.first, shard.records.freed_peak_ms, shard.trimmed) for shard in self.shards
            ],
            "consumers": [
                (one.name, one.created_s, one.active_ms, one.gone_ms, one.tags, one.policy)
                for one in self.consumers.every()
            ],
        }
        firsts = [shard.records.first for shard in self.shards]
        self.folder.save(self.kept_id, state, firsts)

    @classmethod
    def kept_in(cls, folder: Folder, kept_id: int, state: SavedStream, *, keep_trimmed: bool) -> StoredStream:
        """Return the stream that `save` and `save_records` have kept in *folder*."""
        stream = cls(**{name: value for name, value in state["facts"].items() if name in _KEPT})
        with stream.lock:
            for ranges, parents, opened_s, now_ms in state["openings"]:
                parent_shards = tuple(stream.shards[index] for index in parents)
                stream.open_shards_in(
                    [(start, end) for start, end in ranges], parent_shards, opened_s, now_ms
                )
            for shard, (first, peak_ms, _) in zip(stream.shards, state["shards"], strict=True):
                shard.start_at(first, peak_ms)
            for _, index, _, size, arrived_ms, fragment in folder.records(kept_id):
                stream.shards[index].append(("json", fragment), size, arrived_ms)
            for shard, (_, _, trimmed) in zip(stream.shards, state["shards"], strict=True):
                shard.trim_to(trimmed, keep=keep_trimmed)
        for name, created_s, active_ms, gone_ms, *rest in state["consumers"]:
            tags = rest[0] if rest else {}  # earlier releases kept less
            policy = rest[1] if len(rest) > 1 else None
            stream.consumers.restore(
                RegisteredConsumer(name, stream.arn, created_s, active_ms, tags, policy, gone_ms)
            )
        stream.folder = folder
        return stream

    def listed_shards(self, now_ms: int, hide_children_s: float) -> list[StoredShard]:
        """Return the shards that a listing shows: open ones, and closed ones within retention, unless they are hidden yet."""
        horizon_ms, newest_ms = self.horizon_ms(now_ms), now_ms - round(hide_children_s * 1000)
        return [
            shard
            for shard in self.shards
            if (shard.closed_ms is None or shard.closed_ms >= horizon_ms)
            and shard.hidden_until_ms <= now_ms
            and (not shard.parents or shard.opened_ms <= newest_ms)
        ]

    def find_shard(self, shard_id: str, now_ms: int) -> StoredShard | None:
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
        self, hash_ranges: list[tuple[int, int]], parents: tuple[StoredShard, ...], opened_s: int, now_ms: int
    ) -> list[StoredShard]:
        """Close the *parents* and open a shard for each of *hash_ranges*, which they covered; both in the order of the keys."""
        self._openings.append((hash_ranges, [parent.index for parent in parents], opened_s, now_ms))
        opened = [
            StoredShard(len(self.shards) + i, hash_range, parents, opened_s, now_ms, self.lock)
            for i, hash_range in enumerate(hash_ranges)
        ]
        self.shards.extend(opened)
        self._by_id.update((shard.shard_id, shard) for shard in opened)
        for parent in parents:
            parent.close(tuple(opened), now_ms)
        first = bisect_left(self._open_starts, hash_ranges[0][0])
        rest = first + len(parents)
        self.open_shards = [*self.open_shards[:first], *opened, *self.open_shards[rest:]]
        self._open_starts = [
            *self._open_starts[:first],
            *(low for low, _ in hash_ranges),
            *self._open_starts[rest:],
        ]
        return opened

    def open_shards_from(self, start: int, end: int) -> list[StoredShard]:
        """Return the open shards whose hash keys begin from *start* to *end*."""
        return self.open_shards[bisect_left(self._open_starts, start) : bisect_right(self._open_starts, end)]

    def begin(self, status: PassingStatus, now_ms: int, for_s: float, settling_s: float = 0.0) -> None:
        """Let it be in *status* for *for_s*, and then refuse calls for *settling_s* as a new stream does. `save` keeps it."""
        self.passing, self.since_ms = status, now_ms
        self.passing_ms, self.settling_ms = round(for_s * 1000), round(settling_s * 1000)

    def retain(self, hours: int, now_ms: int, *, keep: bool) -> None:
        """Change the retention. Records that have expired before do not come back."""
        self.trim(now_ms, keep=keep)
        self.retention_hours = hours
        self.trim(now_ms, keep=keep)
        self.save()

    def route(self, hash_key: int) -> StoredShard:
        """Return the open shard for *hash_key*, or the next one in turn if the strategy is AUTO."""
        if self.strategy == "AUTO":
            self._turn += 1
            return self.open_shards[self._turn % len(self.open_shards)]
        return self.owner(hash_key)

    def owner(self, hash_key: int) -> StoredShard:
        """Return the open shard that has *hash_key*."""
        return self.open_shards[bisect_right(self._open_starts, hash_key) - 1]

    def wake(self) -> None:
        """Make every subscription check its shard, its consumer and the clock."""
        with self.lock:
            for shard in self.shards:
                shard.changed.notify_all()


class Store:
    """All streams by ARN, so that regions and accounts do not share streams."""

    def __init__(self, folder: Folder | None = None, *, keep_trimmed: bool = True) -> None:
        self._lock = threading.Lock()
        self._folder = folder
        self._streams: dict[str, StoredStream] = {}
        self._deleting: list[StoredStream] = []
        self._last_opened_s = 0
        self._accounts: dict[str, AccountSettings] = {} if folder is None else folder.accounts()
        if folder is not None:
            for kept in folder.streams():
                stream = StoredStream.kept_in(folder, *kept, keep_trimmed=keep_trimmed)
                self._streams[stream.arn] = stream
            opened_s = (stream.last_opened_s for stream in self._streams.values())
            self._last_opened_s = max([folder.last_opened_s(), *opened_s])
            self._deleting = [one for one in self._streams.values() if one.deleting_ms is not None]

    def close(self) -> None:
        if self._folder is not None:
            self._folder.close()

    def next_opened_s(self, now_ms: int) -> int:
        """
        Return a second in which no shard was opened before, for new shards' sequence numbers.

        It may be ahead of the clock: a child's numbers are above its parents', a recreated stream's differ from the old ones.
        """
        with self._lock:
            self._last_opened_s = max(now_ms // 1000, self._last_opened_s + 1)
            return self._last_opened_s

    def create(self, stream: StoredStream, shard_count: int) -> None:
        """Add *stream* with *shard_count* shards that share the hash keys evenly."""
        opened_s = self.next_opened_s(stream.created_ms)
        stream.open_shards_in(even_ranges(shard_count), (), opened_s, stream.created_ms)
        with self._lock:
            if stream.arn in self._streams:
                raise AwsError(
                    "ResourceInUseException",
                    f"Stream {stream.name} under account {stream.account_id} already exists.",
                )
            stream.folder = self._folder
            stream.save()
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

    def delete_at(self, stream: StoredStream, gone_ms: int) -> None:
        """Begin to delete *stream*: it is there until *gone_ms*."""
        with self._lock:
            stream.deleting_ms = gone_ms
            stream.save()
            self._deleting.append(stream)

    def delete(self, stream: StoredStream) -> None:
        with self._lock:
            if self._streams.get(stream.arn) is stream:  # not a later one of that name
                del self._streams[stream.arn]
        with stream.lock:
            if stream.folder is not None:
                stream.folder.delete(stream.kept_id, stream.last_opened_s)
            stream.folder, stream.is_deleted = None, True
        stream.wake()

    def account_settings(self, region: str, account_id: str) -> AccountSettings:
        """Return the settings of an account, which it has for each region; nothing if it has changed none."""
        with self._lock:
            return self._accounts.get(f"{region}:{account_id}", {})

    def change_account_settings(self, region: str, account_id: str, changed: AccountSettings) -> None:
        account = f"{region}:{account_id}"
        with self._lock:
            self._accounts[account] = changed
            if self._folder is not None:
                self._folder.save_account(account, changed)

    def forget_accounts(self) -> None:
        """Let all accounts have the settings of new ones."""
        with self._lock:
            for account in self._accounts:
                if self._folder is not None:
                    self._folder.save_account(account, {})
            self._accounts = {}

    def wake(self) -> None:
        """Make every subscription check the clock, because time has passed."""
        for stream in self.every():
            stream.wake()

    def every(self) -> list[StoredStream]:
        """Return the streams of all regions and accounts."""
        with self._lock:
            return [*self._streams.values()]

    def open_shards(self, region: str, account_id: str) -> int:
        """Return the number of open shards of one region and account in its provisioned streams."""
        streams = self.list(region, account_id)
        return sum(len(stream.open_shards) for stream in streams if stream.mode == "PROVISIONED")

    def get(self, arn: str) -> StoredStream:
        """Return the stream with this ARN; raise a ResourceNotFoundException if it does not exist."""
        with self._lock:
            stream = self._streams.get(arn)
        if stream is None:
            parts = arn.split(":", 5)
            if len(parts) != 6 or not parts[5].startswith("stream/"):
                raise invalid_argument(f"StreamARN {arn} is not a valid stream ARN.")
            raise stream_not_found(parts[5].removeprefix("stream/"), parts[4])
        return stream

    def list(self, region: str, account_id: str) -> list[StoredStream]:
        """Return the streams of one region and account, by name."""
        prefix = stream_arn(region, account_id, "")
        with self._lock:
            return sorted(
                (stream for arn, stream in self._streams.items() if arn.startswith(prefix)),
                key=lambda stream: stream.name,
            )


def stream_arn(region: str, account_id: str, name: str) -> str:
    return f"arn:aws:kinesis:{region}:{account_id}:stream/{name}"


def even_ranges(count: int) -> list[tuple[int, int]]:
    """Return *count* even ranges that cover all hash keys, as CreateStream and UpdateShardCount make them."""
    width = (MAX_HASH_KEY + 1) // count
    starts = [i * width for i in range(count)]
    return list(zip(starts, [start - 1 for start in starts[1:]] + [MAX_HASH_KEY], strict=True))
