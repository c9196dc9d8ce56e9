"""What the workers of a simulated group deliver and commit, checked against the stream and the table at each moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import define, field

from kinesis_consumer.delivery import Batch, ShardReader
from kinesis_consumer.stores import MemoryTable
from kinesis_core.aggregation import unpack
from kinesis_core.leases import Item, Lease, LeaseCheckpoint, is_lease, read_lease
from kinesis_core.model import Record
from support.fake_stream import FakeStream

Unit = tuple[int, int]
"""A user record: the number of its record, and its index within an aggregate."""


@define(eq=False)
class Ledger:
    """Fails as soon as something happens that may not happen in a group."""

    stream: FakeStream
    table: MemoryTable
    readers_of: Callable[[str], Iterable[tuple[str, ShardReader]]]
    """Returns the workers that are alive and have a lease in hand, by its key, each with its reader."""
    committed: set[Unit] = field(factory=set)
    deliveries: int = 0
    repeated: int = 0
    """Deliveries of batches that had been delivered before."""
    began_ms: int | None = None
    """The time that the first lease of a group says, which begins at LATEST."""
    _units: dict[str, list[Unit]] = field(factory=dict)
    _created: dict[str, Lease] = field(factory=dict)
    """Each lease as it was first created."""
    _ended: set[str] = field(factory=set)
    _batches: dict[Unit, tuple[str, list[Unit]]] = field(factory=dict)
    """Batches that were delivered, by each of their user records."""
    _delivered: dict[tuple[str, str, LeaseCheckpoint], list[Unit]] = field(factory=dict)
    """What was delivered, by worker, shard and end."""
    _written: set[Batch] = field(factory=set)
    """Batches whose commit is in the table, each as one worker had it."""
    _lost: set[Batch] = field(factory=set)
    """Batches of which a worker was told that they are not committed."""

    # What happens ---------------------------------------------------------------------------------------------

    def deliver(self, worker: str, batch: Batch, reader: ShardReader) -> None:
        """Note that *worker* hands *batch* to its user."""
        self.deliveries += 1
        key = batch.shard_id
        units = [(int(each.sequence_number), each.sub_sequence_number) for each in batch.records()]
        assert units, "a batch without records"
        self._delivered[worker, key, batch.end] = units
        self.repeated += units[0] in self._batches
        self._check_same(str(batch.id), units)
        for older in self.stream.ancestors(key):  # those between may have no record
            assert older in self._ended or older not in self._created, f"{key} was begun before {older} ended"
        item = self.table.get(key)
        assert item is not None, "a batch of a lease that was deleted"
        lease = read_lease(item)
        assert self.between(lease, batch.end) == units, "a batch does not follow what is committed"
        assert not self.committed.intersection(units), "a committed record was delivered again"
        for other, theirs in self.readers_of(key):
            is_shared = theirs is not reader and theirs.held.is_ours
            assert not is_shared, f"{other} and {worker} have one shard"

    def confirm(self, batch: Batch) -> None:
        """Note that a worker is told that *batch* is committed."""
        assert batch in self._written, "a worker is told that a batch is committed, and it did not commit it"

    def lose(self, batch: Batch) -> None:
        """Note that a worker is told that *batch* is not committed: it never will be, in the hand of this worker."""
        assert batch not in self._written, "a commit that was written is reported as lost"
        self._lost.add(batch)

    def write(self, worker: str, before: Item | None, after: Item | None, batch: Batch | None = None) -> None:
        """Note what *worker* has written, to commit *batch* if it is a commit."""
        if after is None or not is_lease(after):
            return
        lease = read_lease(after)
        if before is None:
            if self.began_ms is None:
                self.began_ms = lease.starting_ms
            self._created.setdefault(lease.key, lease)
            return
        was = read_lease(before)
        if lease.checkpoint != was.checkpoint:
            self._commit(worker, was, lease.checkpoint, batch)
        if lease.actual_owner != was.actual_owner and was.actual_owner != worker:
            self._move(worker, was)

    # What is checked ------------------------------------------------------------------------------------------

    def _check_same(self, batch: str, units: list[Unit]) -> None:
        for unit in units:
            other, theirs = self._batches.setdefault(unit, (batch, units))
            assert (other, theirs) == (batch, units), "a batch was delivered again with other records"

    def _commit(self, worker: str, was: Lease, reached: LeaseCheckpoint, batch: Batch | None) -> None:
        assert was.actual_owner == worker, f"{worker} commits what {was.actual_owner} has"
        assert reached > was.checkpoint, "a checkpoint moved backward"
        units = self.between(was, reached)
        if reached.is_shard_end:
            assert self.stream.shards[was.shard_id].is_closed, "an open shard was finished"
            assert not units, "a shard was finished with records left"
            children = {s.shard_id for s in self.stream.shards.values() if was.shard_id in s.parents}
            assert children <= self._created.keys(), "a shard was finished before its children had leases"
            self._ended.add(was.shard_id)
            return
        assert self._delivered.get((worker, was.key, reached)) == units, (
            "other records were committed than delivered"
        )
        assert not self.committed.intersection(units), "records were committed twice"
        self.committed.update(units)
        assert batch is not None, "a checkpoint moved without a commit"
        assert batch not in self._lost, "a commit that was reported as lost was written later"
        self._written.add(batch)

    def _move(self, worker: str, was: Lease) -> None:
        """Check that a lease is given away only when its worker has stopped."""
        for other, reader in self.readers_of(was.key):
            is_held = other == was.actual_owner and reader.held.is_ours
            assert not is_held, f"{worker} gave away a lease while {other} had it"

    # What is in the stream ------------------------------------------------------------------------------------

    def between(self, lease: Lease, end: LeaseCheckpoint) -> list[Unit]:
        """Return the user records of a shard after the checkpoint of *lease*, up to *end*."""
        units = self._units_of(lease.shard_id)
        if not end.is_shard_end:
            last = (int(end.number), end.sub_sequence_number)
            units = [unit for unit in units if unit <= last]
        if lease.checkpoint.is_number:
            read = (int(lease.checkpoint.number), lease.checkpoint.sub_sequence_number)
            return [unit for unit in units if unit > read]
        if lease.starting_ms is None:
            return units
        arrivals = ((r.number, r.arrived_ms) for r in self.stream.shards[lease.shard_id].records)
        first = next((number for number, ms in arrivals if (ms or 0) >= (lease.starting_ms or 0)), None)
        return [unit for unit in units if first is not None and unit[0] >= first]

    def missing(self, since_ms: int) -> set[Unit]:
        """Return the user records that arrived since some time and are not committed."""
        return {
            unit
            for shard in self.stream.shards.values()
            for record in shard.records
            if (record.arrived_ms or 0) >= since_ms
            for unit in units_of(record)
        } - self.committed

    def _units_of(self, shard_id: str) -> list[Unit]:
        records = self.stream.shards[shard_id].records
        known = self._units.setdefault(shard_id, [])
        newest = known[-1][0] if known else 0
        for record in records[-1:] and records:
            if record.number > newest:
                known += units_of(record)
        return known


def units_of(record: Record) -> list[Unit]:
    """Return the user records in *record*."""
    aggregate = unpack(record.data)
    return [(record.number, i) for i in range(1 if aggregate is None else len(aggregate.data))]
