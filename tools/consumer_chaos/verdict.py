"""What the journals of all workers, the stream and the writes to the table of leases must say together."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from attrs import frozen

from kinesis_core.leases import Lease
from tools.consumer_chaos.journal import Delivery, Position

SHOWN = 3
Written = Mapping[str, Sequence[Lease]]
"""The leases of each shard as they were written, in this order. It has a lease for each checkpoint at least."""
END: Position = (10**128, 0)
"""Behind all records of a shard."""


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
    stored: Sequence[StoredRecord], numbers: int, deliveries: Sequence[Delivery], written: Written
) -> Iterator[str]:
    """
    Yield what is wrong; nothing if all promises are kept. The producer has written the first *numbers* numbers.

    The workers have had time to commit everything: see `uncommitted`.
    """
    by_batch: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in sorted(deliveries, key=lambda delivery: delivery.at_s):
        by_batch[delivery.batch_id].append(delivery)
    yield from _of_stream(stored, numbers)
    for batch, times in by_batch.items():
        yield from _have_equal_records(batch, times)
        yield from _are_committed_once(batch, times, written)
        yield from _are_reported(batch, times, written)
    yield from _are_delivered(stored, by_batch)
    keys = {(record.shard_id, record.position): record.key for record in stored if not record.is_misrouted}
    yield from _are_in_order(keys, by_batch)
    yield from _are_checkpointed(stored, written)


def _of_stream(stored: Sequence[StoredRecord], numbers: int) -> Iterator[str]:
    missing = set(range(numbers)) - {record.number for record in stored if not record.is_misrouted}
    if missing:
        yield f"the producer lost {len(missing)} records, such as {_some(missing)}"


def _have_equal_records(batch: str, times: Sequence[Delivery]) -> Iterator[str]:
    if len({(each.records, each.numbers) for each in times}) > 1:
        yield f"batch {batch} had different records at different times"


def _are_committed_once(batch: str, times: Sequence[Delivery], written: Written) -> Iterator[str]:
    """Yield whether a batch was delivered after its commit, or never committed. Only the last delivery may be committed."""
    *earlier, last = times
    if any(
        each.outcome == "committed" or (each.worker != last.worker and _is_committed(each, written))
        for each in earlier
    ):
        yield f"batch {batch} was delivered again after it was committed"
    if not _is_committed(last, written):
        yield (
            f"batch {batch} was never committed, and is not delivered again: "
            f"the last outcome of {last.worker} is {last.outcome!r}"
        )


def _are_reported(batch: str, times: Sequence[Delivery], written: Written) -> Iterator[str]:
    """
    Yield whether a worker was told something else of its commit than the table says.

    If it was killed meanwhile, it was told nothing. It may be told that nobody knows.
    """
    for last in {each.worker: each for each in times}.values():
        is_committed = _is_committed(last, written)
        if last.outcome not in {"committing", "unconfirmed"} and is_committed != (
            last.outcome == "committed"
        ):
            says = "committed" if is_committed else "not committed"
            yield f"batch {batch} is {says} by the table, but {last.worker} was told {last.outcome!r}"


def _is_committed(delivery: Delivery, written: Written) -> bool:
    """Return whether the worker of *delivery* wrote the first checkpoint that is not before its end."""
    leases = written.get(delivery.shard_id, ())
    index = bisect_left(leases, delivery.records[-1], key=_reached)
    return index < len(leases) and leases[index].actual_owner == delivery.worker


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


def _are_checkpointed(stored: Iterable[StoredRecord], written: Written) -> Iterator[str]:
    for shard_id, leases in written.items():
        for before, after in pairwise(leases):
            if _reached(after) < _reached(before):
                yield f"the lease of {shard_id} went back from {before.checkpoint} to {after.checkpoint}"
    last: dict[str, Position] = {}
    for record in stored:
        last[record.shard_id] = max(record.position, last.get(record.shard_id, (0, 0)))
    for shard_id, position in last.items():
        if shard_id in written and _reached(written[shard_id][-1]) < position:
            yield f"the lease of {shard_id} ends at {written[shard_id][-1].checkpoint}, before the last record"
        # without a lease its records are among those never delivered


def uncommitted(
    stored: Iterable[StoredRecord], deliveries: Iterable[Delivery], written: Written
) -> set[tuple[str, Position]]:
    """
    Return the records in the stream that no worker has committed yet, whatever leases there are.

    A shard may have no lease yet: its parent is read, and its worker was killed before it made the leases of the children.
    """
    committed = {
        (each.shard_id, position)
        for each in deliveries
        if _is_committed(each, written)
        for position in each.records
    }
    return {(record.shard_id, record.position) for record in stored} - committed


def _reached(lease: Lease) -> Position:
    checkpoint = lease.checkpoint
    if checkpoint.is_shard_end:
        return END
    return (int(checkpoint.number), checkpoint.sub_sequence_number) if checkpoint.is_number else (0, 0)


def repeated_records(deliveries: Iterable[Delivery]) -> int:
    """Return how many records were delivered again, counted each time."""
    times = Counter(delivery.batch_id for delivery in deliveries)
    sizes = {delivery.batch_id: len(delivery.records) for delivery in deliveries}
    return sum((count - 1) * sizes[batch] for batch, count in times.items())


def _some(values: Iterable[object]) -> str:
    return ", ".join(map(str, sorted(values, key=str)[:SHOWN]))
