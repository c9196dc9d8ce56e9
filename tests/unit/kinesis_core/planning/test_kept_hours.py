"""For how many hours records were certainly kept, by the retentions that were seen."""

from __future__ import annotations

from hypothesis import given, strategies as st

from kinesis_core.planning.stream_facts import KeptHours

HOUR_S = 3600
NOW_S = 1_790_000_000.0

hours = st.integers(24, 400)
pauses_h = st.integers(0, 200)


def seen(*retentions: int, every_h: float = 0) -> KeptHours:
    """Return what is known after these retentions were seen, one after the other; the last one now."""
    kept = KeptHours()
    for i, hours in enumerate(retentions):
        kept.see(hours, NOW_S - (len(retentions) - 1 - i) * every_h * HOUR_S)
    return kept


def test_one_retention() -> None:
    """Nobody knows of another one."""
    assert seen(24).at(NOW_S) == 24
    assert seen(168, 168, every_h=30).at(NOW_S) == 168


def test_a_raised_retention() -> None:
    """It brings nothing back: what is there stays, and so it counts fully once enough time has passed."""
    kept = seen(24, 168, every_h=1)
    assert [kept.at(NOW_S + h * HOUR_S) for h in (0, 0.5, 1, 100, 144, 145, 1000)] == [
        24,
        24,
        25,
        124,
        168,
        168,
        168,
    ]


def test_a_lowered_retention() -> None:
    """It counts at once, and also later, when it is raised again."""
    assert seen(168, 24, every_h=1).at(NOW_S) == 24
    assert seen(168, 24, 168, every_h=1).at(NOW_S) == 24
    assert seen(168, 24, 168, 168, every_h=10).at(NOW_S) == 34


def test_two_clocks_that_differ_by_little() -> None:
    """A clock that was set back by a moment takes no hour away."""
    assert seen(24).at(NOW_S - 59) == 24
    assert seen(24, 168).at(NOW_S - 59) == 24
    assert seen(24, 168).at(NOW_S - 61) == 23
    assert seen(24).at(NOW_S - 1000 * HOUR_S) == 1


@given(st.lists(st.tuples(hours, pauses_h), min_size=1, max_size=8), st.data())
def test_no_record_within_the_hours_has_expired(history: list[tuple[int, int]], data: st.DataObject) -> None:
    """Whenever it was looked at: a record younger than the hours has not expired by any of the retentions that were in force."""
    kept, now_h, changes = KeptHours(), 0, []
    for retention, pause_h in history:
        now_h += pause_h
        changes.append((now_h, retention))  # in force from now on, and seen
        kept.see(retention, NOW_S + now_h * HOUR_S)
    now_h += data.draw(pauses_h)
    found = kept.at(NOW_S + now_h * HOUR_S)
    ends_h = [start_h for start_h, _ in changes[1:]] + [now_h]
    horizon_h = max(end_h - retention for (_, retention), end_h in zip(changes, ends_h, strict=True))
    assert now_h - found >= horizon_h
    assert found == min(changes[-1][1], now_h - horizon_h)
