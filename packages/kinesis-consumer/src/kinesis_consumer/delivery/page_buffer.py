"""Pages of one shard that no batch has yet, and which of them make the next batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attrs import define, evolve, field

from kinesis_consumer.delivery.batch import Batch, BatchId, BatchOwner
from kinesis_consumer.leases import OpenBatch
from kinesis_consumer.settings import GroupSettings
from kinesis_core.aggregation import count_user_records
from kinesis_core.leases import LeaseCheckpoint
from kinesis_core.model import After, At, Page, Record, ShardOffset
from kinesis_core.planning import ShardPage


@define
class PageBuffer:
    """
    Pages of one shard, in order. Not thread-safe.

    If an earlier worker delivered a batch and did not commit it, the first batch is that one, with the same records.
    """

    settings: GroupSettings
    replayed: OpenBatch | None = None
    """The batch that an earlier worker did not commit, until it was taken."""
    is_ended: bool = field(default=False, init=False)
    """Whether the shard is closed, and its last page was added."""
    _pages: list[ShardPage] = field(factory=list, init=False)
    _is_at_tip: bool = field(default=False, init=False)

    def add(self, page: ShardPage) -> None:
        """Add the page that follows the last one."""
        self.is_ended, self._is_at_tip = page.is_last, page.is_tip
        if page.page.records:
            self._pages.append(page)

    @property
    def has_pages(self) -> bool:
        return bool(self._pages)

    @property
    def has_room(self) -> bool:
        """Whether another page may be added."""
        return not self.is_ended and (self.replayed is not None or not is_full(self._pages, self.settings))

    @property
    def lacks_pages(self) -> bool:
        """Whether pages of the batch that was open before are still to come."""
        if self.replayed is None or self.is_ended or self._is_at_tip:
            return False
        return not self._pages or self._newest < self.replayed.last

    def take(self, report_lost: Callable[[ShardOffset, str], None]) -> list[ShardPage]:
        """
        Remove the pages of the next batch, and return them; an empty list if they are not there yet.

        *report_lost* is called if records of the batch that was open before have expired. What is left is then the next batch.
        """
        if self.lacks_pages:
            return []
        replayed, self.replayed = self.replayed, None
        if replayed is None:
            return take_batch(self._pages, self.settings)
        first = self._pages[0].page.records[0].number if self._pages else None
        if first != int(replayed.first.number) or self._newest < replayed.last:
            what = f"records up to {replayed.last} of a batch that was not committed have expired"
            report_lost(ShardOffset(At(int(replayed.first.number))), what)
            return take_batch(self._pages, self.settings)
        return take_up_to(self._pages, replayed.last)

    @property
    def _newest(self) -> int:
        return self._pages[-1].page.records[-1].number if self._pages else 0


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
