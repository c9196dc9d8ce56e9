"""Which shards are measured for a reader, and what is known without a measurement."""

from __future__ import annotations

import pytest

from kinesis_cli.lag.lineage import apply_positions
from kinesis_cli.lag.readings import Position, Reading
from kinesis_cli.lag.results import State
from kinesis_core import After, AtTimestamp, Latest, ShardEnd, TrimHorizon
from kinesis_core.model import Cut, Listing, by_id
from support.fake_stream import FakeClock, FakeStream

A, B, C, D, E = (f"shardId-{number:012d}" for number in range(5))


@pytest.fixture
def listing() -> Listing:
    """A is split into C and D, C into E and another shard. B is not related."""
    stream = FakeStream(FakeClock()).create(2)
    stream.split(A)
    stream.split(C)
    return by_id(stream.list_shards())


def placed(listing: Listing, **cuts: Cut | Latest | None) -> dict[str, str]:
    """Return for each shard where it is measured from, with a `?` if it waits, or its state."""
    names = {"a": A, "b": B, "c": C, "d": D, "e": E, "gone": "shardId-gone"}
    positions = {names[name]: Position(cut, str(cut)) for name, cut in cuts.items()}
    reading = Reading(reader="r", kind="spark", positions=positions)
    measured, settled = apply_positions(reading, listing)
    found = {m.shard_id: f"{m.cut}{'?' * m.waits}" for m in measured}
    return dict(sorted({**found, **{each.shard_id: each.state.value for each in settled}}.items()))


def test_unfinished_parents(listing: Listing) -> None:
    """Descendants of a shard with a position begin at their oldest record, and wait for parents that are not finished."""
    last = sorted(listing)[-1]
    assert placed(listing, a=After(5), b=AtTimestamp(7)) == {
        A: "AFTER 5",
        B: "AT_TIMESTAMP 1970-01-01 00:00:00.007 UTC",
        C: "TRIM_HORIZON?",
        D: "TRIM_HORIZON?",
        E: "TRIM_HORIZON?",
        last: "TRIM_HORIZON?",
    }
    assert placed(listing, a=ShardEnd(), b=After(1))[C] == "TRIM_HORIZON"


def test_a_child_that_has_begun(listing: Listing) -> None:
    """A shard of which something was read does not wait, whatever its parents are: the reader has begun there."""
    assert placed(listing, a=After(1), c=After(5))[C] == "AFTER 5"


def test_no_position(listing: Listing) -> None:
    """A query that has begun in no shard yet begins at the oldest record of each."""
    assert placed(listing)[A] == "TRIM_HORIZON"
    assert placed(listing)[C] == "TRIM_HORIZON?"


def test_related_shards(listing: Listing) -> None:
    """Ancestors of a shard with a position were read to their end, and are named no longer. Of unrelated shards nothing is known."""
    found = placed(listing, c=After(5))
    assert found == {
        A: "finished",
        B: "unknown",
        C: "AFTER 5",
        D: "unknown",
        E: "TRIM_HORIZON?",
        sorted(listing)[-1]: "TRIM_HORIZON?",
    }


def test_words(listing: Listing) -> None:
    """A lease at LATEST says no position. One at the oldest record waits for its parents, if they are not finished."""
    found = placed(listing, a=After(1), b=None, c=TrimHorizon(), d=Latest())
    assert (found[B], found[C], found[D]) == ("unknown", "TRIM_HORIZON?", "unknown")
    assert placed(listing, a=ShardEnd(), c=TrimHorizon())[C] == "TRIM_HORIZON"


def test_unlisted_shards(listing: Listing) -> None:
    """A shard that Kinesis no longer lists is gone, unless it was finished: then nothing is said of it."""
    assert placed(listing, gone=After(5))["shardId-gone"] == "gone"
    assert "shardId-gone" not in placed(listing, gone=ShardEnd())


def test_notes(listing: Listing) -> None:
    """What is not known has a reason."""
    reading = Reading(reader="r", kind="application", positions={A: Position(None, "LATEST", owner="w")})
    _, settled = apply_positions(reading, listing)
    by_shard = {each.shard_id: each for each in settled}
    assert by_shard[A].state is State.UNKNOWN
    assert (by_shard[A].position, by_shard[A].owner) == ("LATEST", "w")
    assert "does not say when it began" in by_shard[A].note
    assert "no position here" in by_shard[B].note
