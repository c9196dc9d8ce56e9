"""What is copied, and in which parts."""

from __future__ import annotations

from typing import Any, cast

import pytest
from attrs import define, field

from kinesis_cli.copying import plan_copy
from kinesis_cli.copying.parts import next_length
from kinesis_cli.copying.state import CopyState
from kinesis_cli.ending import UsageError
from kinesis_core import AtTimestamp, Batch, Latest, TrimHorizon

NOW_MS = 1_800_000_000_000


def test_positions() -> None:
    """A copy begins at the oldest record and ends at the tip, unless it is told otherwise."""
    plan = plan_copy("TRIM_HORIZON", None, follow=False, now_ms=NOW_MS)
    assert (plan.start, plan.end) == (TrimHorizon(), Latest())
    plan = plan_copy("1h", "10m", follow=False, now_ms=NOW_MS)
    assert (plan.start, plan.end) == (AtTimestamp(NOW_MS - 3_600_000), AtTimestamp(NOW_MS - 600_000))


def test_contradictions() -> None:
    """A copy that goes on has no end."""
    with pytest.raises(UsageError, match="--follow and --until exclude each other"):
        plan_copy("1h", "10m", follow=True, now_ms=NOW_MS)


@pytest.mark.parametrize(
    ("length_ms", "took_s", "next_ms"),
    [(100_000, 1, 400_000), (100_000, 30, 100_000), (200_000, 90, 100_000), (100_000, 90, 60_000)],
)
def test_slices(length_ms: int, took_s: float, next_ms: int) -> None:
    """The slices of time get longer while they take seconds, and shorter once they take minutes."""
    assert next_length(length_ms, took_s) == next_ms


@define
class Source:
    """A stream that remembers what was read."""

    reads: list[tuple[Any, Any]] = field(factory=list)

    def now_ms(self) -> int:
        return NOW_MS

    def read(self, start: Any, end: Any) -> Batch:
        self.reads.append((start, end))
        return Batch(
            {"read": len(self.reads)}, "orders", [], lambda _groups, _data, _page_bytes: iter(()), dict
        )


def test_parts_follow_each_other() -> None:
    """Each part begins where the one before ended, the last one ends with the copy, and an idle day needs few of them."""
    source = Source()
    plan = plan_copy("TRIM_HORIZON", None, follow=False, now_ms=NOW_MS)
    parts = list(plan.parts(cast(Any, source), None, 24))
    assert 3 <= len(parts) <= 6
    starts, ends = zip(*source.reads, strict=True)
    assert starts == (TrimHorizon(), *({"read": number} for number in range(1, len(parts))))
    assert ends[-1] == Latest()
    times = [end.epoch_ms for end in ends[:-1]]
    assert times == sorted(times) == [part.reached_ms for part in parts[:-1]]


def test_one_part() -> None:
    """Where no position is saved, there is one part."""
    source = Source()
    plan = plan_copy("1h", "10m", follow=False, now_ms=NOW_MS)
    assert len(list(plan.parts(cast(Any, source), None, None))) == 1
    assert source.reads == [(plan.start, plan.end)]


def test_an_end_in_the_future() -> None:
    """A copy ends at a time in the past. Later records are copied by --follow."""
    with pytest.raises(UsageError, match=r"--until is '2099-01-01T00:00:00Z'\. Use a time in the past"):
        plan_copy("TRIM_HORIZON", "2099-01-01T00:00:00Z", follow=False, now_ms=NOW_MS)


def test_an_end_before_what_is_copied() -> None:
    """The time that was reached does not go back, as nothing is copied again."""
    saved = CopyState(source="a", destination="b", offset={"read": 0}, reached_ms=NOW_MS)
    plan = plan_copy("TRIM_HORIZON", "1h", follow=False, now_ms=NOW_MS)
    assert [part.reached_ms for part in plan.parts(cast(Any, Source()), saved, 24)] == [NOW_MS]
