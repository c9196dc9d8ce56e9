"""What pages show of a shard: until when nothing had arrived after a cut."""

from __future__ import annotations

import pytest

from kinesis_core.model import After, AtTimestamp, Cut, TrimHorizon
from kinesis_core.planning.evidence import EMPTY_MARGIN_MS, Evidence
from kinesis_core.planning.progress import AfterLoss, Behind, Ended, Idle, InGap, Progress, Unknown
from kinesis_core.shards import Gap

NOW_MS = 1_790_000_000_000
CUT = After(5)


def until_ms(progress: Progress, cut: Cut = CUT) -> int | None:
    return Evidence().with_progress(progress, NOW_MS).empty_until_ms(cut)


def test_a_shard_at_its_tip_was_empty_until_shortly_before_now() -> None:
    """Arrival times may be off: a record that comes next may say that it arrived up to 5 s before now."""
    assert EMPTY_MARGIN_MS == 5000
    assert until_ms(Idle(CUT)) == NOW_MS - 5000


def test_a_shard_in_a_gap_was_empty_up_to_where_the_gap_was_followed() -> None:
    """A page that lags by an hour says nothing of that hour."""
    assert until_ms(InGap(CUT, Gap(3_600_000, 1))) == NOW_MS - 3_600_000 - 5000


@pytest.mark.parametrize("pages", [2, 50])
def test_pages_without_progress_show_no_emptiness(pages: int) -> None:
    """While their lag stays and time passes, records arrive that are not on them."""
    assert until_ms(InGap(CUT, Gap(3_600_000, pages))) is None


def test_a_gap_after_a_start_at_a_time_begins_there() -> None:
    """Nothing from before the start is asked for, however far the page lags."""
    start = AtTimestamp(NOW_MS - 1000)
    assert until_ms(InGap(start, Gap(3_600_000, 1)), start) == NOW_MS - 1000


def test_a_gap_that_may_be_the_whole_retention_shows_no_emptiness() -> None:
    """A page after TRIM_HORIZON lags by the retention at most, so records may have been there before."""
    day_ms = 24 * 3_600_000
    assert until_ms(InGap(TrimHorizon(), Gap(day_ms, 1)), TrimHorizon()) is None
    assert until_ms(InGap(TrimHorizon(), Gap(day_ms - 1, 1)), TrimHorizon()) is not None


def test_after_a_loss_the_rest_of_the_progress_counts() -> None:
    """Reading continues at the oldest record, and what follows that is what was seen."""
    assert until_ms(AfterLoss(CUT, Idle(TrimHorizon())), TrimHorizon()) == NOW_MS - 5000


@pytest.mark.parametrize("progress", [Unknown(), Behind(700), Ended(CUT)])
def test_other_pages_show_no_emptiness(progress: Progress) -> None:
    """Neither a page with records nor the end of a shard: its children may hold records that arrived before now."""
    assert until_ms(progress) is None


def test_the_latest_time_counts() -> None:
    """A gap that is read anew from its beginning takes nothing back. Another cut has a time of its own."""
    evidence = Evidence().with_progress(Idle(CUT), NOW_MS)
    assert evidence.with_progress(InGap(CUT, Gap(1000, 1)), NOW_MS) == evidence
    later = evidence.with_progress(Idle(CUT), NOW_MS + 1)
    assert later.empty_until_ms(CUT) == NOW_MS - 4999
    assert evidence.empty_until_ms(After(6)) is None
