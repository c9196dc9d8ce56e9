"""Histories of a consumer group, to be generated, played, and brought to rest."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from attrs import evolve, frozen
from hypothesis import strategies as st

from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.shards import InitialPosition
from kinesis_core.model import AtTimestamp, Latest, TrimHorizon
from property.histories import reshard
from property.simulated_group import FATES, KINDS, Fault, Member, SimulatedGroup
from support.aggregates import aggregate
from support.fake_stream import FakeClock, FakeStream, Mood

History = Sequence[tuple[Any, ...]]
MOST_WORKERS = 5
REST_S = 1800.0
"""Within this time a group without faults must have read everything, and have shared its leases evenly."""

moods = st.builds(
    Mood,
    throttles=st.sampled_from([0, 0, 20]),
    empty_pages=st.sampled_from([0, 0, 40]),
    short_pages=st.sampled_from([0, 30]),
    expiries=st.sampled_from([0, 10]),
    end_page_of_its_own=st.booleans(),
    stale_listings=st.sampled_from([0, 0, 40, 90]),
)
_which = st.integers(0, 99)
_pauses = st.sampled_from([0.03, 0.4, 0.8, 1.3, 4.5])
"""In durations of a lease."""
_always = st.one_of(
    st.tuples(st.just("wait"), _pauses),
    st.tuples(st.just("put"), _which, st.integers(1, 8), st.booleans()),
)
_mishaps: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "split": st.tuples(st.just("split"), _which),
    "merge": st.tuples(st.just("merge"), _which),
    "join": st.tuples(st.just("join")),
    "kill": st.tuples(st.just("kill"), _which),
    "close": st.tuples(st.just("close"), _which),
    "pause": st.tuples(st.just("pause"), _which, _pauses),
    "set clock": st.tuples(st.just("set clock"), _which, st.sampled_from([-7200.0, -20.0, 20.0, 7200.0])),
    "outage": st.tuples(st.just("outage"), _pauses),
    "cut off": st.tuples(st.just("cut off"), _which, _pauses),
    "hold": st.tuples(st.just("hold"), _which, _pauses),
} | {
    fate: st.tuples(
        st.just("fault"),
        st.builds(
            Fault,
            call=st.sampled_from(["renew", "renew", "pending", "commit", "create", "any", *KINDS]),
            skipped=st.sampled_from([0, 0, 0, 1, 2, 5]),
            what=st.just(fate),
            durations=_pauses,
        ),
    )
    for fate in FATES
}


def _steps(kinds: Sequence[str]) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    step = st.one_of(_always, *(_mishaps[kind] for kind in kinds))
    return st.lists(step, max_size=8) | st.lists(step, min_size=10, max_size=40)


# A history of few kinds of mishaps goes deeper than one of all: kills would end what other mishaps begin.
steps = st.lists(st.sampled_from(list(_mishaps)), min_size=1, max_size=6, unique=True).flatmap(_steps)


def unanswered_steps(kind: str) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Return histories in which writes of one *kind* get no response, a late one, or one that a stopped process does not see."""
    fates = ("lose", "vanish", "late", "delay after", "pause after", "pause before", "kill after")
    fault = st.builds(Fault, st.just(kind), st.integers(0, 2), st.sampled_from(fates), _pauses)
    causes = [_mishaps[cause] for cause in ("split", "merge", "join", "close")]
    step = st.one_of(st.tuples(st.just("fault"), fault), _always, *causes)
    return st.lists(step, min_size=4, max_size=20)


peaceful_steps = st.lists(
    st.one_of(_always, *(_mishaps[kind] for kind in ("split", "merge", "join", "join", "close"))), max_size=30
)
"""Without mishaps: workers come and go, and shards."""


@frozen
class Scene:
    """With what a history begins."""

    shards: int
    workers: int
    start: str
    mood: Mood
    is_young: bool
    earlier: list[tuple[str, int]]
    """What happened to the stream before the group began."""
    settings: GroupSettings
    traffic_s: float
    """A record is put so often."""
    processing_s: float
    """How long programs need for a batch, on average."""
    seed: int


scenes = st.builds(
    Scene,
    shards=st.integers(1, 4),
    workers=st.sampled_from([1, 2, 3, 3]),
    start=st.sampled_from(["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"]),
    mood=moods,
    is_young=st.booleans(),
    earlier=st.lists(st.tuples(st.sampled_from(["put", "split", "merge"]), _which), max_size=4),
    settings=st.builds(
        GroupSettings,
        lease_duration_s=st.sampled_from([3.0, 6.0, 10.0]),
        fetch_interval_s=st.sampled_from([0.3, 1.0]),
        max_batch_records=st.sampled_from([1, 2, 5, 100]),
        max_buffered_bytes=st.sampled_from([1, 10_000]),
        hand_over_timeout_s=st.sampled_from([0.0, 3.0, 30.0, 100.0]),
    ),
    traffic_s=st.sampled_from([0.1, 0.5, 2.0]),
    processing_s=st.sampled_from([0.01, 0.3, 1.5]),
    seed=st.integers(0, 2**32),
)


def begin(scene: Scene) -> SimulatedGroup:
    """Return a group whose workers have just been started."""
    rng = random.Random(scene.seed)
    clock = FakeClock()
    stream = FakeStream(clock, rng).create(scene.shards)
    if scene.is_young:
        stream.created_ms = stream.now_ms()
    for kind, where in scene.earlier:
        clock.sleep(1.0)
        if kind == "put":
            _put(stream, where, 5, is_aggregated=where % 2 == 0)
        else:
            reshard(stream, kind, where)
    clock.sleep(1.0)
    positions: dict[str, InitialPosition] = {
        "TRIM_HORIZON": TrimHorizon(),
        "LATEST": Latest(),
        "AT_TIMESTAMP": AtTimestamp(stream.now_ms() - 1500),
    }
    position = positions[scene.start]
    # Of an old stream, a first listing without its oldest shards looks as if they had left it.
    stream.mood = scene.mood if scene.is_young else Mood()
    group = SimulatedGroup(stream, scene.settings, position, rng, scene.processing_s)
    group.simulation.process("producer").start("put", lambda: _produce(group, scene.traffic_s))
    for _ in range(scene.workers):
        group.join()
    return group


def play(group: SimulatedGroup, history: History) -> None:
    """Let all steps of *history* happen, one after the other, while the group works."""
    duration_s = group.settings.lease_duration_s
    for step in history:
        match step:
            case ("put", where, count, is_aggregated):
                _put(group.stream, where, count, is_aggregated=is_aggregated)
            case ("wait", durations):
                group.simulation.sleep(durations * duration_s)
            case ("split" | "merge" as kind, where):
                reshard(group.stream, kind, where)
            case ("join",) if len(group.alive()) < MOST_WORKERS:
                group.join()
            case ("outage", durations):
                group.outage_until_s = group.simulation.clock.now + durations * duration_s
            case ("fault", fault):
                group.faults.append(evolve(fault))
            case (kind, where, *rest) if group.alive():
                _happen(group, kind, group.alive()[where % len(group.alive())], *rest)
        group.simulation.sleep(group.rng.choice([0.01, 0.3, 0.05 * duration_s, 0.6 * duration_s]))
        if not group.alive():
            group.join()


def _happen(group: SimulatedGroup, kind: str, member: Member, durations: float = 0.0) -> None:
    seconds = durations * group.settings.lease_duration_s
    match kind:
        case "kill":
            member.process.kill()
        case "close":
            member.close()
        case "pause":
            member.pause(seconds)
        case "cut off":
            member.cut_off(seconds)
        case "hold":
            member.hold_s = seconds
        case "set clock":
            member.wall_clock.offset_s += durations


def _produce(group: SimulatedGroup, pause_s: float) -> None:
    while group.is_disturbed:
        _put(group.stream, group.rng.randrange(100), 1, is_aggregated=group.rng.random() < 0.3)
        group.simulation.sleep(group.rng.uniform(0, 2 * pause_s))


def _put(stream: FakeStream, where: int, count: int, *, is_aggregated: bool) -> None:
    shards = stream.open_shards()
    for i in range(count):
        data = b"x" * (1 + i)
        if is_aggregated:
            data = aggregate([(f"key-{i}-{j}", None, b"y" * j) for j in range(1 + (where + i) % 3)])
        stream.put(shards[(where + i // 2) % len(shards)], data)


def come_to_rest(group: SimulatedGroup) -> None:
    """Let all faults end, and time pass until everything is read and the leases are shared evenly."""
    group.is_disturbed, group.processing_s = False, 0.0
    group.faults.clear()
    group.stream.mood = Mood()
    group.simulation.sleep(0.01)
    if not any(not member.is_stopping for member in group.alive()):
        group.join()
    for shard_id in group.stream.open_shards():
        group.stream.put(shard_id, b"the last one")
    deadline_s = group.simulation.clock.now + REST_S
    while problem := _unrest(group):
        assert group.simulation.clock.now < deadline_s, problem
        group.simulation.sleep(3.0)


def _unrest(group: SimulatedGroup) -> str:
    """Return what is still to be done by the group; "" if nothing is."""
    leases = [lease for lease in group.leases() if not lease.is_finished]
    for lease in leases:
        owners = [name for name, reader in group.readers_of(lease.key) if reader.held.is_ours]
        if lease.checkpoint_owner is not None or owners != [lease.owner]:
            return f"{lease.key} is of {lease.owner}, and read by {owners}"
    if bare := set(group.stream.open_shards()) - {lease.shard_id for lease in leases}:
        return f"{sorted(bare)} have no lease"
    loads = Counter(lease.owner for lease in leases)
    spread = [loads[member.name] for member in group.alive()]
    if max(spread) > min(spread) + 1:
        return f"the leases are not shared evenly: {loads}"
    left = missing(group)
    return f"{len(left)} records are not committed: {sorted(left)[:3]}" if left else ""


def missing(group: SimulatedGroup) -> set[tuple[int, int]]:
    """Return the records that the group should have committed, and has not."""
    since_ms = 0
    if isinstance(group.initial, Latest):
        since_ms = group.ledger.began_ms or group.stream.now_ms()
    elif isinstance(group.initial, AtTimestamp):
        since_ms = group.initial.epoch_ms
    return group.ledger.missing(since_ms)
