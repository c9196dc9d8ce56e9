"""
Whether records expired before they were read, judged from values alone, without a call. Reports a loss by an
error that stops the query, or by a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from attrs import define, field, frozen

from kinesis_core.errors import DataLossError
from kinesis_core.model import (
    HOUR_MS,
    MIN_RETENTION_HOURS,
    After,
    At,
    AtTimestamp,
    Cut,
    Record,
    ShardOffset,
    show_time,
)
from kinesis_core.planning.evidence import Evidence
from kinesis_core.shards import MARGIN_MS, STALLED_PAGES, Expired, Passed, Seen, is_expiring
from kinesis_credentials.advice import Advice, Setting
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")


@frozen
class Doubt:
    """What the planner knows of the records after a cut, where some of them may have expired unread."""

    cut: Cut
    promised_ms: int | None
    """No record after the cut arrived before this time."""
    expected: int | None
    """The first record that was seen after the cut."""
    following: Record | None
    """The very next record after the cut, where it is known."""
    is_stuck: bool
    """Whether reading from the cut brings neither records nor progress."""
    names_seen: bool = False
    """Whether the cut names a record that was in the stream, which arrived at `promised_ms`."""


@frozen
class RecordExpired:
    """A record that was seen and not read has expired."""

    number: int
    oldest: Record | None


@frozen
class OffsetExpired:
    """Records that followed the cut may have left: nothing is known of them since a time before the retention."""

    age_ms: int
    kept_hours: int
    """For how many hours records were certainly kept. The age is below it where only a shorter retention can have expired a record."""
    oldest: Record | None


@frozen
class NoProgress:
    """Pages after the cut stay empty, the tip comes no closer, and records after the cut may have left."""

    age_ms: int | None
    retention_hours: int
    oldest: Record | None


@frozen
class PositionExpired:
    """The record that a saved position names is gone. Records after it may have left, too."""

    number: int
    oldest: Record | None


Loss = RecordExpired | OffsetExpired | NoProgress | PositionExpired


def find_doubt(
    promised: ShardOffset,
    end: ShardOffset,
    evidence: Evidence,
    target: ShardOffset | None,
    *,
    is_old: bool,
    is_stuck: bool,
    at_tip: bool,
) -> Doubt | None:
    """
    Return the doubt that a plan from *promised* to *end* leaves; None where nothing can be lost.

    *target* is an end that was seen in the shard. *is_old* means that records may have expired by the time that the offset carries,
    *is_stuck* that reading from its cut makes no progress, *at_tip* that the plan reached the tip.
    """
    cut, expected = promised.cut, evidence.first_known(promised.cut, target)
    if (
        (is_stuck and promised.arrived_ms is None)
        or _may_miss(cut, end, evidence, expected, is_old=is_old, at_tip=at_tip)
        or _is_unchecked(promised, end, evidence, at_tip=at_tip)
    ):
        following, names_seen = evidence.next_record(cut), promised.names_seen_record
        return Doubt(cut, promised.arrived_ms, expected, following, is_stuck, names_seen)
    return None


def _may_miss(
    cut: Cut, end: ShardOffset, evidence: Evidence, expected: int | None, *, is_old: bool, at_tip: bool
) -> bool:
    """Return whether records may be lost between *cut* and *end*. *expected* is the first record seen after the cut."""
    if end.cut == cut:
        return is_old or (expected is not None and at_tip)
    if end.first is not None and end.first == evidence.next_number(cut):
        return False
    # A plan from the oldest record may miss those that expire before it is made: nothing else was promised.
    is_missing = (
        isinstance(cut, (At, After))
        and expected is not None
        and end.first is not None
        and end.first > expected
    )
    return is_missing or is_old


def _is_unchecked(promised: ShardOffset, end: ShardOffset, evidence: Evidence, *, at_tip: bool) -> bool:
    """
    Return whether nobody has looked yet for the record that a start names, and where a plan to *end* found nothing at the tip.

    It was seen once. If it never was in the shard, the number is ahead of all records, and those that come next would be skipped.
    """
    cut = promised.cut
    if not (isinstance(cut, (At, After)) and promised.names_seen_record):
        return False
    return end.cut == cut and at_tip and (evidence.newest or 0) < cut.number


def judge(doubt: Doubt, found: Seen, kept_hours: Callable[[], int], now_ms: Callable[[], int]) -> Loss | None:
    """
    Return what is lost, or may be, given whether the record of the doubt was *found*; None when nothing is.

    Records were certainly kept for the last *kept_hours*, as far as anybody saw. A record that was seen and is gone shows that the
    retention was shorter, whatever anybody saw.
    """
    if not isinstance(found, Expired):
        return None
    oldest = found.oldest
    if oldest is None and doubt.expected is not None:
        return RecordExpired(doubt.expected, None)
    hours, at_ms = kept_hours(), now_ms()
    age_ms = None if doubt.promised_ms is None else at_ms - doubt.promised_ms
    is_old = is_expiring(doubt.promised_ms, at_ms, MIN_RETENTION_HOURS if doubt.names_seen else hours)
    if oldest is not None and _is_first(oldest, doubt):
        return None
    if doubt.names_seen and isinstance(doubt.cut, At):
        return RecordExpired(doubt.cut.number, oldest)
    if is_old and age_ms is not None:
        return OffsetExpired(age_ms, hours, oldest)
    if doubt.expected is not None and (oldest is None or oldest.number > doubt.expected):
        return RecordExpired(doubt.expected, oldest)
    if doubt.is_stuck and isinstance(doubt.cut, (At, After)):
        return NoProgress(age_ms, hours, oldest)  # from a time, Kinesis finds the oldest record by itself
    return None


def judge_position(
    number: int, found: Passed | Expired, created_ms: int, now_ms: int
) -> PositionExpired | None:
    """
    Return the loss after the record *number*, which a saved position names and the shard does not have; None where nothing is lost.

    It need not be the number of a record, as long as an older one is left: that one would expire first. Where nothing is left, records
    may have come and gone, unless the stream, which was created at *created_ms*, is too young for that.
    """
    is_kept = found.oldest is None and not is_expiring(created_ms, now_ms, MIN_RETENTION_HOURS)
    return None if is_kept or isinstance(found, Passed) else PositionExpired(number, found.oldest)


def _is_first(oldest: Record, doubt: Doubt) -> bool:
    """Return whether no record can have been between the cut, whose own record is gone, and the *oldest* one that is left."""
    if doubt.following is not None and oldest.number <= doubt.following.number:
        return True
    is_before = oldest.arrived_ms is not None and oldest.arrived_ms < (doubt.promised_ms or 0)
    return is_before and not isinstance(doubt.cut, (At, After))


@define
class LossReport:
    """Reports the losses of one stream as the user wants it."""

    stream: str
    is_fatal: bool
    """Whether a loss stops the query."""
    count: int = field(default=0, init=False)
    """How many losses were logged since the query started."""
    _expired_starts: set[AtTimestamp] = field(factory=set, init=False)
    _counting: Lock = field(factory=Lock, init=False, repr=False)  # shards are planned in several threads

    def report(self, shard_id: str, started: ShardOffset, what: str) -> None:
        """
        Log that records after *started* are lost: *what* is a clause that says how.

        Raises:
            DataLossError: A loss stops the query.
        """
        if self.is_fatal:
            raise DataLossError(
                f"Shard {shard_id} of {self.stream}: {what}. Expired records do not come back: a longer retention only keeps "
                "the remaining records.",
                advice=Advice.SKIP_LOST,
                stream=self.stream,
                shard=shard_id,
                cut=started.cut,
            )
        with self._counting:
            self.count += 1
        log.warning("data.lost", reason=what, stream=self.stream, shard=shard_id, cut=started.cut)

    def report_start(self, shard_id: str, asked: AtTimestamp, left_ms: int, hours: int) -> None:
        """
        Log, once for all shards, that a read starts at a time whose first records may have expired.

        Those that arrived at *left_ms* or later are certain to be there; *hours* is the retention.

        Raises:
            DataLossError: A loss stops the query.
        """
        asked_at, left = show_time(asked.epoch_ms), show_time(-(-left_ms // 1000) * 1000)
        if self.is_fatal:
            raise DataLossError(
                f"asks for the records since {asked_at}. Those that arrived before {left} have expired, or may have: the retention "
                f"is {hours} h.",
                about=Setting.START,
                advice=Advice.SKIP_EXPIRED,
                stream=self.stream,
                shard=shard_id,
            )
        with self._counting:
            if asked in self._expired_starts:
                return
            self._expired_starts.add(asked)
            self.count += 1
        log.warning("start.expired", stream=self.stream, asked=asked_at, left=left, retention_hours=hours)


def describe(loss: Loss, cut: Cut) -> str:
    """Return a clause that says what is lost after *cut*."""
    match loss:
        case RecordExpired(number, oldest):
            return f"record {number} expired before it was read, and {_left(oldest)}"
        case PositionExpired(number, oldest):
            may = "" if oldest else "records after it may have expired before they were read, "
            return f"record {number} is not in the shard, {may}and {_left(oldest)}"
        case OffsetExpired(age_ms, hours, oldest):
            # Only a record that is gone says so: the retention was shorter for a while.
            is_early = age_ms < hours * HOUR_MS - MARGIN_MS
            hint = ", but that record has expired" if is_early else ""
            return (
                f"records after {cut} ({_age(age_ms)}retention {hours} h{hint}) may have expired before they were read, "
                f"and {_left(oldest)}"
            )
        case NoProgress(age_ms, hours, oldest):
            return (
                f"GetRecords returned {STALLED_PAGES} empty pages without progress after {cut} ({_age(age_ms)}retention {hours} h), "
                f"and {_left(oldest)}: records expired"
            )


def _age(age_ms: int | None) -> str:
    return "" if age_ms is None else f"age {round(age_ms / HOUR_MS, 1):g} h, "


def _left(oldest: Record | None) -> str:
    return "no record is left" if oldest is None else f"the oldest record left is {oldest.sequence_number}"
