"""How far one range of one shard has been read, whoever brings its pages, and whether all that it names is there."""

from __future__ import annotations

from attrs import define, field

from kinesis_core.cuts import After, At, is_before, is_behind
from kinesis_core.errors import DataLossError
from kinesis_core.logs import get_logger
from kinesis_core.pages import Page, Record
from kinesis_core.ranges import ShardRange

log = get_logger("kinesis_core")

PATIENCE = 50
"""Answers in a row that bring a range no further before its missing end is called data loss."""


@define
class RangeProgress:
    """
    Trims pages to what lies in the range and was not delivered before, and sees that none of the range is lost.

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

    def __attrs_post_init__(self) -> None:
        self.reached = self.range.start

    def take(self, page: Page) -> list[Record]:
        """
        Return what is new on *page*, the next one of the shard.

        Raises:
            DataLossError: A record that the range names is gone (unless `fail_on_data_loss` is off).
        """
        is_last = page.is_shard_end or self._is_end_in(page)
        self._check(page, is_last)
        self.is_done = self.is_done or is_last
        return self._trim(page.records)

    def lose(self, what: str) -> None:
        """
        Go on at the oldest record that is left, because *what*.

        Raises:
            DataLossError: Always, unless `fail_on_data_loss` is off.
        """
        stream, shard = self.range.stream, self.range.shard_id
        if self.fail_on_data_loss:
            raise DataLossError(
                f"Records of this batch are lost: {what}. Set failOnDataLoss=false to go on with what is left. "
                f"[stream={stream} shard={shard} range={self.range.start}..{self.range.end}]"
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
        if not page.records and not is_last:
            self._check_movement(page)

    def _check_first(self, record: Record) -> None:
        if isinstance(self.reached, At) and record.number > self.reached.number:
            self.lose(
                f"record {self.reached.number}, which begins the range, is not there; the oldest left is {record.sequence_number}"
            )

    def _check_movement(self, page: Page) -> None:
        """An empty page is fine while the reading moves through a gap; where it stands still the place is lost."""
        moves = 0 < page.millis_behind < self._behind_ms
        self._idle = 0 if moves else self._idle + 1
        self._behind_ms = page.millis_behind
        if self._idle > self.patience:
            self.lose(f"{self.patience} answers in a row brought no record and no progress")
            self.is_done = self.is_lost  # the oldest record is not to be had either
            self.is_lost, self._idle = True, 0

    def _trim(self, records: list[Record]) -> list[Record]:
        if not records:
            return records
        if not (is_behind(records[0].number, self.reached) and is_before(records[-1].number, self.range.end)):
            records = [
                r
                for r in records
                if is_behind(r.number, self.reached) and is_before(r.number, self.range.end)
            ]
        if records:
            self.reached, self.is_lost = After(records[-1].number), False
        return records


def _contains(records: list[Record], number: int) -> bool:
    return any(record.number == number for record in reversed(records))
