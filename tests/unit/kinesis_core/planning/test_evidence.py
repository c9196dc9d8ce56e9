"""What pages show of a shard: until when nothing had arrived after a cut."""

from __future__ import annotations

import pytest

from kinesis_core.model import After, Cut, TrimHorizon
from kinesis_core.planning.evidence import EMPTY_MARGIN_MS, Evidence
from kinesis_core.planning.progress import Behind, Ended, Idle, InGap, Lost, Progress, Unknown

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
    assert until_ms(InGap(CUT, 3_600_000, 1)) == NOW_MS - 3_600_000 - 5000


def test_after_a_loss_the_rest_of_the_progress_counts() -> None:
    """Reading continues at the oldest record, and what follows that is what was seen."""
    assert until_ms(Lost(CUT, Idle(TrimHorizon())), TrimHorizon()) == NOW_MS - 5000


@pytest.mark.parametrize("progress", [Unknown(), Behind(700), Ended(CUT)])
def test_other_pages_show_no_emptiness(progress: Progress) -> None:
    """Neither a page with records nor the end of a shard: its children may hold records that arrived before now."""
    assert until_ms(progress) is None


def test_the_latest_time_counts() -> None:
    """A gap that is read anew from its beginning takes nothing back. Another cut has a time of its own."""
    evidence = Evidence().with_progress(Idle(CUT), NOW_MS)
    assert evidence.with_progress(InGap(CUT, 1000, 1), NOW_MS) == evidence
    later = evidence.with_progress(Idle(CUT), NOW_MS + 1)
    assert later.empty_until_ms(CUT) == NOW_MS - 4999
    assert evidence.empty_until_ms(After(6)) is None
