"""The lag of readers as values: per shard, per reader, and of all readers of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from attrs import frozen


class State(str, Enum):
    """How one reader stands in one shard. The texts appear in the output and in JSON."""

    CURRENT = "current"
    """Every record has been read."""
    BEHIND = "behind"
    """Records wait to be read."""
    EXPIRING = "expiring"
    """The oldest of them has spent three quarters of its retention: it will be lost soon."""
    WAITING = "waiting"
    """Nothing was read yet, because a parent of the shard is not finished."""
    FINISHED = "finished"
    """The shard is closed, and it was read to its end."""
    EXPIRED = "expired"
    """Records expired before they were read. They are lost."""
    DOUBTFUL = "doubtful"
    """The record at the position has expired. Nothing tells whether others expired after it, unread."""
    GONE = "gone"
    """Kinesis no longer lists the shard, and the reader has not finished it."""
    UNKNOWN = "unknown"
    """The reader has no position in the shard, or it cannot be compared with the shard. The note says why."""


_BEHIND = {State.BEHIND, State.EXPIRING, State.WAITING, State.EXPIRED, State.DOUBTFUL, State.GONE}
_LOST = {State.EXPIRED, State.DOUBTFUL, State.GONE}


@frozen
class ShardLag:
    """How far one reader is behind in one shard."""

    shard_id: str
    state: State
    lag_ms: int | None = None
    """The age of the oldest record that was not read, in milliseconds; 0 if there is none. None: not known."""
    position: str | None = None
    """The reader's position in words of Kinesis, such as `AFTER 4966...`."""
    owner: str | None = None
    """The worker that has the lease of the shard."""
    note: str = ""
    is_refused: bool = False
    """Whether Kinesis says that the position is none of the shard."""

    @property
    def is_behind(self) -> bool:
        """Whether there are records to read, or lost ones. A waiting shard without a record is not behind."""
        return self.state in _BEHIND and self.lag_ms != 0

    @property
    def is_lost(self) -> bool:
        """Whether records were lost, or may have been."""
        return self.state in _LOST


@frozen(kw_only=True)
class ReaderLag:
    """How far one reader is behind."""

    reader: str
    """The checkpoint or application, as the user named it."""
    kind: str
    """`spark`, `awslabs`, `qubole` or `application`; empty while it is not known."""
    shards: Sequence[ShardLag] = ()
    batch: int | None = None
    """The last batch that a query has committed."""
    planned: int | None = None
    """The batch that it has planned and not committed."""
    committed_ms: int | None = None
    """When the last batch was committed, in milliseconds since the epoch; None if that is not known."""
    notes: Sequence[str] = ()
    problem: str | None = None
    """Why the reader's position is not known. Then it has no shards."""

    @property
    def lag_ms(self) -> int | None:
        """The largest lag of its shards; None when none is known."""
        return max((shard.lag_ms for shard in self.shards if shard.lag_ms is not None), default=None)

    @property
    def behind(self) -> int:
        """The number of shards with records to read."""
        return sum(shard.is_behind for shard in self.shards)

    @property
    def lost(self) -> int:
        """The number of shards in which records were lost, or may have been."""
        return sum(shard.is_lost for shard in self.shards)

    @property
    def expiring(self) -> int:
        """The number of shards in which records will be lost soon."""
        return sum(shard.state is State.EXPIRING for shard in self.shards)

    @property
    def unfinished(self) -> int:
        """The number of shards that are not read to their end."""
        return sum(shard.state is not State.FINISHED for shard in self.shards)


@frozen(kw_only=True)
class StreamLag:
    """How far the readers of one stream are behind."""

    stream: str
    arn: str
    retention_ms: int
    measured_ms: int
    """The service's time, in milliseconds since the epoch."""
    readers: Sequence[ReaderLag]
