"""The rule for how far a gap is followed."""

from __future__ import annotations

from hypothesis import given, strategies as st

from kinesis_core.model import Page, Record
from kinesis_core.shards import NO_GAP, STALLED_PAGES, Gap

LAGS = st.lists(st.integers(1, 4), max_size=3 * STALLED_PAGES)


def after(lags_ms: list[int], gap: Gap = NO_GAP) -> Gap:
    for lag_ms in lags_ms:
        gap = gap.after(Page([], lag_ms, "next"))
    return gap


@given(LAGS)
def test_pages_that_come_no_closer_count(lags_ms: list[int]) -> None:
    """The count is that of the longest row of last pages of which none is closer to the tip than the one before."""
    row = 0
    for index, lag_ms in enumerate(lags_ms):
        row = 1 if index and lag_ms < lags_ms[index - 1] else row + 1
    assert after(lags_ms).stalled_pages == row
    assert after(lags_ms).is_stuck == (row >= STALLED_PAGES)


@given(LAGS, st.integers(0, 4))
def test_records_end_a_gap(lags_ms: list[int], lag_ms: int) -> None:
    """Whatever the lag of their page is."""
    assert after(lags_ms).after(Page([Record("9")], lag_ms, "next")) == NO_GAP


@given(st.integers(1, 10**12))
def test_a_gap_that_comes_closer_is_never_stuck(lag_ms: int) -> None:
    """However slowly."""
    assert not after([lag_ms + 3 * STALLED_PAGES - page for page in range(3 * STALLED_PAGES)]).is_stuck
