"""Workers of a consumer group over a stream and a table in memory, with calls that take time, fail, or are the last ones of a process."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TypeVar

from attrs import define, field, frozen

from kinesis_consumer import LeaseLostError
from kinesis_consumer.delivery import Batch, GroupStream, ShardReader
from kinesis_consumer.leases.life import is_out
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.shards import InitialPosition, LeaseKeeper
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_consumer.worker import Callbacks, Coordinator, LeaseHolder, Worker
from kinesis_core import ServiceError, UnavailableError
from kinesis_core.leases import LEASE_OWNER, Item, Lease, Value, read_lease
from kinesis_core.model import AtTimestamp, Cut, Page, Shard, StreamSummary
from kinesis_core.planning import PlanSettings, ShardPages
from property.group_ledger import Ledger
from property.simulation import Process, SimulatedLock, Simulation
from support.fake_stream import FakeStream

T = TypeVar("T")
LONGEST_WAIT_S = 0.5
INDEX_LAG_S = 2.0
NETWORK = "network"


@define
class Fault:
    """What happens to one call."""

    call: str
    """A kind of call: see `kind_of`; or "any"."""
    skipped: int
    """So many calls of that kind pass before it."""
    what: str
    """One of `FATES`."""
    durations: float
    """How long it takes, in durations of a lease."""


@define
class WallClock:
    """The clock of one machine, which somebody may set."""

    process: Process
    offset_s: float = 0.0

    def now_s(self) -> float:
        return self.process.simulation.clock.now + self.offset_s

    def sleep(self, seconds: float) -> None:
        self.process.sleep(seconds)


def kind_of(update: Update) -> str:
    """Return what an update of an item means."""
    if update.key == "Leader":
        return "lock"
    if "sts" in update.set:
        return "report"
    if "checkpoint" in update.set:
        return "end" if update.set["checkpoint"] == "SHARD_END" else "commit"
    if "pendingCheckpoint" in update.set:
        return "pending"
    if LEASE_OWNER in update.set:
        return "hand over" if "checkpointOwner" in update.set else "give"
    if update.remove:
        return "release"
    return "children" if "childShardIds" in update.set else "renew"


WRITES = (
    *("renew", "pending", "commit", "end", "give", "hand over", "release", "children", "create", "delete"),
    *("lock", "report"),
)
KINDS = (*WRITES, "scan", "get", "owned", "page", "iterator", "list", "any")


FATES = (
    "fail",
    "lose",  # the call is made, and its response is lost
    "late",  # the call fails, and is made later
    "fade",  # the response comes late, and then the table cannot be reached any more
    "vanish",  # the call is made, its response is lost, and for a while the table cannot be reached any more
    *("kill before", "kill after"),
    *("delay before", "delay after"),
    *("pause before", "pause after"),  # the whole process
)


@define(eq=False, repr=False)  # it holds the group, which holds it
class Member:
    """One worker: a process with the threads that a group starts."""

    group: SimulatedGroup
    process: Process
    rng: random.Random
    wall_clock: WallClock = field(init=False)
    worker: Worker = field(init=False)
    coordinator: Coordinator = field(init=False)
    is_stopping: bool = False
    is_closing: bool = False
    outage_until_s: float = 0.0
    hold_s: float = 0.0
    """How long the user takes for the next batch."""
    committing: Batch | None = None
    """The batch that is committed now."""
    has_unanswered_commit: bool = False
    """Whether a write of this commit got no response: nobody knows whether it was made."""

    @property
    def name(self) -> str:
        return self.process.name

    @property
    def is_alive(self) -> bool:
        return not self.process.is_dead

    def __attrs_post_init__(self) -> None:
        group, process = self.group, self.process
        self.wall_clock = WallClock(process)
        table, api = SimulatedTable(self), SimulatedApi(self)
        pages = ShardPages.of("orders", api, PlanSettings(), self.wall_clock, self.rng)
        initial_ms = group.initial.epoch_ms if isinstance(group.initial, AtTimestamp) else None
        sources: dict[str | None, GroupStream] = {None: GroupStream("orders", pages, api, initial_ms)}
        leases = SimulatedLeases(self.name, table, sources, group.settings, process, Callbacks())
        leases.shards.listeners.add(process.wake)
        self.worker = Worker(leases)
        keeper = LeaseKeeper(table, {None: api}, group.initial, process, run_all=map)
        self.coordinator = Coordinator(leases, keeper, process, self.wall_clock, self.rng)
        process.start("user", lambda: self._run(pages))

    def _run(self, pages: ShardPages) -> None:
        """Run as the threads of a group do."""
        pages.begin()
        for name, loop in {"renew": self._renew, "coordinate": self._coordinate, "read": self._read}.items():
            self.process.start(name, loop)
        while not self.is_stopping:
            self._use()
        self.is_closing = True
        while not all(task.has_ended for task in self.process.tasks[1:]):
            self.process.sleep(0.01)
        self.coordinator.close()
        self.process.kill()

    def _renew(self) -> None:
        while not self.is_closing:
            self.process.sleep(min(self.worker.leases.renew(), LONGEST_WAIT_S))

    def _coordinate(self) -> None:
        while not self.is_stopping:
            self.group.simulation.wait(min(self.coordinator.step(), LONGEST_WAIT_S))
        self.coordinator.release()

    def _read(self) -> None:
        while not self.is_stopping:
            self.group.simulation.wait(self._read_due())

    def _read_due(self) -> float:
        due = self.worker.due_readers()
        for reader in due:
            self.worker.advance(reader)
        now_s = self.process.now_s()
        return 0.001 if due else max(0.001, min(self.worker.next_due_s() - now_s, LONGEST_WAIT_S))

    def _use(self) -> None:
        """Do what a program does: take some batches, process them, and commit them in some order."""
        batches: list[Batch] = []
        while len(batches) < 1 + self.rng.randrange(3) and (batch := self.worker.take()) is not None:
            readers = self.worker.leases.shards.readers()
            reader = next(each for each in readers if is_out(each.hand, batch))
            self.group.ledger.deliver(self.name, batch, reader)
            batches.append(batch)
        if not batches:
            self.group.simulation.wait(LONGEST_WAIT_S)
        self.rng.shuffle(batches)
        for batch in batches:
            held_s, self.hold_s = self.hold_s, 0.0
            self.process.sleep(held_s or self.rng.uniform(0, 2 * self.group.processing_s))
            if self.is_stopping and not self.group.is_careful and self.rng.random() < 0.5:
                return  # the program ends without a commit
            self._commit(batch)

    def _commit(self, batch: Batch) -> None:
        """Commit as a program does, and let the ledger check what it is told."""
        self.committing, self.has_unanswered_commit = batch, False
        try:
            batch.commit()
        except LeaseLostError as error:
            if error.may_be_committed:
                assert self.has_unanswered_commit, (
                    "a commit is said to be uncertain, and each write was answered"
                )
            else:
                self.group.ledger.lose(batch)
        else:
            self.group.ledger.confirm(batch)

    def close(self) -> None:
        self.is_stopping = True
        self.process.wake()

    def pause(self, seconds: float) -> None:
        """Let the whole process stand still."""
        self.process.paused_until_s = self.group.simulation.clock.now + seconds

    def cut_off(self, seconds: float) -> None:
        """Let no call reach the table."""
        self.outage_until_s = self.group.simulation.clock.now + seconds

    def call(self, kind: str, run: Callable[[], T]) -> T:
        """Make a call as this worker: it takes time, and something may happen to it."""
        group, process = self.group, self.process
        fault = group.pick_fault(kind)
        process.sleep(self.rng.uniform(0.001, 0.01))
        what = fault.what if fault else ""
        seconds = fault.durations * group.settings.lease_duration_s if fault else 0.0
        if what.endswith(" before"):
            self._suffer(what, seconds)
        if group.is_out(self) or what == "fail":
            raise UnavailableError("The store fails.", "InternalServerError")
        if what == "late":
            ghost = group.simulation.process(NETWORK)

            def arrive() -> None:
                ghost.sleep(seconds)
                with suppress(ServiceError):  # nobody waits for the response
                    run()

            ghost.start(kind, arrive)
            raise UnavailableError("No response in time.", "ReadTimeoutError")
        response = run()
        if what.endswith(" after") or what == "fade":
            self._suffer(what, seconds)
        if what == "vanish":
            self.cut_off(seconds)
        if what in ("lose", "vanish"):
            raise UnavailableError("The response is lost.", "ConnectionClosedError")
        return response

    def _suffer(self, what: str, seconds: float) -> None:
        match what.split()[0]:
            case "delay":
                self.process.sleep(seconds)
            case "fade":
                self.process.sleep(min(seconds, 0.8 * self.group.settings.lease_duration_s))
                self.cut_off(4 * self.group.settings.lease_duration_s)
            case "pause":
                self.pause(seconds)
                self.process.sleep(0)
            case "kill":
                self.process.kill()
                self.process.sleep(0)


class SimulatedLeases(LeaseHolder):
    """Leases of a worker whose threads wait for each other in simulated time."""

    def gain(self, lease: Lease, sent_s: float) -> None:
        super().gain(lease, sent_s)
        assert isinstance(self.clock, Process)
        for held in [*(reader.held for reader in self.shards.readers()), *self.shards.finished()]:
            if not isinstance(held.lock, SimulatedLock):
                held.lock = SimulatedLock(self.clock.simulation, may_wait=False)
                held.turn = SimulatedLock(self.clock.simulation, may_wait=True)


@frozen
class SimulatedTable:
    """The table as one worker reaches it."""

    member: Member
    name: str = "simulated"

    def prepare(self) -> None:
        """Do nothing: the table is there."""

    def close(self) -> None:
        """Do nothing."""

    def scan(self) -> list[Item]:
        group = self.member.group
        items = self.member.call("scan", group.table.scan)
        if self.member.rng.random() < 0.7:
            return items
        self.member.process.sleep(self.member.rng.choice([0.01, 0.5]))
        middle = sorted(str(item["leaseKey"]) for item in items)[len(items) // 2 :][:1]
        later = [item for item in group.table.scan() if [str(item["leaseKey"])] >= middle]
        return [item for item in items if [str(item["leaseKey"])] < middle] + later

    def get(self, key: str) -> Item | None:
        return self.member.call("get", lambda: self.member.group.table.get(key))

    def keys_of_owner(self, owner: str) -> list[str]:
        lag_s = self.member.rng.choice([0.0, 0.0, self.member.rng.uniform(0, INDEX_LAG_S)])
        return self.member.call("owned", lambda: self.member.group.indexed_keys(owner, lag_s))

    def create(self, key: str, item: Item) -> bool:
        return self.member.call(
            "create", lambda: self._write(key, lambda: self.member.group.table.create(key, item))
        )

    def update(self, update: Update) -> Item | None:
        kind = kind_of(update)
        # Now, because a late call arrives when another one is committed.
        batch = self.member.committing if kind == "commit" else None
        try:
            return self.member.call(
                kind, lambda: self._write(update.key, lambda: self.member.group.table.update(update), batch)
            )
        except UnavailableError:
            self.member.has_unanswered_commit |= kind == "commit"
            raise

    def delete(self, key: str, expect: Mapping[str, Value | None]) -> bool:
        return self.member.call(
            "delete", lambda: self._write(key, lambda: self.member.group.table.delete(key, expect))
        )

    def _write(self, key: str, write: Callable[[], T], batch: Batch | None = None) -> T:
        group = self.member.group
        before = group.table.get(key)
        result = write()
        after = group.table.get(key)
        if after != before:
            if (before or {}).get(LEASE_OWNER) != (after or {}).get(LEASE_OWNER):
                group.note_index()
            group.ledger.write(self.member.name, before, after, batch)
        return result


@frozen
class SimulatedApi:
    """The stream as one worker reaches it."""

    member: Member

    def now_ms(self) -> int:
        return self.member.group.stream.now_ms()

    def describe(self) -> StreamSummary:
        return self.member.group.stream.describe()

    def list_shards(self) -> list[Shard]:
        return self.member.call("list", self.member.group.stream.list_shards)

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        return self.member.call("iterator", lambda: self.member.group.stream.get_iterator(shard_id, cut))

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        return self.member.call(
            "page", lambda: self.member.group.stream.get_records(iterator, limit, with_data, shard_id)
        )


@define(eq=False, repr=False)  # it holds itself, and a failed test shows it
class SimulatedGroup:
    """All workers of a group, and what they share."""

    stream: FakeStream
    settings: GroupSettings
    initial: InitialPosition
    rng: random.Random
    processing_s: float
    simulation: Simulation = field(init=False)
    table: MemoryTable = field(factory=MemoryTable)
    ledger: Ledger = field(init=False)
    members: list[Member] = field(factory=list)
    faults: list[Fault] = field(factory=list)
    outage_until_s: float = 0.0
    is_careful: bool = False
    """Whether programs commit what they have in hand before they end."""
    is_disturbed: bool = True
    """Whether records are put all the time."""
    _index: list[tuple[float, dict[str, str]]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.simulation = Simulation(self.stream.clock)
        self.ledger = Ledger(self.stream, self.table, self.readers_of)

    def join(self) -> None:
        """Start another worker."""
        process = self.simulation.process(f"worker-{len(self.members)}", self.rng.uniform(-1e6, 1e6))
        self.members.append(Member(self, process, random.Random(self.rng.random())))

    def alive(self) -> list[Member]:
        return [member for member in self.members if member.is_alive]

    def readers_of(self, key: str) -> Iterator[tuple[str, ShardReader]]:
        for member in self.alive():
            for reader in member.worker.leases.shards.readers():
                if reader.key == key:
                    yield member.name, reader

    def is_out(self, member: Member) -> bool:
        until_s = max(self.outage_until_s, member.outage_until_s)
        return self.simulation.clock.now < until_s

    def pick_fault(self, kind: str) -> Fault | None:
        """Return what happens to a call that is made now."""
        for fault in self.faults:
            if fault.call in (kind, "any"):
                fault.skipped -= 1
                if fault.skipped < 0:
                    self.faults.remove(fault)
                    return fault
        return None

    def note_index(self) -> None:
        owners = {
            str(item["leaseKey"]): str(item[LEASE_OWNER]) for item in self.table.scan() if LEASE_OWNER in item
        }
        self._index.append((self.simulation.clock.now, owners))

    def indexed_keys(self, owner: str, lag_s: float) -> list[str]:
        """Return the keys that the index has for *owner*, which lags behind the table."""
        then_s = self.simulation.clock.now - lag_s
        owners = next((owners for at_s, owners in reversed(self._index) if at_s <= then_s), {})
        return [key for key, name in owners.items() if name == owner]

    def leases(self) -> list[Lease]:
        return [read_lease(item) for item in self.table.scan() if "checkpoint" in item]
