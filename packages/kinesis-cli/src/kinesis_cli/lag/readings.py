"""Where a reader stands in a stream, as it has written it down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from kinesis_cli.ending import UsageError
from kinesis_cli.lag.results import ShardLag, State

if TYPE_CHECKING:
    from kinesis_core import Cut, Latest


@frozen
class Checkpoint:
    """The checkpoint directory of a streaming query of Spark."""

    name: str
    """Its place: a local path, or a URL such as `s3://bucket/checkpoint`."""


@frozen
class LeaseApplication:
    """An application of the KCL, or a consumer group: a lease table in DynamoDB, or leases in a file of SQLite."""

    name: str
    """That of the table."""
    file: Path | None = None


Reader = Checkpoint | LeaseApplication


def name_readers(
    checkpoints: Iterable[str], applications: Sequence[str], file: Path | None = None
) -> list[Reader]:
    """
    Return the readers that a user names. *file* has the leases of the applications, if DynamoDB has not.

    Raises:
        UsageError: There is none, two have one name, or there is a file and no application.
    """
    if file is not None and not applications:
        raise UsageError(f"--leases {file} needs the application whose leases it has: --application NAME.")
    readers: list[Reader] = [
        *map(Checkpoint, checkpoints),
        *(LeaseApplication(name, file) for name in applications),
    ]
    names = [reader.name for reader in readers]
    if not readers:
        raise UsageError(
            "Which readers? Give --checkpoint with the checkpoint directory of a query of Spark, --application with the lease table of a "
            "KCL application or consumer group, or several of them."
        )
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"The reader '{twice[0]}' is given twice. Give it once.")
    return readers


@frozen
class Position:
    """A reader's position in one shard."""

    cut: Cut | Latest | None
    """None: nothing says where the reader begins in the shard."""
    shown: str
    arrived_ms: int | None = None
    """No record after the cut arrived before this time; None if no such time is known."""
    owner: str | None = None
    kept_hours: int | None = None
    """Records after the cut that are younger have not expired, whatever the retention is now; None if the reader does not say."""

    def shard_lag(self, shard_id: str, state: State, lag_ms: int | None, note: str = "") -> ShardLag:
        """Return how far the reader at this position is behind."""
        return ShardLag(shard_id, state, lag_ms, self.shown or None, self.owner, note)


@frozen(kw_only=True)
class Reading:
    """A reader's positions in one stream."""

    reader: str
    kind: str
    positions: Mapping[str, Position]
    created_ms: int | None = None
    """When the stream was created that the positions are of; None if they do not tell."""
    batch: int | None = None
    planned: int | None = None
    committed_ms: int | None = None
    """When the last batch was committed, in milliseconds since the epoch; None if that is not known."""
    notes: tuple[str, ...] = field(default=())
