"""Which workers run, as two looks at a lease table show."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kinesis_cli.lease_table.activity import Life, find_workers, watch
from kinesis_cli.lease_table.snapshot import Snapshot
from kinesis_core.leases import OLDEST, Lease, LeaseCheckpoint
from support.fake_stream import FakeClock

WALL_S = 1_800_000_000.0


def lease(shard: str, owner: str | None, counter: int = 1, **more: object) -> Lease:
    return Lease(shard, OLDEST, owner=owner, counter=counter, **more)  # type: ignore[arg-type]


def look(*leases: Lease, reports: Mapping[str, float] | None = None) -> Snapshot:
    return Snapshot(leases, reports or {})


def lives(first: Snapshot, last: Snapshot, watched_s: float = 4.0) -> dict[str, Life]:
    return {worker.name: worker.life for worker in find_workers(first, last, watched_s, WALL_S)}


def test_a_counter_that_moves() -> None:
    """A worker runs if the counter of one of its leases moves."""
    first = look(lease("a", "one"), lease("b", "one"), lease("c", "two"))
    last = look(lease("a", "one"), lease("b", "one", 2), lease("c", "two"))
    assert lives(first, last) == {"one": Life.RUNNING, "two": Life.SILENT}


def test_unwatched() -> None:
    """Without a second look nobody knows."""
    assert lives(look(lease("a", "one")), look(lease("a", "one")), 0.0) == {"one": Life.UNKNOWN}


@pytest.mark.parametrize(
    ("watched_s", "life"), [(1.0, Life.UNKNOWN), (3.4, Life.UNKNOWN), (3.5, Life.SILENT)]
)
def test_a_short_watch(watched_s: float, life: Life) -> None:
    """A worker renews every 3.3 seconds. One that was watched for less may run, and nobody knows."""
    (worker,) = find_workers(look(lease("a", "one")), look(lease("a", "one")), watched_s, WALL_S)
    assert worker.life is life
    assert worker.may_run is (life is Life.UNKNOWN)


def test_a_hand_over() -> None:
    """During a hand-over it is the old owner who renews."""
    first = look(lease("a", "two", checkpoint_owner="one"))
    last = look(lease("a", "two", 2, checkpoint_owner="one"))
    assert lives(first, last) == {"one": Life.RUNNING}


def test_a_worker_that_lets_go() -> None:
    """A worker that has let go of its last lease was running a moment ago."""
    assert lives(look(lease("a", "one")), look(lease("a", None, 2))) == {"one": Life.RUNNING}


@pytest.mark.parametrize(
    ("before_s", "now_s", "life"),
    [
        (WALL_S - 600, WALL_S - 600, Life.SILENT),
        (WALL_S - 60, WALL_S - 60, Life.REPORTED),
        (WALL_S - 600, WALL_S - 599, Life.RUNNING),
        (WALL_S + 999, WALL_S + 999, Life.REPORTED),
        (None, WALL_S - 600, Life.RUNNING),
    ],
)
def test_reports(before_s: float | None, now_s: float, life: Life) -> None:
    """A worker without leases runs if its report changes, whatever its clock says, and may run while it is young."""
    first = look(reports={} if before_s is None else {"one": before_s})
    assert lives(first, look(reports={"one": now_s})) == {"one": life}


def test_finished_leases_are_not_counted() -> None:
    """The leases of a worker are those that it has not finished."""
    done = Lease("b", LeaseCheckpoint("SHARD_END"), owner="one")
    (worker,) = find_workers(look(), look(lease("a", "one"), done), 0.0, WALL_S)
    assert worker.leases == 1


def test_a_watch_ends_once_all_is_clear() -> None:
    """The table is watched until all workers are seen to run, and no longer."""
    clock = FakeClock()
    looks = iter([1, 1, 2])
    watched = watch(lambda: look(lease("a", "one", next(looks))), 4.0, clock, clock)
    assert [worker.life for worker in watched.workers] == [Life.RUNNING]
    assert watched.watched_s == 1.0


def test_a_watch_of_silent_workers() -> None:
    """While a worker is silent the table is watched for the whole time."""
    clock = FakeClock()
    watched = watch(lambda: look(lease("a", "one")), 4.0, clock, clock)
    assert (watched.watched_s, [worker.life for worker in watched.workers]) == (4.0, [Life.SILENT])


def test_slow_looks() -> None:
    """The time that the first and the last look take is not watched."""
    clock = FakeClock()

    def scan() -> Snapshot:
        clock.sleep(5.0)
        return look(lease("a", "one"))

    watched = watch(scan, 0.4, clock, clock)
    assert [worker.life for worker in watched.workers] == [Life.UNKNOWN]
    assert watched.watched_s == pytest.approx(0.4)


def test_nobody_to_watch() -> None:
    """A table without workers is not watched."""
    clock = FakeClock()
    assert watch(lambda: look(lease("a", None)), 4.0, clock, clock).watched_s == 0
