"""How lost records are reported: an error that stops the query, or a warning in the log."""

from __future__ import annotations

from threading import Lock

from attrs import define, field

from kinesis_core.errors import DataLossError
from kinesis_core.model import OPTION_NAMES, AtTimestamp, Cut, Record, ShardOffset, show_time
from kinesis_core.planning.loss import (
    HOUR_MS,
    MARGIN_MS,
    Loss,
    NoProgress,
    OffsetExpired,
    PositionExpired,
    RecordExpired,
)
from kinesis_core.stalls import STALLED_PAGES
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")


@define
class LossReport:
    """Reports the losses of one stream as the user wants it."""

    stream: str
    is_fatal: bool
    """Whether a loss stops the query."""
    start_name: str = OPTION_NAMES[0]
    """What errors call the start of a read."""
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
                f"Shard {shard_id} of {self.stream}: {what}. Expired records do not come back: a longer retention keeps only what "
                "is left. failOnDataLoss=false continues with the oldest record left and skips the expired ones for good. Or start "
                f"with a new checkpoint. [stream={self.stream} shard={shard_id} cut={started.cut}]"
            )
        with self._counting:
            self.count += 1
        log.warning("data.lost", reason=what, stream=self.stream, shard=shard_id, cut=started.cut)

    def report_start(self, shard_id: str, asked: AtTimestamp, left_ms: int, hours: int) -> None:
        """
        Log, once for all shards, that a read starts at a time of which the first records may have expired.

        Those that arrived at *left_ms* or later are certain to be there; *hours* is the retention.

        Raises:
            DataLossError: A loss stops the query.
        """
        asked_at, left = show_time(asked.epoch_ms), show_time(-(-left_ms // 1000) * 1000)
        if self.is_fatal:
            raise DataLossError(
                f"{self.start_name} asks for the records since {asked_at}. Those that arrived before {left} have expired, or may "
                f"have: the retention is {hours} h. Start at TRIM_HORIZON, or at that time or later. failOnDataLoss=false "
                f"starts at the oldest record left. [stream={self.stream} shard={shard_id}]"
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
