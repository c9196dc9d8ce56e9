"""Pages of one shard that no batch has yet, and which of them make the next batch."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from kinesis_consumer.delivery.pages import is_full, take_batch, take_up_to
from kinesis_consumer.delivery.positions import OpenBatch
from kinesis_consumer.settings import GroupSettings
from kinesis_core.model import At, ShardOffset
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
