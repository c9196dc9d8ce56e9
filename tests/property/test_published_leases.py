"""Generated lives of a lease table that a query publishes to, while a KCL works on it and calls fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from attrs import define, evolve, field
from hypothesis import given, settings, strategies as st

from kinesis_core.errors import UnavailableError
from kinesis_core.leases import FINISHED, OLDEST, Lease, LeasePublisher
from kinesis_core.leases.publisher import PAUSE_S
from kinesis_core.model import After, Cut, Offset, ShardEnd, ShardOffset, StreamOffset, TrimHorizon
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream

KCL = "a KCL worker"
SHARDS = 5
which = st.integers(0, SHARDS - 1)
fates = st.sampled_from(["fail", "lose", "late"])
publications = st.tuples(st.just("publish"), st.dictionaries(which, fates, max_size=3))
actions = st.sampled_from(["progress", "end", "split", "take", "finish", "release"])


def overtake(shard: int, fate: str) -> list[tuple[str, object]]:
    """Return how a KCL reads a shard to its end that the query has just published, without knowing it."""
    return [("publish", {shard: fate}), ("split", shard), ("finish", shard)]


parts: st.SearchStrategy[list[tuple[str, object]]] = st.one_of(
    st.tuples(actions, which).map(lambda step: [step]),
    publications.map(lambda step: [step]),
    st.builds(overtake, which, fates),
)
histories = st.lists(parts, max_size=25).map(lambda found: [step for part in found for step in part])


@define
class Table:
    """Leases by key, with the rules of the real table. What happens to the first call for a lease, its fate says."""

    name: str = "leases"
    leases: dict[str, Lease] = field(factory=dict)
    fates: dict[str, str] = field(factory=dict)
    late: list[Callable[[], object]] = field(factory=list)
    deleted: set[str] = field(factory=set)
    """Leases of shards that the KCL has read to their end, and that it has deleted."""
    _lock: Lock = field(factory=Lock)

    def prepare(self, patience_s: float) -> None:
        """Do nothing: the table is there."""

    def write(self, lease: Lease, *, may_create: bool = True) -> bool:
        return self._call(lease.key, lambda: self._written(lease, may_create=may_create))

    def has(self, key: str) -> bool:
        return self._call(key, lambda: key in self.leases)

    def arrive(self) -> None:
        while self.late:
            self.late.pop(0)()

    def _call(self, key: str, call: Callable[[], bool]) -> bool:
        with self._lock:
            fate = self.fates.pop(key, "")
            if fate == "late":
                self.late.append(call)
            if fate in {"fail", "late"}:
                raise UnavailableError("the table cannot be reached")
            response = call()
            if fate == "lose":
                raise UnavailableError("the response is lost")
            return response

    def _written(self, lease: Lease, *, may_create: bool) -> bool:
        there = self.leases.get(lease.key)
        if (there is None and not may_create) or (there is not None and there.owner):
            return False
        assert there is not None or lease.key not in self.deleted, (
            "a KCL reads a shard again that it has read"
        )
        self.leases[lease.key] = lease
        return True


class World:
    """A stream, a query that publishes, and a KCL."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.stream = FakeStream(self.clock).create(1)
        self.table = Table()
        self.publisher = LeasePublisher(self.table, {"orders": self.stream}, self.clock)  # type: ignore[arg-type] # a table of the test
        self.cuts: dict[str, Cut] = {shard_id: TrimHorizon() for shard_id in self.stream.open_shards()}
        self.taken: set[str] = set()
        """Leases that the KCL had, or deleted."""
        self.number = 0

    def act(self, action: str, which: int) -> None:
        shard_id = f"shardId-{which:012d}"
        children = [child.shard_id for child in self.stream.list_shards() if shard_id in child.parents]
        cut, lease = self.cuts.get(shard_id), self.table.leases.get(shard_id)
        match action:
            case "progress" if cut is not None and cut != ShardEnd():
                self.number += 1
                self.cuts[shard_id] = After(self.number)
            case "end" if cut is not None and children:
                self.cuts = dict.fromkeys(children, TrimHorizon()) | self.cuts | {shard_id: ShardEnd()}
            case "split" if shard_id in self.stream.open_shards() and len(self.stream.shards) < SHARDS:
                self.stream.split(shard_id)
            case "take" | "release" if lease is not None:
                self._keep(evolve(lease, owner=KCL if action == "take" else None))
            case "finish" if lease is not None and children:
                self._finish(lease, children)

    def _finish(self, lease: Lease, children: Sequence[str]) -> None:
        """Let the KCL read a shard to its end, begin its children, and delete the lease, unless those of its parents are there."""
        for child in children:
            self._keep(
                evolve(self.table.leases.get(child, Lease(child, OLDEST, parents=(lease.key,))), owner=KCL)
            )
        self._keep(evolve(lease, owner=KCL, checkpoint=FINISHED, children=tuple(children)))
        if not any(parent in self.table.leases for parent in lease.parents):
            del self.table.leases[lease.key]
            self.table.deleted.add(lease.key)

    def publish(self, fates: dict[int, str]) -> None:
        self.table.fates = {f"shardId-{which:012d}": fate for which, fate in fates.items()}
        offsets = {shard_id: ShardOffset(cut, first=1) for shard_id, cut in self.cuts.items()}
        self.publisher.publish(Offset({"orders": StreamOffset(self.stream.created_ms, offsets)}))
        self.table.fates = {}
        self.clock.sleep(PAUSE_S)
        self.table.arrive()

    def check(self) -> None:
        """Check that all leases but those of the KCL say how far the query is."""
        self.publish({})
        for shard_id, cut in self.cuts.items():
            ancestry = {shard_id, *self.stream.ancestors(shard_id)}
            if ancestry & self.taken:
                continue
            wanted = {ShardEnd(): FINISHED, TrimHorizon(): OLDEST}.get(cut)
            found = self.table.leases[shard_id].checkpoint
            assert found.number == (str(cut.number) if isinstance(cut, After) else wanted and wanted.number)

    def _keep(self, lease: Lease) -> None:
        self.taken.add(lease.key)
        self.table.leases[lease.key] = lease


@settings(max_examples=examples(400))
@given(histories)
def test_a_query_publishes_beside_a_kcl(history: list[tuple[str, object]]) -> None:
    """
    Whether a write is lost, is made without a response or is made later: no lease that the KCL has finished and deleted comes back.
    In the end all leases that the KCL never had say how far the query is.
    """
    world = World()
    try:
        for action, argument in history:
            if action == "publish":
                assert isinstance(argument, dict)
                world.publish(argument)
            else:
                assert isinstance(argument, int)
                world.act(action, argument)
        world.check()
    finally:
        world.publisher.close()
