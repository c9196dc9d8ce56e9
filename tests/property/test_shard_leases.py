"""Generated lives of a group: which leases there are, while shards are split and merged and workers and calls fail."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar

from attrs import define, field
from hypothesis import given, strategies as st

from kinesis_consumer.shards import (
    Findings,
    InitialPosition,
    LeaseKeeper,
    create_children,
    delete_finished,
    find_uncovered,
    needless_leases,
    unfinished_parents,
)
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_core.errors import UnavailableError
from kinesis_core.leases import Item, Lease, Value, read_lease
from kinesis_core.model import After, AtTimestamp, Cut, Latest, TrimHorizon
from support.fake_stream import FakeClock, FakeShard, FakeStream, Mood

WORKER = "worker-1"
T = TypeVar("T")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 99)),
        st.tuples(st.just("split"), st.integers(0, 99)),
        st.tuples(st.just("merge"), st.integers(0, 99)),
        st.tuples(st.just("keep"), st.just(0)),
        st.tuples(st.just("read"), st.integers(0, 99)),
        st.tuples(st.just("read"), st.integers(0, 99)),
        st.tuples(st.just("crash at the end"), st.integers(0, 99)),
        st.tuples(st.just("clean"), st.just(0)),
        st.tuples(st.just("lead anew"), st.just(0)),
        st.tuples(st.just("wait"), st.sampled_from([1, 31])),
        st.tuples(st.just("leave"), st.integers(0, 99)),
    ),
    max_size=40,
)


@define
class FlakyTable(MemoryTable):
    """A table whose writes fail at times, before or after they are made. It remembers what was created."""

    rng: random.Random = field(factory=lambda: random.Random(0))
    failures: int = 0
    """Writes of 100 that fail."""
    created: list[str] = field(factory=list)

    def create(self, key: str, item: Item) -> bool:
        return self._flakily(lambda: self._create(key, item))

    def _create(self, key: str, item: Item) -> bool:
        is_new = MemoryTable.create(self, key, item)
        self.created += [key] * is_new
        return is_new

    def update(self, update: Update) -> Item | None:
        return self._flakily(lambda: MemoryTable.update(self, update))

    def delete(self, key: str, expect: Mapping[str, Value | None]) -> bool:
        return self._flakily(lambda: MemoryTable.delete(self, key, expect))

    def _flakily(self, write: Callable[[], T]) -> T:
        fails, is_made = self.rng.randrange(100) < self.failures, self.rng.random() < 0.5
        result = write() if is_made or not fails else None
        if fails:
            raise UnavailableError("no response", "Timeout")
        return result  # type: ignore[return-value]


@define
class Group:
    """A group of one worker, which is the leader as well, and the stream that it reads."""

    stream: FakeStream
    initial: InitialPosition
    table: FlakyTable
    numbers: set[str] = field(factory=set)
    """The records that were delivered."""
    began_ms: int = 10**15
    keeper: LeaseKeeper = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.keeper = LeaseKeeper(self.table, {None: self.stream}, self.initial, self.stream.clock)

    def leases(self) -> list[Lease]:
        return sorted(map(read_lease, self.table.scan()), key=lambda lease: lease.key)

    def play(self, step: tuple[str, int]) -> None:
        with suppress(UnavailableError):
            self._play(*step)

    def _play(self, kind: str, number: int) -> None:
        match kind:
            case "keep":
                self.keeper.run(self.leases())
            case "lead anew":
                self.keeper.begin()
            case "read" | "crash at the end":
                leases = [lease for lease in self.leases() if not lease.is_finished]
                if leases:
                    self.read_shard(leases[number % len(leases)], crashes=kind != "read")
            case "leave":
                self.leave(number)
            case "clean":
                for lease in needless_leases(self.leases(), WORKER, self.keeper.listings):
                    delete_finished(self.table, lease, WORKER)
            case _:
                change(self.stream, kind, number)

    def read_shard(self, lease: Lease, *, crashes: bool = False) -> None:
        def find(key: str) -> Lease | None:
            item = self.table.get(key)
            return None if item is None else read_lease(item)

        if unfinished_parents(lease, find):
            return
        if lease.shard_id not in self.stream.shards:
            self.end_shard(lease, crashes=crashes)
            return
        self.check_order(lease.shard_id)
        page = self.stream.get_records(self.stream.get_iterator(lease.shard_id, cut_of(lease)), 10_000)
        for record in page.records:
            assert record.sequence_number not in self.numbers, "a record came twice"
            self.numbers.add(record.sequence_number)
        own: dict[str, Value] = {"leaseOwner": WORKER}
        if page.records:
            own["checkpoint"] = page.records[-1].sequence_number
        MemoryTable.update(self.table, Update(lease.key, {}, own))
        lease = read_lease(self.table.get(lease.key) or {})
        if page.is_shard_end:
            self.end_shard(lease, crashes=crashes)

    def end_shard(self, lease: Lease, *, crashes: bool) -> None:
        waits = create_children(self.table, lease, self.stream)
        if waits is None and not crashes:
            named = read_lease(MemoryTable.get(self.table, lease.key) or {}).children
            assert named or lease.shard_id in self.stream.gone
            self.table.update(Update(lease.key, {"leaseKey": lease.key}, {"checkpoint": "SHARD_END"}))

    def leave(self, number: int) -> None:
        """Let a closed shard leave the stream, if none of its records is lost by that. It outlives its parents."""
        oldest = [
            shard
            for shard in self.stream.shards.values()
            if shard.is_closed and not self.stream.shards.keys() & shard.parents
            if self.owed_of(shard) <= self.numbers
        ]
        if oldest:
            shard = oldest[number % len(oldest)]
            self.stream.gone[shard.shard_id] = self.stream.shards.pop(shard.shard_id)

    def owed_of(self, shard: FakeShard) -> set[str]:
        return {r.sequence_number for r in shard.records if (r.arrived_ms or 0) >= self.first_ms()}

    def check_order(self, shard_id: str) -> None:
        for parent in self.stream.shards[shard_id].parents:
            lease = MemoryTable.get(self.table, parent)
            assert lease is None or lease["checkpoint"] == "SHARD_END"
            if parent in self.stream.shards:
                assert self.owed_of(self.stream.shards[parent]) <= self.numbers, "it was begun too early"

    def first_ms(self) -> int:
        """Return the arrival time of the first record that is owed."""
        match self.initial:
            case TrimHorizon():
                return 0
            case AtTimestamp(epoch_ms):
                return epoch_ms
            case Latest():
                starts = [lease.starting_ms for lease in self.leases() if lease.starting_ms]
                self.began_ms = min([self.began_ms, *starts])
                return self.began_ms

    def come_to_rest(self) -> None:
        """Go on until nothing changes any more."""
        self.table.failures = 0
        self.stream.mood = Mood()
        for _ in range(40):
            before = (self.leases(), len(self.numbers))
            for _ in range(4):
                self.keeper.run(self.leases())
                self.stream.clock.sleep(61)
            for lease in self.leases():
                if not lease.is_finished:
                    self.read_shard(lease)
            self._play("clean", 0)
            if before == (self.leases(), len(self.numbers)):
                return
        raise AssertionError("the group never came to rest")


def cut_of(lease: Lease) -> Cut:
    if lease.checkpoint.is_number:
        return After(int(lease.checkpoint.number))
    return TrimHorizon() if lease.starting_ms is None else AtTimestamp(lease.starting_ms)


def change(stream: FakeStream, kind: str, number: int) -> None:
    """Let something happen to the stream."""
    shards = sorted(stream.open_shards(), key=lambda s: stream.shards[s].hash_start)
    index = number % len(shards)
    match kind:
        case "put":
            stream.put(shards[index], b"x")
            stream.clock.sleep(0.01)
        case "split" if len(shards) < 6:
            stream.split(shards[index])
        case "merge" if index + 1 < len(shards):
            stream.merge(shards[index], shards[index + 1])
        case "wait":
            stream.clock.sleep(number)
    stream.clock.sleep(0.01)


@st.composite
def streams(draw: st.DrawFn) -> FakeStream:
    """Return a stream with a past: it was resharded, and some of its oldest shards are gone."""
    stream = FakeStream(FakeClock(), random.Random(draw(st.integers(0, 99)))).create(draw(st.integers(1, 3)))
    kinds = st.tuples(st.sampled_from(["put", "put", "split", "merge"]), st.integers(0, 99))
    for kind, number in draw(st.lists(kinds, max_size=20)):
        change(stream, kind, number)
    closed = [s for s, shard in stream.shards.items() if shard.is_closed]
    for shard_id in closed[: draw(st.integers(0, len(closed)))]:
        stream.gone[shard_id] = stream.shards.pop(shard_id)
    return stream


@st.composite
def groups(draw: st.DrawFn) -> Group:
    """Return a group that begins to read such a stream."""
    stream = draw(streams())
    ago_ms = draw(st.integers(0, 400))
    positions: list[InitialPosition] = [TrimHorizon(), Latest(), AtTimestamp(stream.now_ms() - ago_ms)]
    initial = draw(st.sampled_from(positions))
    stream.mood = Mood(stale_listings=draw(st.sampled_from([0, 0, 40, 90])))
    rng = random.Random(draw(st.integers(0, 99)))
    return Group(stream, initial, FlakyTable(rng=rng, failures=draw(st.sampled_from([0, 10, 40]))))


@given(groups(), steps)
def test_every_record_is_reached_once_and_in_order(group: Group, history: list[tuple[str, int]]) -> None:
    """
    Every record since the initial position is reached once, parents first, and no lease comes back that was deleted.

    Listings may be stale, writes fail or lose their responses, and workers crash before they finish a shard that has ended.
    """
    for step in history:
        group.play(step)
        group.first_ms()
    group.come_to_rest()
    shards = [*group.stream.shards.values(), *group.stream.gone.values()]
    owed = {number for shard in group.stream.shards.values() for number in group.owed_of(shard)}
    assert owed <= group.numbers, "records are missing"
    if not isinstance(group.initial, Latest):
        assert group.numbers <= {number for shard in shards for number in group.owed_of(shard)}, (
            "they are too old"
        )
    assert len(group.table.created) == len(set(group.table.created)), "a lease came back"
    assert {lease.shard_id for lease in group.leases()} >= set(group.stream.open_shards())
    assert find_uncovered(group.leases()) is None


@given(groups(), steps)
def test_a_consistent_table_stays_as_it_is(group: Group, history: list[tuple[str, int]]) -> None:
    """Once nothing is left to do, the keeper creates nothing and reports nothing, however often it looks."""
    for step in history:
        group.play(step)
    group.come_to_rest()
    leases = group.leases()
    for _ in range(5):
        group.stream.clock.sleep(61)
        assert group.keeper.run(group.leases()) == Findings()
    assert group.leases() == leases
