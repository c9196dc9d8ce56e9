"""Workers that share a table of leases: clocks that were started at different times, and calls that fail or whose response is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from attrs import define, field

from kinesis_consumer.leases import new_item
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_core.errors import UnavailableError
from kinesis_core.leases import OLDEST, Item, Lease, LeaseCheckpoint, Value, read_lease

T = TypeVar("T")
Fate = str | float | Callable[[], object]


@define
class SharedTime:
    """The time that really passes."""

    now: float = 1_000.0
    watch: Callable[[], object] = lambda: None
    """Is called before time passes, and after it."""

    def pass_s(self, seconds: float) -> None:
        self.watch()
        self.now += seconds
        self.watch()


@define
class WorkerClock:
    """The steady clock of one worker. It began at another time than those of others."""

    time: SharedTime
    offset_s: float = 0.0

    def now_s(self) -> float:
        return self.time.now + self.offset_s

    def sleep(self, seconds: float) -> None:
        self.time.pass_s(max(0.0, seconds))


@define
class InterceptedTable:
    """A table in memory. A subclass says in `_call` what becomes of each call of a lease's writer or reader."""

    table: MemoryTable = field(factory=MemoryTable)
    name: str = field(default="intercepted", init=False)

    def _call(self, call: str, key: str, run: Callable[[], T]) -> T:  # noqa: ARG002 - for subclasses
        return run()

    def prepare(self) -> None:
        self.table.prepare()

    def close(self) -> None:
        self.table.close()

    def scan(self) -> list[Item]:
        return self._call("scan", "", self.table.scan)

    def get(self, key: str) -> Item | None:
        return self._call("get", key, lambda: self.table.get(key))

    def keys_of_owner(self, owner: str) -> list[str]:
        return self._call("keys_of_owner", owner, lambda: self.table.keys_of_owner(owner))

    def create(self, key: str, item: Item) -> bool:
        return self._call("create", key, lambda: self.table.create(key, item))

    def update(self, update: Update) -> Item | None:
        return self._call("update", update.key, lambda: self.table.update(update))

    def delete(self, key: str, expect: Mapping[str, Value | None]) -> bool:
        return self._call("delete", key, lambda: self.table.delete(key, expect))


@define
class UnreliableTable(InterceptedTable):
    """
    The table as one worker reaches it. Each call has a fate, taken from *fates*; without one it succeeds.

    `lost`: the call fails. `unheard`: it is made, and its response is lost. `late`: it fails, and is made later, with the other
    ones in *late*. A number: seconds that pass before the call, and
    again before its response. A function: what others do before the call.
    """

    time: SharedTime = field(factory=SharedTime)
    fates: list[Fate] = field(factory=list)
    calls: list[str] = field(factory=list, init=False)
    late: list[Callable[[], object]] = field(factory=list, init=False)

    def _call(self, call: str, key: str, run: Callable[[], T]) -> T:  # noqa: ARG002 - the fate counts
        self.calls.append(call)
        fate = self.fates.pop(0) if self.fates else ""
        if callable(fate):
            fate()
        if isinstance(fate, (int, float)):
            self.time.pass_s(fate)
            response = run()
            self.time.pass_s(fate)
            return response
        if fate == "late":
            self.late.append(run)
        if fate in {"lost", "late"}:
            raise UnavailableError("the table cannot be reached")
        response = run()
        if fate == "unheard":
            raise UnavailableError("the response is lost")
        return response


def make_lease(
    shard: int,
    owner: str | None = None,
    counter: int = 0,
    checkpoint: LeaseCheckpoint = OLDEST,
    checkpoint_owner: str | None = None,
) -> Lease:
    return Lease(
        f"shardId-{shard:012d}", checkpoint, owner=owner, counter=counter, checkpoint_owner=checkpoint_owner
    )


def put_leases(table: MemoryTable, leases: Iterable[Lease]) -> None:
    """Write *leases* with their owners, counters and marks."""
    for lease in leases:
        owners = {
            "leaseOwner": lease.owner,
            "checkpointOwner": lease.checkpoint_owner,
            "workerProcess": lease.process,
        }
        table.create(
            lease.key,
            {
                **new_item(lease),
                "leaseCounter": lease.counter,
                **{name: owner for name, owner in owners.items() if owner is not None},
            },
        )


def leases_in(table: MemoryTable) -> list[Lease]:
    """Return the leases in *table*, by key."""
    items = [item for item in table.scan() if "checkpoint" in item]
    return sorted((read_lease(item) for item in items), key=lambda lease: lease.key)
