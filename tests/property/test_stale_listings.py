"""Generated lineages, queries and listings: a truthful listing is believed, and a stale one never misleads."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings, strategies as st

from kinesis_core.errors import StaleListingError
from kinesis_core.model import Listing, Shard, ShardOffset, by_id
from kinesis_core.planning.discovery import Discovery, Known, find_hole, find_needless
from kinesis_core.planning.frontier import Frontier
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream

pytestmark = pytest.mark.tests  # histories take seconds

steps = st.lists(
    st.tuples(
        st.sampled_from(["split", "merge", "begin", "finish", "finish", "finish", "trim"]), st.integers(0, 99)
    ),
    max_size=30,
)


@define
class Reader:
    """A query that begins and finishes shards as it may, on a stream that forgets what it has read."""

    stream: FakeStream
    from_latest: bool
    named: set[str] = field(factory=set)
    """What its offset names."""
    finished: set[str] = field(factory=set)
    """What it has read, or skipped at its start, whether its offset says so or not."""
    gone: set[str] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        open_shards = self.stream.open_shards()
        self.named = set(open_shards) if self.from_latest else set(self.stream.shards)
        if self.from_latest:
            self.finished = set(self.stream.shards) - self.named

    def listing(self) -> Listing:
        return by_id(s for s in self.stream.list_shards() if s.shard_id not in self.gone)

    def known(self) -> Known:
        finished = self.named & self.finished
        return Known(self.named, finished, finished, self.named)

    def readable(self) -> list[str]:
        """Return the unfinished shards whose parents are finished, whatever any listing says."""
        return [
            shard.shard_id
            for shard in self.stream.shards.values()
            if shard.shard_id not in self.finished and self.finished.issuperset(shard.parents)
        ]

    def play(self, kind: str, where: int) -> None:
        shards = self.stream.open_shards()
        one, other = shards[where % len(shards)], shards[(where + 1) % len(shards)]
        if kind == "split" and len(shards) < 6:
            self.stream.split(one)
        elif kind == "merge" and one != other:
            self.stream.merge(one, other)
        elif kind == "trim":
            self._trim(where)
        else:
            self._read(where, is_to_end=kind == "finish")

    def _read(self, where: int, *, is_to_end: bool) -> None:
        readable = self.readable()
        shard_id = readable[where % len(readable)]
        before = self.named & self.finished
        self.named.add(shard_id)
        if is_to_end and self.stream.shards[shard_id].is_closed:
            self.finished.add(shard_id)
        self.named -= find_needless(before, self.named, self.listing())

    def _trim(self, where: int) -> None:
        """Let a shard leave that was read; no shard leaves before its parents."""
        oldest = [
            s.shard_id
            for s in self.stream.shards.values()
            if s.shard_id in self.finished - self.gone and self.gone.issuperset(s.parents)
        ]
        if oldest:
            self.gone.add(oldest[where % len(oldest)])

    def lose(self) -> None:
        """Let the oldest shard leave, read or not. An open one never does."""
        shard = next(s for s in self.stream.shards.values() if s.shard_id not in self.gone)
        if shard.is_closed:
            self.gone.add(shard.shard_id)


def reader_of(shards: int, before: list[tuple[str, int]], *, from_latest: bool) -> Reader:
    stream = FakeStream(FakeClock(), random.Random(0)).create(shards)
    earlier = Reader(stream, from_latest=True)
    for kind, where in before:
        earlier.play(kind, where)
    reader = Reader(stream, from_latest)
    reader.gone |= earlier.gone
    reader.named -= earlier.gone
    reader.finished |= earlier.gone
    return reader


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(1, 3), steps, steps, st.booleans())
def test_a_complete_listing_is_used(
    shards: int, before: list[tuple[str, int]], history: list[tuple[str, int]], from_latest: bool
) -> None:
    """However a stream is resharded and forgets what was read, its listing has no hole for any offset of a query on it."""
    reader = reader_of(shards, before, from_latest=from_latest)
    assert find_hole(reader.listing(), Known()) is None
    for step in history:
        reader.play(*step)
        assert find_hole(reader.listing(), reader.known()) is None


@define
class OneListing(FakeStream):
    """Responses with one listing only."""

    response: list[Shard] = field(factory=list)

    def list_shards(self) -> list[Shard]:
        return self.response


def no_loss(shard_id: str, _started: ShardOffset, _what: str) -> None:
    raise AssertionError(f"{shard_id} was reported as lost")


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(1, 2), steps, st.integers(1, 3), st.data())
def test_only_what_has_left_is_lost(
    shards: int, history: list[tuple[str, int]], losses: int, data: st.DataObject
) -> None:
    """Whatever a listing leaves out, at once or for ever, and whatever was lost before: no shard that is there is lost."""
    reader = reader_of(shards, [], from_latest=False)
    for step in history:
        reader.play(*step)
    for _ in range(losses):
        reader.lose()
    truth, known = reader.listing(), reader.known()
    lost: list[str] = []
    api = OneListing(FakeClock())
    api.response = [s for s in truth.values() if data.draw(st.integers(0, 2), s.shard_id) != 0]
    discovery = Discovery(
        "orders", api, api.clock, lambda shard_id, *_: lost.append(shard_id), truth.__contains__, api.describe
    )
    with suppress(StaleListingError):
        discovery.refresh(known, patiently=True)
    api.response = list(truth.values())
    discovery.refresh(known, patiently=True)
    assert truth.keys().isdisjoint(lost)
    assert len(lost) == len(set(lost)), "once"
    assert discovery.listing == truth


@settings(max_examples=examples(1500), deadline=None)
@given(st.integers(1, 3), steps, steps, st.booleans(), st.data())
def test_a_stale_listing_never_misleads(
    shards: int,
    before: list[tuple[str, int]],
    history: list[tuple[str, int]],
    from_latest: bool,
    data: st.DataObject,
) -> None:
    """Whatever a listing leaves out: it is refused, or only shards whose parents are finished may be read by it."""
    reader = reader_of(shards, before, from_latest=from_latest)
    for step in history:
        reader.play(*step)
    truth, known = reader.listing(), reader.known()
    if data.draw(st.booleans(), "as it was before the last reshards"):
        newest = data.draw(st.integers(0, len(truth)), "left out")
        left = list(truth.values())[: len(truth) - newest]
        followed = {parent for shard in left for parent in shard.parents}
        left = [s if s.shard_id in followed else evolve(s, ending_number=None) for s in left]
    else:
        left = [s for s in truth.values() if data.draw(st.integers(0, 2), s.shard_id) != 0]
    api = OneListing(FakeClock(), response=left)
    discovery = Discovery("orders", api, api.clock, no_loss, truth.__contains__, api.describe)
    discovery.refresh(known, patiently=False)
    if discovery.is_checked:
        readable = Frontier(discovery, known.named, set(known.finished), set()).shards
        assert set(readable) <= set(reader.readable())
    api.response = list(truth.values())
    discovery.refresh(known, patiently=True)
    assert discovery.is_checked == bool(known.named)
    assert discovery.listing == truth
