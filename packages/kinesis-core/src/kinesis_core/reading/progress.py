"""How far one range of one shard has been read, whoever brings its pages, and whether all that it names is there."""

from __future__ import annotations

from attrs import define, field, frozen

from kinesis_core.errors import DataLossError
from kinesis_core.logs import get_logger
from kinesis_core.model import (
    MIN_RETENTION_HOURS,
    After,
    At,
    Page,
    Record,
    ShardEnd,
    ShardRange,
    is_after,
    is_before,
)

log = get_logger("kinesis_core")

PATIENCE = 50
"""Responses in a row that bring a range no further before its missing end is called data loss."""
NEAR_MS = 30 * 60_000
"""A record this close to the end of its retention may leave the stream between two pages."""
_HOUR_MS = 3_600_000


@define
class RangeProgress:
    """
    Trims pages to what lies in the range and was not delivered before, and sees that none of the range is lost.

    A page has no gap in it. Between two pages records may leave the stream unread. That did not happen if the last record
    of the earlier page is still in the stream after the later page came: Kinesis trims a shard from its oldest record on.

    Attributes:
        reached: Where to go on.
        is_done: Whether nothing of the range is left to read.
        is_lost: Whether there is no way on from `reached`, so that reading goes on at the oldest record.
    """

    range: ShardRange
    fail_on_data_loss: bool
    patience: int = PATIENCE
    reached: At | After = field(init=False)
    is_done: bool = field(default=False, init=False)
    is_lost: bool = field(default=False, init=False)
    _idle: int = field(default=0, init=False)
    _behind_ms: int = field(default=-1, init=False)
    _proven: _Place | None = field(default=None, init=False)
    """The last record up to which nothing of the range is missing; None before the first page."""
    _taken: _Place | None = field(default=None, init=False)
    """The last record that was taken since; None when there is nothing to prove."""

    def __attrs_post_init__(self) -> None:
        self.reached = self.range.start
        if isinstance(self.reached, After):
            self._proven = _Place(self.reached.number, None)

    def take(self, page: Page) -> list[Record]:
        """
        Return what is new on *page*, the next one of the shard.

        Raises:
            DataLossError: A record that the range names is gone (unless `fail_on_data_loss` is off).
        """
        is_last = page.is_shard_end or self._is_end_in(page)
        self._check(page, is_last)
        self.is_done = self.is_done or is_last
        records = self._trim(page.records)
        self._note_taken(records)
        return records

    def to_prove(self, now_ms: int) -> int | None:
        """
        Return the record that must still be in the stream at *now_ms*, else records between two pages may be lost.

        None when there is nothing to prove yet. Near the retention each page is proven. Otherwise only the end of the range
        is: somebody may lower the retention meanwhile, though never below 24 hours, or the time of the record is not known.
        """
        if self._proven is None or self._taken is None:
            return None
        hours = MIN_RETENTION_HOURS if self.is_done else self.range.retention_hours
        may_leave_ms = now_ms - hours * _HOUR_MS + NEAR_MS
        arrived_ms = self._proven.arrived_ms
        is_due = self.is_done if arrived_ms is None else arrived_ms < may_leave_ms
        return self._proven.number if is_due else None

    def prove(self, *, is_left: bool) -> None:
        """
        Note whether the record of `to_prove` is still in the stream.

        Raises:
            DataLossError: It is not, so records between it and the last one taken may be lost (unless `fail_on_data_loss`
                is off).
        """
        if self._proven is not None and self._taken is not None:
            if not is_left:
                self.lose(f"the records after {self._proven.number} have begun to leave the stream")
            self._proven, self._taken = self._taken, None

    def lose(self, what: str) -> None:
        """
        Go on at the oldest record that is left, because *what*.

        Raises:
            DataLossError: Always, unless `fail_on_data_loss` is off.
        """
        stream, shard = self.range.stream, self.range.shard_id
        if self.fail_on_data_loss:
            raise DataLossError(
                f"Records of this batch may be lost: {what}. The batch cannot be read again as a whole. Raise the stream's "
                "retention, so that no more is lost. Then run the query with failOnDataLoss=false until the batch is done: that "
                "reads what is left of the batch, and skips only what is gone. "
                f"[stream={stream} shard={shard} from={self.range.start} to={self.range.end} reached={self.reached} "
                f"retention_hours={self.range.retention_hours}]"
            )
        log.warning("data.lost", reason=what, stream=stream, shard=shard)

    def _is_end_in(self, page: Page) -> bool:
        end = self.range.end
        return isinstance(end, (At, After)) and bool(page.records) and page.records[-1].number >= end.number

    def _check(self, page: Page, is_last: bool) -> None:
        """See that the records which the range names are really there, and that reading gets on."""
        end = self.range.end
        if page.records:
            self._idle, self._behind_ms = 0, -1
            self._check_first(page.records[0])
        if is_last and isinstance(end, (At, After)) and not _contains(page.records, end.number):
            self.lose(f"record {end.number}, which ends the range, is not there")
        elif is_last and isinstance(end, ShardEnd) and not page.records:
            self._check_end()
        if not page.records and not is_last:
            self._check_movement(page)

    def _check_first(self, record: Record) -> None:
        if isinstance(self.reached, At) and record.number > self.reached.number:
            self.lose(
                f"record {self.reached.number}, which begins the range, is not there; the oldest left is {record.sequence_number}"
            )

    def _check_end(self) -> None:
        """The page of a shard's end has no record: what came before it may have left the stream."""
        if isinstance(self.reached, At):
            self.lose(
                f"record {self.reached.number}, which begins the range, is not there, and nothing is left"
            )
        elif self._taken is None:
            self._taken = self._proven

    def _check_movement(self, page: Page) -> None:
        """An empty page is fine while the reading moves through a gap; where it stands still the place is lost."""
        moves = 0 < page.millis_behind < self._behind_ms
        self._idle = 0 if moves else self._idle + 1
        self._behind_ms = page.millis_behind
        if self._idle > self.patience:
            self.lose(f"{self.patience} answers in a row brought no record and no progress")
            self.is_done = self.is_lost  # the oldest record is not to be had either
            self.is_lost, self._idle = True, 0

    def _note_taken(self, records: list[Record]) -> None:
        if records:
            last = _Place(records[-1].number, records[-1].arrived_ms)
            if self._proven is None:
                self._proven = last  # the first page begins with the record that begins the range
            else:
                self._taken = last

    def _trim(self, records: list[Record]) -> list[Record]:
        if not records:
            return records
        if not (is_after(records[0].number, self.reached) and is_before(records[-1].number, self.range.end)):
            records = [
                r for r in records if is_after(r.number, self.reached) and is_before(r.number, self.range.end)
            ]
        if records:
            self.reached, self.is_lost = After(records[-1].number), False
        return records


@frozen
class _Place:
    """A record, and when it arrived, if that is known."""

    number: int
    arrived_ms: int | None


def _contains(records: list[Record], number: int) -> bool:
    return any(record.number == number for record in reversed(records))
