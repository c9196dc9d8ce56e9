"""
Progress: how far the planner has come in one shard, as values and as pure functions from one value to the next.

    Unknown, Idle, Behind, InGap, Ended     `after_page`: a page was read
    Ended -> Unknown                        `in_doubt`: records may be lost, so the end proves nothing yet
    any -> Gone                             Kinesis no longer knows the shard
    any -> AfterLoss                        `lose`: records after a cut are lost, and reading continues at the oldest record

`AfterLoss` is never left. It holds the progress since, which changes as before; another loss replaces it.

The offset decides from which cut a plan starts. `Idle`, `InGap` and `Ended` name a cut, and say nothing of plans from another one.
Each page makes a new value, so these are msgspec structs, which cost a seventh of attrs classes to make.
"""

from __future__ import annotations

from msgspec import Struct

from kinesis_core.model import After, Cut, Page, ShardEnd, TrimHorizon
from kinesis_core.shards import NO_GAP, Gap


class Unknown(Struct, frozen=True, gc=False):
    """No page was read yet."""


class Gone(Struct, frozen=True, gc=False):
    """Kinesis no longer knows the shard. Records after *cut* that leave with it were reported, where that is a loss."""

    cut: Cut


class Idle(Struct, frozen=True, gc=False):
    """A page proved that the shard is open and that no record followed *cut*."""

    cut: Cut


class Behind(Struct, frozen=True, gc=False):
    """The last page had records, and more may follow."""

    lag_ms: int
    """`MillisBehindLatest` of that page."""


class InGap(Struct, frozen=True, gc=False):
    """The last page after *cut* was empty, and the tip is further on."""

    cut: Cut
    gap: Gap


class Ended(Struct, frozen=True, gc=False):
    """The shard is closed, and no record follows *cut*. After a page with records it is SHARD_END."""

    cut: Cut


ReadingProgress = Unknown | Gone | Idle | Behind | InGap | Ended


class AfterLoss(Struct, frozen=True, gc=False):
    """Records after *cut* are lost, and that was reported: plans from it read the oldest record. *rest* is the progress since."""

    cut: Cut
    rest: ReadingProgress


Progress = ReadingProgress | AfterLoss


def after_page(progress: Progress, cut: Cut, page: Page, *, at_tip: bool) -> Progress:
    """Return the progress after *page*, which was read from *cut*; *at_tip* is what `is_tip` of the shards says of it."""
    match progress:
        case AfterLoss(lost, rest):
            return AfterLoss(lost, _after_page(rest, cut, page, at_tip))
        case _:
            return _after_page(progress, cut, page, at_tip)


def _after_page(progress: ReadingProgress, cut: Cut, page: Page, at_tip: bool) -> ReadingProgress:
    if page.is_shard_end:
        return Ended(ShardEnd() if page.records else cut)
    if at_tip:
        return Idle(After(page.records[-1].number) if page.records else cut)
    if page.records:
        return Behind(page.millis_behind)
    known = progress.gap if isinstance(progress, InGap) and progress.cut == cut else NO_GAP
    return InGap(cut, known.after(page))


def lose(progress: Progress, cut: Cut) -> AfterLoss:
    """Return the progress once the loss of records after *cut* is reported."""
    return AfterLoss(cut, reading(progress))


def in_doubt(progress: Progress) -> Progress:
    """Return the progress while records may be lost: the rest of a loss looks like a shard that has ended."""
    match progress:
        case Ended():
            return Unknown()
        case AfterLoss(cut, Ended()):
            return AfterLoss(cut, Unknown())
        case _:
            return progress


def reading(progress: Progress) -> ReadingProgress:
    """Return the progress without the loss that it may carry."""
    return progress.rest if isinstance(progress, AfterLoss) else progress


def reads_from(progress: Progress, cut: Cut) -> Cut:
    """Return the cut to read from where the offset has *cut*."""
    return TrimHorizon() if is_lost(progress, cut) else cut


def is_lost(progress: Progress, cut: Cut) -> bool:
    """Return whether records after *cut* are lost, and that was reported."""
    return isinstance(progress, AfterLoss) and progress.cut == cut


def is_idle(progress: Progress, cut: Cut) -> bool:
    """Return whether a page proved that no record followed *cut*, where reading ended."""
    rest = reading(progress)
    return isinstance(rest, Idle) and rest.cut == reads_from(progress, cut)


def is_ended(progress: Progress, cut: Cut) -> bool:
    """Return whether the shard is closed and no record follows *cut*."""
    match progress:
        case Ended(end):
            return end == cut
        case AfterLoss(_, Ended(end)):
            return end == reads_from(progress, cut)
        case _:
            return False


def is_stuck(progress: Progress, cut: Cut) -> bool:
    """Return whether reading from *cut* brings neither records nor progress."""
    rest = reading(progress)
    return isinstance(rest, InGap) and rest.cut == cut and rest.gap.is_stuck


def stalled_pages(progress: Progress) -> int:
    """Return how many pages in a row were empty and no closer to the tip than the one before."""
    rest = reading(progress)
    return rest.gap.stalled_pages if isinstance(rest, InGap) else 0


def lag_of(progress: Progress) -> int | None:
    """Return the lag in ms where the last page ended; None if no lag must be reported."""
    match reading(progress):
        case Behind(lag_ms) | InGap(_, Gap(lag_ms)):
            return lag_ms
        case Idle():
            return 0
        case Unknown() | Gone() | Ended():
            return None
