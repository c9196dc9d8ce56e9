"""What the leader does so that every shard has its lease."""

from __future__ import annotations

import threading

import pytest
from attrs import define, evolve, field

from kinesis_consumer.leases import LeaseEmptiness, new_item, read_emptiness
from kinesis_consumer.shards import Findings, InitialPosition, LeaseKeeper, find_uncovered, missing_ranges
from kinesis_consumer.shards.keeper import CREATIONS
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_core.aws import StreamApi
from kinesis_core.errors import UnavailableError
from kinesis_core.leases import Item, Lease, read_lease
from kinesis_core.model import HOUR_MS, AtTimestamp, Cut, Latest, Shard, TrimHorizon
from support.fake_stream import FakeClock, FakeStream
from support.lineages import forget, lease_of, listed, name, new_stream, numbers
from support.waiting import PATIENCE_S

HALF = 2**127


def scan(table: MemoryTable) -> list[Lease]:
    return sorted(map(read_lease, table.scan()), key=lambda lease: lease.key)


def keeper_of(stream: FakeStream, table: MemoryTable) -> LeaseKeeper:
    return LeaseKeeper(table, {None: stream}, TrimHorizon(), stream.clock)


def run(keeper: LeaseKeeper, seconds: float = 0) -> Findings:
    keeper.clock.sleep(seconds)
    assert isinstance(keeper.table, MemoryTable)
    return keeper.run(scan(keeper.table))


def created(findings: Findings) -> list[int]:
    return numbers([lease.shard_id for lease in findings.created])


def finish(table: MemoryTable, number: int) -> None:
    table.update(Update(name(number), {}, {"checkpoint": "SHARD_END"}))


def test_empty_table() -> None:
    """A stream without any lease gets its first ones at once."""
    stream, table = new_stream(2), MemoryTable()
    assert created(run(keeper_of(stream, table))) == [0, 1]
    assert [lease.shard_id for lease in scan(table)] == [name(0), name(1)]


def test_new_leases_say_their_stream() -> None:
    """So the leases of a stream that had no record yet are not taken for those of a later stream of that name."""
    stream, table = new_stream(2), MemoryTable()
    keeper = keeper_of(stream, table)
    keeper.identifier = "1:orders:1780000000"
    run(keeper)
    assert [lease.stream for lease in scan(table)] == [keeper.identifier] * 2


def test_calls_when_nothing_is_missing() -> None:
    """The shards of a complete table are listed once a minute."""
    stream = new_stream(1)
    keeper = keeper_of(stream, MemoryTable())
    run(keeper)
    run(keeper, 3)
    for _ in range(60):
        assert run(keeper, 2) == Findings()
    assert stream.calls["ListShards"] == 4


def test_stale_listing_of_an_empty_table() -> None:
    """A listing with a hole is refused, and the shards are listed again 2 s later."""
    stream = new_stream(2)
    second = stream.shards.pop(name(1))
    keeper = keeper_of(stream, MemoryTable())
    assert "no shard has the hash keys" in run(keeper).refused[None].reason
    stream.shards[name(1)] = second
    assert run(keeper, 1) == Findings()
    assert created(run(keeper, 1)) == [0, 1]


def test_left_out_parent() -> None:
    """A listing that lacks a parent is refused if Kinesis knows that parent: nobody would read it."""

    class LeavingOut(FakeStream):
        def list_shards(self) -> list[Shard]:
            return [shard for shard in super().list_shards() if shard.shard_id != name(0)]

    stream = LeavingOut(new_stream(1).clock).create(1)
    stream.split(name(0))
    keeper = keeper_of(stream, MemoryTable())
    assert run(keeper).refused[None].reason == f"{name(0)} is not listed, and Kinesis knows it"
    forget(stream, 0)
    assert created(run(keeper, 2)) == [1, 2]


@define
class MeetingStream(FakeStream):
    """A stream in which each call for an expired shard waits for others."""

    others: threading.Barrier = field(factory=lambda: threading.Barrier(4))

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        if shard_id in self.gone:
            self.others.wait(PATIENCE_S)
        return super().get_iterator(shard_id, cut)


def test_the_first_leases_ask_for_unlisted_parents_at_once() -> None:
    """A new group asks for several expired parents at the same time."""
    stream = MeetingStream(FakeClock()).create(4)
    for number in range(4):
        stream.split(name(number))
    forget(stream, *range(4))
    assert created(run(keeper_of(stream, MemoryTable()))) == [*range(4, 12)]


def test_missing_lease() -> None:
    """A lease that got lost is made anew once it was missing three times, half a minute apart."""
    stream, table = new_stream(2), MemoryTable()
    keeper = keeper_of(stream, table)
    run(keeper)
    table.delete(name(1), {})
    assert [created(run(keeper, seconds)) for seconds in (60, 29, 1, 29, 1)] == [[], [], [], [], [1]]


def test_another_missing_lease() -> None:
    """Another hole begins anew: it has to be found three times as well."""
    stream, table = new_stream(2), MemoryTable()
    keeper = keeper_of(stream, table)
    run(keeper)
    table.delete(name(1), {})
    assert [created(run(keeper, seconds)) for seconds in (60, 30)] == [[], []]
    table.create(name(1), new_item(lease_of(stream, 1)))
    table.delete(name(0), {})
    assert [created(run(keeper, 30)) for _ in range(3)] == [[], [], [0]]


def test_new_leader_trusts_no_earlier_finding() -> None:
    """A worker that becomes the leader again begins to count anew."""
    stream, table = new_stream(2), MemoryTable()
    keeper = keeper_of(stream, table)
    run(keeper)
    table.delete(name(1), {})
    run(keeper, 60)
    run(keeper, 30)
    keeper.begin()
    assert created(run(keeper, 30)) == []


def test_torn_scan() -> None:
    """A hole that a scan shows for a moment changes nothing, although the listing is complete."""
    stream, table = new_stream(2), MemoryTable()
    keeper = keeper_of(stream, table)
    run(keeper)
    keeper.clock.sleep(60)
    assert keeper.run(scan(table)[:1]) == Findings()
    assert run(keeper, 30) == Findings()


def test_many_leases() -> None:
    """One run creates a limited number of leases, and the next one goes on without another listing."""
    stream = new_stream(CREATIONS + 5)
    keeper = keeper_of(stream, MemoryTable())
    assert len(run(keeper).created) == CREATIONS
    assert len(run(keeper, 59).created) == 5
    assert stream.calls["ListShards"] == 1


def test_creation_after_a_pause() -> None:
    """A worker that did not keep the leases for a minute looks anew, because others may have finished them meanwhile."""
    stream, table = new_stream(CREATIONS + 1), MemoryTable()
    keeper = keeper_of(stream, table)
    run(keeper)
    assert created(run(keeper, 61)) == []
    assert stream.calls["ListShards"] == 2


def test_failing_table() -> None:
    """A run that fails raises, and the next one goes on."""

    @define
    class Failing(MemoryTable):
        fails: bool = True

        def create(self, key: str, item: Item) -> bool:
            if self.fails and key == name(1):
                raise UnavailableError("no response", "Timeout")
            return MemoryTable.create(self, key, item)

    stream, table = new_stream(3), Failing()
    keeper = keeper_of(stream, table)
    with pytest.raises(UnavailableError):
        run(keeper)
    table.fails = False
    assert created(run(keeper)) == [1, 2]


def test_unread_shards_are_reported_once() -> None:
    """A shard that left the stream unread is reported after two listings without it. Its lease stays."""
    stream, table = new_stream(1), MemoryTable()
    keeper = keeper_of(stream, table)
    run(keeper)
    stream.split(name(0))
    forget(stream, 0)
    reports = [[lease.shard_id for lease in run(keeper, 60).unread] for _ in range(4)]
    assert reports == [[], [name(0)], [], []]
    assert [lease.shard_id for lease in scan(table)] == [name(0)]


def test_hash_keys_are_filled_in() -> None:
    """A lease without hash keys gets them, and no hole is left."""
    stream, table = new_stream(1), MemoryTable()
    bare = evolve(lease_of(stream, 0), hash_range=None)
    table.create(bare.key, {"checkpoint": "49", "leaseCounter": 3})
    keeper = keeper_of(stream, table)
    assert run(keeper) == Findings()
    assert scan(table) == [evolve(lease_of(stream, 0), counter=3)]


def test_several_streams() -> None:
    """A stream that cannot be listed does not keep the others waiting. The last complete listings are at hand."""

    class Failing(FakeStream):
        def list_shards(self) -> list[Shard]:
            raise UnavailableError("no response", "Timeout")

    teas, table = new_stream(1), MemoryTable()
    streams: dict[str | None, StreamApi] = {"1:orders:2": Failing(teas.clock), "1:teas:2": teas}
    keeper = LeaseKeeper(table, streams, Latest(), teas.clock)
    findings = run(keeper)
    assert list(findings.failed) == ["1:orders:2"]
    assert [lease.key for lease in findings.created] == [f"1:teas:2:{name(0)}"]
    assert {stream_id: list(listing) for stream_id, listing in keeper.listings.items()} == {
        "1:teas:2": [name(0)]
    }


def test_complete_leases() -> None:
    """Leases that are not finished cover all hash keys. Overlaps are fine."""
    stream = new_stream(2)
    stream.split(name(1))
    leases = [lease_of(stream, number) for number in range(4)]
    assert find_uncovered(leases) is None
    assert find_uncovered(leases[:2]) is None


def test_what_leases_leave_uncovered() -> None:
    """A finished lease covers nothing, and neither does one that does not say its hash keys."""
    stream = new_stream(2)
    first, second = lease_of(stream, 0), lease_of(stream, 1)
    assert find_uncovered([first]) == (HALF, 2 * HALF - 1)
    assert find_uncovered([first, lease_of(stream, 1, "SHARD_END")]) == (HALF, 2 * HALF - 1)
    assert find_uncovered([evolve(first, hash_range=None), second]) == (0, HALF - 1)
    assert find_uncovered([]) == (0, 2 * HALF - 1)


def test_which_hash_keys_are_filled_in() -> None:
    """A lease without hash keys gets those of its shard, if it still exists. Its counter stays."""
    stream = new_stream(2)
    bare = evolve(lease_of(stream, 0), hash_range=None)
    leases = [bare, lease_of(stream, 1), evolve(bare, shard_id="gone"), evolve(bare, stream_id="1:teas:2")]
    assert missing_ranges(listed(stream), leases) == [
        Update(name(0), {"leaseKey": name(0)}, {"startingHashKey": "0", "endingHashKey": str(HALF - 1)})
    ]


def emptiness_of(
    stream: FakeStream, initial: InitialPosition, hours: int = 24
) -> list[LeaseEmptiness | None]:
    """Return what the first leases of a group say."""
    table = MemoryTable()
    stream.retain(hours)
    run(LeaseKeeper(table, {None: stream}, initial, stream.clock))
    return [read_emptiness(lease) for lease in scan(table)]


def test_first_leases_promise_all_records_since_their_start() -> None:
    """Records that expire before the first page are lost. A shard's child may be younger than the start, and promises nothing."""
    stream = new_stream(2)
    stream.created_ms = stream.now_ms() - 10 * HOUR_MS
    stream.split(name(1))
    hour_ago = stream.now_ms() - HOUR_MS
    promised = LeaseEmptiness(hour_ago, 48)
    assert emptiness_of(stream, AtTimestamp(hour_ago), 48) == [promised, promised, None, None]
    assert emptiness_of(stream, AtTimestamp(0))[0] == LeaseEmptiness(stream.created_ms, 24)
    assert emptiness_of(stream, Latest())[0] == LeaseEmptiness(stream.now_ms(), 24)
    assert set(emptiness_of(stream, TrimHorizon())) == {None}


def test_a_lease_that_was_lost_promises_nothing() -> None:
    """Its shard was read before, and nobody knows how far."""
    stream, table = new_stream(2), MemoryTable()
    keeper = LeaseKeeper(table, {None: stream}, AtTimestamp(stream.now_ms()), stream.clock)
    run(keeper)
    table.delete(name(1), {})
    for _ in range(3):
        findings = run(keeper, 61)
    assert created(findings) == [1]
    assert [read_emptiness(lease) is None for lease in scan(table)] == [False, True]
