"""What the journals of all workers, the stream and the table of leases must say together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from kinesis_core.leases import Lease, LeaseCheckpoint
from support.consumer_chaos.journal import Delivery, Position

SHOWN = 3


@frozen
class StoredRecord:
    """One user record, as it is in the stream."""

    shard_id: str
    position: Position
    key: str
    number: int
    is_misrouted: bool = False
    """
    Whether the shard does not have the key: a producer learns of a split by an aggregate that went to the wrong shard, and puts its
    records again. Such copies are delivered, in no order with the others.
    """


def judge(
    stored: Sequence[StoredRecord], numbers: int, deliveries: Sequence[Delivery], leases: Iterable[Lease]
) -> Iterator[str]:
    """
    Yield what is wrong; nothing if all promises are kept. The producer has written the first *numbers* numbers.

    The workers have had time to commit everything: see `uncommitted`.
    """
    by_shard = {lease.shard_id: lease for lease in leases}
    by_batch: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in sorted(deliveries, key=lambda delivery: delivery.at_s):
        by_batch[delivery.batch_id].append(delivery)
    yield from _of_stream(stored, numbers)
    for batch, times in by_batch.items():
        yield from _have_equal_records(batch, times)
        yield from _are_committed_once(batch, times, by_shard)
    yield from _are_delivered(stored, by_batch)
    keys = {(record.shard_id, record.position): record.key for record in stored if not record.is_misrouted}
    yield from _are_in_order(keys, by_batch)
    yield from _are_checkpointed(stored, by_shard)


def _of_stream(stored: Sequence[StoredRecord], numbers: int) -> Iterator[str]:
    missing = set(range(numbers)) - {record.number for record in stored if not record.is_misrouted}
    if missing:
        yield f"the producer lost {len(missing)} records, such as {_some(missing)}"


def _have_equal_records(batch: str, times: Sequence[Delivery]) -> Iterator[str]:
    if len({(each.records, each.numbers) for each in times}) > 1:
        yield f"batch {batch} had different records at different times"


def _are_committed_once(
    batch: str, times: Sequence[Delivery], by_shard: Mapping[str, Lease]
) -> Iterator[str]:
    """Yield whether a batch was delivered after its commit, or never committed. Only the last delivery may be committed."""
    if any(each.outcome == "committed" for each in times[:-1]):
        yield f"batch {batch} was delivered again after it was committed"
    if not _is_committed(times[-1], by_shard):
        last = f"the last outcome of {times[-1].worker} is {times[-1].outcome!r}"
        yield f"batch {batch} was never committed, and is not delivered again: {last}"


def _is_committed(delivery: Delivery, by_shard: Mapping[str, Lease]) -> bool:
    """Return whether the batch was committed. Of a worker that was killed meanwhile only the table of leases knows it."""
    if delivery.outcome != "committing":
        return delivery.outcome == "committed"
    lease = by_shard.get(delivery.shard_id)  # none: it was there, and is deleted after the end of its shard
    return lease is None or lease.is_finished or _reached(lease.checkpoint) >= delivery.records[-1]


def _are_delivered(stored: Sequence[StoredRecord], by_batch: Mapping[str, list[Delivery]]) -> Iterator[str]:
    batches = Counter(
        (times[0].shard_id, position) for times in by_batch.values() for position in times[0].records
    )
    wanted = {(record.shard_id, record.position) for record in stored}
    if lost := wanted - set(batches):
        yield f"{len(lost)} records were never delivered, such as {_some(lost)}"
    if strange := set(batches) - wanted:
        yield f"{len(strange)} records were delivered that are not in the stream, such as {_some(strange)}"
    if shared := [record for record, count in batches.items() if count > 1]:
        yield f"{len(shared)} records are in several batches, such as {_some(shared)}"


def _are_in_order(
    keys: Mapping[tuple[str, Position], str], by_batch: Mapping[str, list[Delivery]]
) -> Iterator[str]:
    """Yield whether the records of a key were committed out of order."""
    last: dict[str, Position] = {}
    for delivery in sorted((times[-1] for times in by_batch.values()), key=_commit_s):
        for position in delivery.records:
            key = keys.get((delivery.shard_id, position))
            if key is not None and last.get(key, (0, 0)) >= position:
                yield f"batch {delivery.batch_id} has records of {key} that are older than committed ones"
                return
            if key is not None:
                last[key] = position


def _commit_s(delivery: Delivery) -> float:
    """Return when the commit began. The next batch cannot be committed before that."""
    return delivery.at_s if delivery.committing_s is None else delivery.committing_s


def _are_checkpointed(stored: Iterable[StoredRecord], by_shard: Mapping[str, Lease]) -> Iterator[str]:
    last: dict[str, Position] = {}
    for record in stored:
        last[record.shard_id] = max(record.position, last.get(record.shard_id, (0, 0)))
    for shard_id, position in last.items():
        lease = by_shard.get(shard_id)  # none: as above, or its records are among those never delivered
        if lease is not None and not lease.is_finished and _reached(lease.checkpoint) < position:
            yield f"the lease of {shard_id} ends at {lease.checkpoint}, before the last record"


def uncommitted(
    stored: Iterable[StoredRecord], deliveries: Iterable[Delivery], leases: Iterable[Lease]
) -> set[tuple[str, Position]]:
    """
    Return the records in the stream that no worker has committed yet, whatever leases there are.

    A shard may have no lease yet: its parent is read, and its worker was killed before it made the leases of the children.
    """
    by_shard = {lease.shard_id: lease for lease in leases}
    committed = {
        (each.shard_id, position)
        for each in deliveries
        if _is_committed(each, by_shard)
        for position in each.records
    }
    return {(record.shard_id, record.position) for record in stored} - committed


def _reached(checkpoint: LeaseCheckpoint) -> Position:
    return (int(checkpoint.number), checkpoint.sub_sequence_number) if checkpoint.is_number else (0, 0)


def repeated_records(deliveries: Iterable[Delivery]) -> int:
    """Return how many records were delivered again, counted each time."""
    times = Counter(delivery.batch_id for delivery in deliveries)
    sizes = {delivery.batch_id: len(delivery.records) for delivery in deliveries}
    return sum((count - 1) * sizes[batch] for batch, count in times.items())


def _some(values: Iterable[object]) -> str:
    return ", ".join(map(str, sorted(values, key=str)[:SHOWN]))
