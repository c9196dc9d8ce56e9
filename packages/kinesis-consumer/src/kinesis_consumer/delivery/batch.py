"""Batches of a consumer group: an exact part of one shard, with its records at hand."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import ClassVar, Protocol

from attrs import define, field, frozen

from kinesis_consumer.words import in_words_of_groups
from kinesis_core.batch import ArrowForms, BatchPart
from kinesis_core.leases import LeaseCheckpoint
from kinesis_core.planning import ShardPage
from kinesis_core.reading import UserRecord, user_records


@frozen
class BatchId:
    """
    Identifies the records of a batch. The same batch has the same id after a crash and in any worker. It does not matter whether
    the worker was opened with the stream's name or its ARN.

    As text it is one line: `orders:shardId-000000000000:4966...:4967...`.
    """

    stream: str
    """As in `Batch.stream`."""
    shard_id: str
    first: str
    """Sequence number of the first record. `/3` follows it if the first three user records of that aggregate are left out."""
    last: str
    """Sequence number of the last record."""

    def __str__(self) -> str:
        return f"{self.stream}:{self.shard_id}:{self.first}:{self.last}"


class BatchOwner(Protocol):
    """The reader that a batch belongs to."""

    def commit(self, batch: Batch) -> None: ...

    def is_ours(self, batch: Batch) -> bool: ...


@define(eq=False)
class Batch(ArrowForms):
    """
    A part of one shard that a consumer group delivers. You do not create it. If it is delivered again, it has the same records and
    the same id.

    Its end is fixed in the lease before its first delivery. `kinesis_core.Batch` is another class: what `Stream.read` returns.

    Attributes:
        id: The id of its records: stream, shard, first and last record.
        stream: The stream's name, even if it was given by its ARN. The ARN if two streams of the group have the same name.
        shard_id: The shard of all its records.
        size_bytes: The number of bytes in the data of its records.
        start: The first record: `start.number` is its sequence number. `start.sub_sequence_number` says how many of its user
            records are left out.
        end: The last record: `end.number` is its sequence number. `end.sub_sequence_number` is the index of its last user record.
        is_committed: Whether the batch is committed.
        may_be_committed: Whether a commit failed, and nobody knows whether it was written.
    """

    _ARROW: ClassVar[str] = "'kinesis-consumer[arrow]'"
    id: BatchId
    start: LeaseCheckpoint
    end: LeaseCheckpoint
    size_bytes: int
    _pages: Sequence[ShardPage]
    _owner: BatchOwner
    is_committed: bool = field(default=False, init=False)
    may_be_committed: bool = field(default=False, init=False)

    def __repr__(self) -> str:
        return f"<Batch {self.id}>"

    @property
    def record_count(self) -> int:
        """The number of its records. An aggregate counts as one."""
        return sum(len(part.page.records) for part in self._pages)

    @property
    def ends_ms(self) -> int | None:
        """When the last record arrived, in milliseconds since the epoch; None where Kinesis does not say it."""
        return self._pages[-1].end.arrived_ms

    @property
    def stream(self) -> str:
        return self.id.stream

    @property
    def shard_id(self) -> str:
        return self.id.shard_id

    @property
    def is_ours(self) -> bool:
        """
        Whether the batch is not committed, and no other worker can have its shard at this moment.

        True while this worker has the lease, and the lease is valid by the clock of this process. False after a commit, and after
        the lease was lost or released. Then it stays false. If the process is paused, it can lose the lease just after this check.
        Only a commit verifies the lease in the store.
        """
        return self._owner.is_ours(self)

    def records(self, *, deaggregate: bool = True) -> Iterator[UserRecord]:
        """
        Yield the records in the order of the shard. A second call yields the same records.

        KPL aggregates are unpacked into their user records. With `deaggregate=False` an aggregate is one record.

        Raises:
            OptionError: The batch begins inside an aggregate, and `deaggregate` is False.
        """
        for part in self._pages:
            yield from user_records(part.page, self.stream, self.shard_id, deaggregate, part.end.first_skip)

    def _parts(self, needs_data: bool) -> Generator[BatchPart, None, None]:  # noqa: ARG002 - the data is here
        name = self.stream.rpartition("/")[2]
        for part in self._pages:
            yield BatchPart(part.page, name, self.stream, self.shard_id, part.end.first_skip)

    @in_words_of_groups()
    def commit(self) -> None:
        """
        Mark the records of the batch as processed, in its lease. Afterwards no worker gets them again. Idempotent.

        If a write fails, `commit` tries again while the lease is valid. After the lease has expired, `commit` reads it once more,
        to find out whether a write without a response was made.

        Raises:
            LeaseLostError: This worker lost the lease before a commit was confirmed. The error's `may_be_committed` says whether
                the batch may be committed. If it is false, the batch is delivered again. In both cases continue with the next batch.
            ServiceError: The store refuses the write, and a retry would not help.
        """
        self._owner.commit(self)

    async def commit_async(self) -> None:
        """
        As `commit`, for a task of asyncio. The commit is made in a thread.

        A task that is cancelled during this call waits until the commit is written or has failed, and is cancelled then.
        `is_committed` and `may_be_committed` say what happened. A failed commit is the cause of the `CancelledError`.

        Raises:
            LeaseLostError, ServiceError: As for `commit`.
        """
        from kinesis_consumer.waiting import in_thread

        await in_thread(self.commit)
