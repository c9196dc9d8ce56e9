"""Generated pages, doubts and losses of one shard: which progress may follow which."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings, strategies as st

from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Cut,
    Page,
    Record,
    ShardEnd,
    ShardOffset,
    TrimHorizon,
    is_after,
)
from kinesis_core.planning.batch_end import plan_end
from kinesis_core.planning.evidence import EMPTY_MARGIN_MS, Evidence
from kinesis_core.planning.progress import (
    AfterLoss,
    Behind,
    Ended,
    Idle,
    InGap,
    Progress,
    Unknown,
    after_page,
    in_doubt,
    is_ended,
    is_lost,
    is_stuck,
    lag_of,
    lose,
    reading,
    reads_from,
)
from kinesis_core.planning.settings import Limits
from kinesis_core.shards import STALLED_PAGES, VISIT_PAGES, Gap, is_tip
from support.one_shard import OneShard, end_after

LIMIT = 3
NOW_MS = 1_790_000_000_000
numbers = st.integers(1, 6)
cuts = st.one_of(
    st.just(TrimHorizon()), st.builds(AtTimestamp, numbers), st.builds(At, numbers), st.builds(After, numbers)
)
lags = st.sampled_from([0, 0, 1, 700, 90_000])
Step = tuple[Any, ...]


@st.composite
def pages(draw: st.DrawFn, cut: Cut) -> Page:
    """Return a page from *cut*: records after it in order, a lag, and perhaps the end of the shard."""
    found = sorted(draw(st.sets(st.integers(1, 9), max_size=LIMIT)))
    records = [Record(str(number)) for number in found if is_after(number, cut)]
    return Page(records, draw(lags), draw(st.sampled_from(["next", "next", None])))


reads = cuts.flatmap(lambda cut: st.tuples(st.just("read"), st.just(cut), pages(cut)))
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(reads, reads, st.tuples(st.just("lose"), cuts), st.just(("doubt",))),
    max_size=8,
)


def read(progress: Progress, cut: Cut, page: Page) -> Progress:
    return after_page(progress, cut, page, at_tip=is_tip(page, LIMIT))


def take(progress: Progress, step: Step) -> Progress:
    match step:
        case ("read", cut, page):
            return read(progress, cut, page)
        case ("lose", cut):
            return lose(progress, cut)
        case _:
            return in_doubt(progress)


START: Progress = Unknown()
any_progress = steps.map(lambda taken: reduce(take, taken, START))


@given(any_progress, cuts, st.data())
def test_only_a_missing_iterator_ends_a_shard(progress: Progress, cut: Cut, data: st.DataObject) -> None:
    """Neither lag nor emptiness ends a shard. The end is after the records of the page that showed it, if it had any."""
    page = data.draw(pages(cut))
    after = reading(read(progress, cut, page))
    is_end = page.next_iterator is None
    assert isinstance(after, Ended) == is_end
    assert not is_end or after == Ended(ShardEnd() if page.records else cut)


@given(any_progress, cuts, st.data())
def test_idleness_is_proven(progress: Progress, cut: Cut, data: st.DataObject) -> None:
    """Only a page of an open shard without lag and with room for more records shows that none follow, and after which one."""
    page = data.draw(pages(cut))
    after = reading(read(progress, cut, page))
    is_proof = page.next_iterator is not None and page.millis_behind == 0 and len(page.records) < LIMIT
    assert isinstance(after, Idle) == is_proof
    if is_proof:
        assert after == Idle(After(page.records[-1].number) if page.records else cut)


@given(any_progress, cuts, st.data())
def test_reading_never_goes_backwards(progress: Progress, cut: Cut, data: st.DataObject) -> None:
    """Wherever a page is read from, the progress is there or after its last record."""
    page = data.draw(pages(cut))
    after = reading(read(progress, cut, page))
    reached = cut if not page.records else After(page.records[-1].number)
    assert not isinstance(after, Unknown)
    if isinstance(after, Idle | InGap | Ended):
        assert after.cut == (ShardEnd() if isinstance(after, Ended) and page.records else reached)
    assert isinstance(after, Behind) <= bool(page.records)
    assert isinstance(after, InGap) <= (not page.records and page.millis_behind > 0)


@given(any_progress, cuts, st.data())
def test_the_lag_is_that_of_the_last_page(progress: Progress, cut: Cut, data: st.DataObject) -> None:
    """A shard whose end was seen has no lag to report."""
    page = data.draw(pages(cut))
    after = read(progress, cut, page)
    assert lag_of(after) == (None if page.next_iterator is None else page.millis_behind)


@given(cuts, st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.integers(1, 60)), min_size=1, max_size=4))
def test_a_cut_is_stuck_after_pages_without_progress(cut: Cut, gap: list[tuple[int, int]]) -> None:
    """Empty pages in a row of which none comes closer to the tip: exactly so many of them show that nothing can be read."""
    progress: Progress = Unknown()
    run, known_ms = 0, 0
    for lag_ms in (lag_ms for lag_ms, count in gap for _ in range(count)):
        run = run + 1 if run and lag_ms >= known_ms else 1
        known_ms = lag_ms
        progress = read(progress, cut, Page([], lag_ms, "next"))
        assert progress == InGap(cut, Gap(lag_ms, run))
        assert is_stuck(progress, cut) == (run >= STALLED_PAGES)
    assert not is_stuck(read(progress, cut, Page([Record("9")], 1, "next")), cut)
    assert read(progress, After(7), Page([], 3, "next")) == InGap(After(7), Gap(3, 1)), "it is another gap"
    assert not is_stuck(progress, After(7)), "it is stuck elsewhere"


@given(any_progress, cuts, steps)
def test_a_loss_stays_known(progress: Progress, cut: Cut, taken: Sequence[Step]) -> None:
    """No page and no doubt hides a loss that was reported, so it is reported once. Only the next loss replaces it."""
    lost: Progress = lose(progress, cut)
    for step in taken:
        lost = lost if step[0] == "lose" else take(lost, step)
        assert is_lost(lost, cut)
        assert reads_from(lost, cut) == TrimHorizon()
    rest = reading(lost)
    assert not isinstance(rest, AfterLoss)
    assert lose(lost, After(10)) == AfterLoss(After(10), rest)
    assert not is_lost(lost, After(10))
    assert reads_from(lost, After(10)) == After(10)


@given(any_progress, cuts, cuts, st.data())
def test_a_loss_does_not_change_how_pages_are_read(
    progress: Progress, lost: Cut, cut: Cut, data: st.DataObject
) -> None:
    """After a loss the shard is read from its oldest record as any other, and ends for the offset's cut when it ends there."""
    page = data.draw(pages(cut))
    rest = reading(progress)
    assert read(AfterLoss(lost, rest), cut, page) == AfterLoss(lost, reading(read(rest, cut, page)))
    assert is_ended(AfterLoss(lost, Ended(TrimHorizon())), lost)
    assert is_ended(AfterLoss(lost, Ended(cut)), lost) == (cut == TrimHorizon())


@given(any_progress)
def test_a_doubt_takes_back_an_end_and_nothing_else(progress: Progress) -> None:
    """An end that was found in doubt is found again by the next plan, also after a loss; a gap is followed from where it is."""
    doubted, rest = in_doubt(progress), reading(progress)
    assert reading(doubted) == (Unknown() if isinstance(rest, Ended) else rest)
    assert isinstance(doubted, AfterLoss) == isinstance(progress, AfterLoss)
    assert not isinstance(progress, AfterLoss) or is_lost(doubted, progress.cut)


@given(
    any_progress, st.lists(reads, max_size=8), st.lists(st.integers(-10_000, 10_000), min_size=8, max_size=8)
)
def test_evidence_only_grows(progress: Progress, taken: Sequence[Step], waits_ms: list[int]) -> None:
    """The newest record, and the time up to which a cut was seen empty, never go back. Both are as the pages show them."""
    evidence, now_ms = Evidence(), NOW_MS
    for (_, cut, page), wait_ms in zip(taken, waits_ms, strict=False):
        known, now_ms = evidence, now_ms + wait_ms
        progress = read(progress, cut, page)
        evidence = evidence.with_records(page.records).with_progress(progress, now_ms)
        assert (evidence.newest or 0) == max([known.newest or 0, *(r.number for r in page.records)])
        reached = After(page.records[-1].number) if page.records else cut
        known_ms, until_ms = known.empty_until_ms(reached), evidence.empty_until_ms(reached)
        rest = reading(progress)
        if isinstance(rest, Idle) or (isinstance(rest, InGap) and rest.gap.stalled_pages == 1):
            assert until_ms == max(now_ms - page.millis_behind - EMPTY_MARGIN_MS, known_ms or 0)
        else:
            assert evidence.emptiness == known.emptiness, (
                "more may follow, children may hold older records, or a stall shows nothing"
            )


@given(st.integers(0, 30), st.booleans())
def test_a_plan_follows_a_gap_for_a_few_pages(length: int, has_record: bool) -> None:
    """However long a gap is, no plan reads more of its pages than the bound, and the next one continues there."""
    one, start = OneShard(), ShardOffset(TrimHorizon())
    records = one.put(int(has_record))
    one.stream.gaps[one.shard_id, 0] = length
    plans = 0
    while True:
        end, plans = plan_end(one.state, start, Limits()), plans + 1
        pages_read = one.calls().count("GetRecords")
        if not isinstance(reading(one.state.progress), InGap):
            break
        assert end is start
        assert pages_read == VISIT_PAGES
    assert pages_read <= VISIT_PAGES + 1  # the one that finds the end of a shard with records
    assert plans == length // VISIT_PAGES + 1
    assert end == (end_after(records[-1], records[0]) if has_record else start)


@pytest.mark.parametrize("kind", [Unknown, Idle, Behind, InGap, Ended, AfterLoss])
def test_every_kind_of_progress_is_generated(kind: type) -> None:
    """The histories above reach each kind."""
    any_example = settings(max_examples=2000, phases=[Phase.generate])  # and not the shortest one
    find(
        any_progress, lambda progress: kind in {type(progress), type(reading(progress))}, settings=any_example
    )
