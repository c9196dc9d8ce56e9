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
    """Yield what is wrong; nothing if all promises are kept. The producer has written the first *numbers* numbers."""
    by_batch: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in sorted(deliveries, key=lambda delivery: delivery.at_s):
        by_batch[delivery.batch_id].append(delivery)
    yield from _of_stream(stored, numbers)
    for check in (_have_equal_records, _are_committed_once):
        for batch, times in by_batch.items():
            yield from check(batch, times)
    yield from _are_delivered(stored, by_batch)
    keys = {(record.shard_id, record.position): record.key for record in stored if not record.is_misrouted}
    yield from _are_in_order(keys, by_batch)
    yield from _are_checkpointed(stored, leases)


def _of_stream(stored: Sequence[StoredRecord], numbers: int) -> Iterator[str]:
    missing = set(range(numbers)) - {record.number for record in stored if not record.is_misrouted}
    if missing:
        yield f"the producer lost {len(missing)} records, such as {_some(missing)}"


def _have_equal_records(batch: str, times: Sequence[Delivery]) -> Iterator[str]:
    if len({(each.records, each.numbers) for each in times}) > 1:
        yield f"batch {batch} had different records at different times"


def _are_committed_once(batch: str, times: Sequence[Delivery]) -> Iterator[str]:
    """Yield whether a batch was delivered after its commit, or never committed. Only the last delivery may be committed."""
    if any(each.outcome == "committed" for each in times[:-1]):
        yield f"batch {batch} was delivered again after it was committed"
    if times[-1].outcome == "dropped":
        yield f"batch {batch} was never committed, and is not delivered again"


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


def _are_checkpointed(stored: Sequence[StoredRecord], leases: Iterable[Lease]) -> Iterator[str]:
    for lease in unread(last_positions(stored), leases):
        yield f"the lease of {lease.shard_id} ends at {lease.checkpoint}, before the last record"


def last_positions(stored: Iterable[StoredRecord]) -> dict[str, Position]:
    """Return the last record of each shard that has records."""
    last: dict[str, Position] = {}
    for record in stored:
        last[record.shard_id] = max(record.position, last.get(record.shard_id, (0, 0)))
    return last


def unread(last: Mapping[str, Position], leases: Iterable[Lease]) -> list[Lease]:
    """Return the leases that have not reached the *last* records of their shards."""
    return [
        lease
        for lease in leases
        if not lease.is_finished and _reached(lease.checkpoint) < last.get(lease.shard_id, (0, 0))
    ]


def _reached(checkpoint: LeaseCheckpoint) -> Position:
    return (int(checkpoint.number), checkpoint.sub_sequence_number) if checkpoint.is_number else (0, 0)


def repeated_records(deliveries: Iterable[Delivery]) -> int:
    """Return how many records were delivered again, counted each time."""
    times = Counter(delivery.batch_id for delivery in deliveries)
    sizes = {delivery.batch_id: len(delivery.records) for delivery in deliveries}
    return sum((count - 1) * sizes[batch] for batch, count in times.items())


def _some(values: Iterable[object]) -> str:
    return ", ".join(map(str, sorted(values, key=str)[:SHOWN]))
