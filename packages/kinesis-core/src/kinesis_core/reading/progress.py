"""How far one range of one shard has been read, by polling or fan-out, and whether any of its records expired."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from attrs import define, field
from msgspec import Struct

from kinesis_core.errors import DataLossError
from kinesis_core.model import (
    MIN_RETENTION_HOURS,
    After,
    At,
    Cut,
    Page,
    Record,
    ShardEnd,
    ShardRange,
    TrimHorizon,
    drop_before,
    is_before,
)
from kinesis_core.shards import NO_GAP, STALLED_PAGES, CallCounts, Gap, is_expiring
from kinesis_credentials import Advice
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

NEAR_MS = 30 * 60_000
"""A record this close to the end of its retention may expire between two pages."""


@define
class RangeProgress:
    """
    Trims pages to the records of the range that were not delivered before, and detects records that expired unread.

    A page has no gap in it, but records may expire between two pages. They did not if the last record of the earlier page
    is still in the stream after the later page was read: Kinesis trims a shard from its oldest record on.

    Attributes:
        reached: The cut to continue from.
        is_done: Whether the range is read to its end.
        is_lost: Whether records after `reached` expired, so that reading continues at the oldest record.
        is_stalled: Whether the last page was one too many without records or progress, so that one has to look why.
        is_moving: Whether the last page had records, or was closer to the tip than the one before.
        gap: The empty pages that were taken last. At the tip as well, because the range has more records.
        counts: How many calls the range took so far, for the log.
    """

    range: ShardRange
    fail_on_data_loss: bool
    max_idle_pages: int = STALLED_PAGES
    reached: At | After = field(init=False)
    is_done: bool = field(default=False, init=False)
    is_lost: bool = field(default=False, init=False)
    is_stalled: bool = field(default=False, init=False)
    is_moving: bool = field(default=True, init=False)
    gap: Gap = field(default=NO_GAP, init=False)
    counts: CallCounts = field(factory=CallCounts, init=False)
    _proven: _LastRecord | None = field(default=None, init=False)
    """The last record up to which no record of the range is missing; None before the first page."""
    _taken: _LastRecord | None = field(default=None, init=False)
    """The last record that was taken since then; None when there is nothing to prove."""

    def __attrs_post_init__(self) -> None:
        self.reached = self.range.start
        if isinstance(self.reached, After):
            self._proven = _LastRecord(self.reached.number, None)

    @property
    def next_cut(self) -> Cut:
        """The cut from which a new iterator or subscription reads."""
        return TrimHorizon() if self.is_lost else self.reached

    def take(self, page: Page) -> None:
        """
        Trim *page*, the next one of the shard, to the records of the range that are new.

        Raises:
            DataLossError: Records of the range expired (unless `fail_on_data_loss` is off).
        """
        is_last = page.is_shard_end or self._is_end_in(page)
        self.is_stalled = False
        self._check(page, is_last)
        self.is_done = self.is_done or is_last
        self._trim(page, is_last)

    def to_prove(self, now_ms: int) -> int | None:
        """
        Return the number of the record that must still be in the stream, or else records between two pages may be lost.

        None when there is nothing to prove. Near the end of the retention each page is proven. Otherwise only the end of the
        range is, because the retention may be lowered during the read (never below 24 hours), or the arrival time is not known.
        """
        if self._proven is None or self._taken is None:
            return None
        hours = MIN_RETENTION_HOURS if self.is_done else self.range.retention_hours
        arrived_ms = self._proven.arrived_ms
        is_due = is_expiring(arrived_ms, now_ms, hours, NEAR_MS) or (arrived_ms is None and self.is_done)
        return self._proven.number if is_due else None

    def prove(self, *, is_left: bool) -> None:
        """
        Take in whether the record of `to_prove` is still in the stream.

        Raises:
            DataLossError: It is not, so records between it and the last one taken may be lost (unless `fail_on_data_loss`
                is off).
        """
        if self._proven is not None and self._taken is not None:
            if not is_left:
                self.lose(
                    f"record {self._proven.number} expired while the batch was read, so records after it may be lost"
                )
            self._proven, self._taken = self._taken, None

    def lose(self, reason: str) -> None:
        """
        Report that records of the range are lost.

        Raises:
            DataLossError: Always, unless `fail_on_data_loss` is off; then the loss is logged, once until records come.
        """
        stream, shard = self.range.stream, self.range.shard_id
        if self.fail_on_data_loss:
            raise DataLossError(
                f"Shard {shard} of {stream}: {reason} (retention {self.range.retention_hours} h). The batch cannot be read as a "
                "whole any more: a longer retention brings no record back. It only keeps the remaining records.",
                advice=Advice.SKIP_LOST_IN_BATCH,
                start=self.range.start,
                end=self.range.end,
                reached=self.reached,
            )
        if not self.is_lost:
            log.warning("data.lost", reason=reason, stream=stream, shard=shard)

    def _is_end_in(self, page: Page) -> bool:
        end = self.range.end
        return isinstance(end, (At, After)) and bool(page.records) and page.records[-1].number >= end.number

    def _check(self, page: Page, is_last: bool) -> None:
        """Check that the first and last record of the range exist, and that empty pages make progress."""
        end, before, self.gap = self.range.end, self.gap, self.gap.after(page)
        self.is_moving = self.gap.stalled_pages <= before.stalled_pages
        oldest = page.records[0].number if page.records else 0
        if isinstance(self.reached, At) and oldest > self.reached.number:
            self.lose(
                f"records from {self.reached} expired before they were read, and the oldest record left is {oldest}"
            )
        elif is_last and isinstance(end, (At, After)) and not _contains(page.records, end.number):
            self.lose(f"records up to {end} expired before they were read")
        elif is_last and isinstance(end, ShardEnd) and not page.records:
            self._check_end()
        elif not page.records and not is_last:
            self._check_movement(page)

    def _check_end(self) -> None:
        """Check a page that ends the shard without a record: the records before the end may have expired."""
        if isinstance(self.reached, At):
            self.lose(f"records from {self.reached} expired before they were read, and no record is left")
        elif self._taken is None:
            self._taken = self._proven

    def _check_movement(self, page: Page) -> None:
        """Look whether empty pages come no nearer to the tip. The next records may have expired where there are many."""
        if self.gap.stalled_pages % self.max_idle_pages == 0:
            self.is_done = self.is_lost and not page.is_in_gap  # after the loss no record is left either
            self.is_stalled = not self.is_done

    def lose_stalled(self) -> None:
        """
        Report that the records after `reached` expired, which is why pages stay empty.

        Raises:
            DataLossError: As for `lose`.
        """
        self.lose(
            f"{self.gap.stalled_pages} empty pages in a row made no progress from {self.reached}, and its record is gone, so the records "
            "expired"
        )
        self.is_lost, self.gap, self._proven, self._taken = True, NO_GAP, None, None

    def _trim(self, page: Page, is_last: bool) -> None:
        if is_last:
            end = _find(page.records, lambda number: not is_before(number, self.range.end))
            page.records = page.records[:end]
        drop_before(page, self.reached)
        if page.records:
            record = page.records[-1]
            last = _LastRecord(record.number, record.arrived_ms)
            self.reached, self.is_lost = After(last.number), False
            if self._proven is None:
                self._proven = last  # the first page begins with the record that begins the range
            else:
                self._taken = last


class _LastRecord(Struct, frozen=True):
    """The last record of a page, and its arrival time if it is known."""

    number: int
    arrived_ms: int | None


def _find(records: Sequence[Record], is_reached: Callable[[int], bool]) -> int:
    """Return the index of the first record whose number fulfils *is_reached*. Numbers increase, and later ones fulfil it, too."""
    return bisect_left(records, True, key=lambda record: is_reached(record.number))


def _contains(records: Sequence[Record], number: int) -> bool:
    index = _find(records, lambda found: found >= number)
    return index < len(records) and records[index].number == number
