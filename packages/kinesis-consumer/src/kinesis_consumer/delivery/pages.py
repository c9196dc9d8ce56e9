"""Pages on their way to a batch: how many make one, and where a batch that was open before ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve

from kinesis_consumer.delivery.batch import Batch, BatchId, BatchOwner
from kinesis_consumer.settings import GroupSettings
from kinesis_core.aggregation import count_user_records
from kinesis_core.leases import LeaseCheckpoint
from kinesis_core.model import After, Page, Record, ShardOffset
from kinesis_core.planning import ShardPage


def size_bytes(pages: Iterable[ShardPage]) -> int:
    """Return the bytes of the data on *pages*."""
    return sum(page.size_bytes for page in pages)


def is_full(pages: Sequence[ShardPage], settings: GroupSettings) -> bool:
    """Return whether *pages* are enough for a batch, so that no further one is needed."""
    records = sum(len(page.page.records) for page in pages)
    return records >= settings.max_batch_records or size_bytes(pages) >= settings.max_batch_bytes


def take_batch(pages: list[ShardPage], settings: GroupSettings) -> list[ShardPage]:
    """Remove the pages of one batch from the front of *pages*, and return them: at least one if there is any."""
    taken: list[ShardPage] = []
    while pages and not is_full(taken, settings):
        left = settings.max_batch_records - sum(len(page.page.records) for page in taken)
        if len(pages[0].page.records) > left:
            pages[:1] = split(pages[0], left)
        taken.append(pages.pop(0))
    return taken


def take_up_to(pages: list[ShardPage], number: int) -> list[ShardPage]:
    """Remove all records up to record *number* from *pages*, and return them."""
    taken: list[ShardPage] = []
    while pages and pages[0].page.records[0].number <= number:
        count = sum(record.number <= number for record in pages[0].page.records)
        if count < len(pages[0].page.records):
            pages[:1] = split(pages[0], count)
        taken.append(pages.pop(0))
    return taken


def split(page: ShardPage, count: int) -> list[ShardPage]:
    """Return *page* as two: the first *count* records, and the rest. Neither is empty."""
    records = page.page.records
    last = records[count - 1]
    middle = ShardOffset(After(last.number), last.arrived_ms, page.end.first, page.end.first_skip)
    return [
        evolve(page, page=Page(records[:count], page.page.millis_behind), end=middle, is_last=False),
        evolve(
            page,
            page=Page(records[count:], page.page.millis_behind),
            start=middle.carried_over(),
            end=evolve(page.end, first=records[count].number, first_skip=0),
        ),
    ]


def build_batch(pages: Sequence[ShardPage], stream: str, shard_id: str, owner: BatchOwner) -> Batch:
    """Return the batch of all records on *pages*. There is at least one."""
    first, last = pages[0].page.records[0], pages[-1].page.records[-1]
    start = LeaseCheckpoint(first.sequence_number, pages[0].end.first_skip)
    return Batch(
        BatchId(stream, shard_id, str(start), last.sequence_number),
        start,
        checkpoint_after(last),
        size_bytes(pages),
        pages,
        owner,
    )


def checkpoint_after(record: Record) -> LeaseCheckpoint:
    """Return the checkpoint after *record*: it names the last user record, as the KCL's do."""
    return LeaseCheckpoint(record.sequence_number, max(0, count_user_records(record.data) - 1))
