"""Maps hash keys to shards, by the hash key ranges of the open shards."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping

from attrs import field, frozen

from kinesis_core.errors import StreamNotFoundError, UnavailableError
from kinesis_core.model import Shard, first_hole

MAX_HASH_KEY = 2**128 - 1
_HASH_BYTES = 16


def hash_of(partition_key: str, explicit_hash_key: str | None = None) -> int:
    """Return the hash key that Kinesis routes a record by."""
    if explicit_hash_key is not None:
        return int(explicit_hash_key)
    return int.from_bytes(hashlib.md5(partition_key.encode(), usedforsecurity=False).digest(), "big")


@frozen
class ShardMap:
    """The shards of a stream as listed. The stream may have been resharded since."""

    ranges: Mapping[str, tuple[int, int]]
    """First and last hash key of every shard, open or closed."""
    _starts: tuple[int, ...]
    _open: tuple[str, ...]
    start_bytes: bytes = field(init=False, eq=False, repr=False)
    """The first hash key of each open shard in their order, as 16 bytes each."""

    @start_bytes.default
    def _join_starts(self) -> bytes:
        return b"".join(start.to_bytes(_HASH_BYTES, "big") for start in self._starts)

    @staticmethod
    def of(shards: Iterable[Shard], stream: str = "") -> ShardMap:
        """
        Return the map for a listing of *stream*.

        Raises:
            StreamNotFoundError: The listing is empty: the stream is being deleted.
            UnavailableError: The open shards do not cover all hash keys: the listing is older than a reshard.
        """
        listed = list(shards)
        if not listed:
            raise StreamNotFoundError(
                f"Stream {stream} has no open shard: it may be being deleted. Check that the stream is ACTIVE, then start "
                "again.",
                "NoOpenShard",
                stream=stream,
            )
        ordered = sorted((shard for shard in listed if shard.is_open), key=lambda shard: shard.hash_start)
        hole = first_hole(ordered)
        if hole is not None:
            raise _incomplete(stream, *hole)
        return ShardMap(
            {shard.shard_id: (shard.hash_start, shard.hash_end) for shard in listed},
            tuple(shard.hash_start for shard in ordered),
            tuple(shard.shard_id for shard in ordered),
        )

    def contradicts(self, other: ShardMap) -> bool:
        """
        Return whether a shard has other hash keys in *other*. Then *other* is of a recreated stream.

        No reshard changes the hash keys of a shard. A stream that was recreated with the same shards is not detected.
        Routing by this map is correct there.
        """
        return any(other.ranges.get(shard_id, keys) != keys for shard_id, keys in self.ranges.items())

    def has_same_open(self, other: ShardMap) -> bool:
        """Return whether the same shards are open in *other*, with the same hash keys."""
        return self._open == other._open and self._starts == other._starts

    @property
    def open_shards(self) -> tuple[str, ...]:
        """Shard ids, in the order of hash keys."""
        return self._open

    def shard_of(self, hash_key: int) -> str:
        """Return the open shard that owns *hash_key*."""
        return self._open[bisect_right(self._starts, hash_key) - 1]

    def owns(self, shard_id: str, hash_key: int) -> bool:
        """Return whether the shard, which must be in the map, owns *hash_key*."""
        first, last = self.ranges[shard_id]
        return first <= hash_key <= last


def _incomplete(stream: str, first: int, last: int) -> UnavailableError:
    return UnavailableError(
        f"ListShards names no open shard of stream {stream} for the hash keys {first} to {last}. Rows with these keys "
        "cannot be sent, because the listing is older than a reshard. Check that the stream is ACTIVE, then start again.",
        "HashKeysNotListed",
        stream=stream,
    )
