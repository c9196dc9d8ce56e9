"""Reports of workers that they are alive."""

from __future__ import annotations

from collections.abc import Collection

from attrs import evolve

from kinesis_consumer.assignment import Roster, WorkerReport, read_report, report_alive

WALL_S = 1_790_000_000.0
ALIVE = int(WALL_S)


def test_a_report_has_the_attributes_that_the_kcl_needs() -> None:
    """Times are whole seconds since the epoch. Empty metrics are valid, and absent ones are not."""
    update = report_alive("w1", WALL_S + 0.7)
    assert (update.key, update.expect, update.remove, update.add) == ("w1", {}, (), {})
    assert update.set == {
        "entityType": "WORKER_METRIC_STATS",
        "lut": ALIVE,
        "sts": {},
        "opr": {},
        "sup": 1,
        "slu": ALIVE,
        "properties": {"reportSeconds": "10"},
    }


def test_other_items_are_no_reports() -> None:
    """Leases, locks, and items without a time are passed over."""
    assert read_report({"leaseKey": "shardId-0", "checkpoint": "LATEST", "lut": ALIVE}) is None
    assert read_report({"leaseKey": "Leader", "entityType": "LEADER", "lut": ALIVE}) is None
    assert read_report({"leaseKey": "w1", "entityType": "WORKER_METRIC_STATS"}) is None
    assert read_report({"leaseKey": "w1", "entityType": "WORKER_METRIC_STATS", "lut": "soon"}) is None


def roster(updated: int, working: Collection[str] = ("w1",)) -> Roster:
    """Return what is known after one look at the report of `w1`, who has a lease."""
    seen = Roster()
    seen.look([WorkerReport("w1", updated)], 0.0, WALL_S, working)
    return seen


def test_the_first_sight_of_a_report_is_judged_by_the_time_in_it() -> None:
    """A report is good for a minute."""
    assert roster(ALIVE - 60).active(0.0) == {"w1"}
    assert roster(ALIVE - 61).active(0.0) == set()
    assert roster(ALIVE - 30).active(30.0) == {"w1"}
    assert roster(ALIVE - 30).active(30.1) == set()


def test_a_report_that_comes_often_is_believed_for_a_short_time() -> None:
    """
    A worker that reports each 4 s is dead 10 s after its last report, at first sight and later. Without a period, with a malformed
    one, or with a long one, a report is good for a minute.
    """
    item = {**report_alive("w1", ALIVE, 4).set, "leaseKey": "w1"}
    report = read_report(item)
    assert report == WorkerReport("w1", ALIVE, 10.0)
    seen = Roster()
    seen.look([report], 0.0, WALL_S + 9, ["w1"])
    assert (seen.active(1.0), seen.active(1.1)) == ({"w1"}, set())
    seen.look([evolve(report, updated=ALIVE + 4)], 2.0, WALL_S + 11)
    assert (seen.active(12.0), seen.active(12.1)) == ({"w1"}, set())
    for properties in ({}, {"reportSeconds": "often"}, {"reportSeconds": "30"}):
        assert read_report({**item, "properties": properties}) == WorkerReport("w1", ALIVE, 60.0)


def test_an_older_report_of_a_worker_without_leases_proves_nothing() -> None:
    """It may be of a worker that was killed, and whose leases an earlier leader has given to others."""
    assert roster(ALIVE - 12, ()).active(0.0) == {"w1"}
    seen = roster(ALIVE - 13, ())
    assert seen.active(0.0) == set()
    seen.look([WorkerReport("w1", ALIVE + 17)], 17.0, WALL_S + 17)
    assert seen.active(17.0) == {"w1"}


def test_a_report_that_changes_is_alive_whatever_its_clock_says() -> None:
    """A worker whose clock is an hour slow is alive once its report changes."""
    seen = roster(ALIVE - 3600)
    seen.look([WorkerReport("w1", ALIVE - 3590)], 10.0, WALL_S + 10)
    assert seen.active(70.0) == {"w1"}
    assert seen.active(70.1) == set()


def test_a_clock_that_is_fast_keeps_nobody_alive() -> None:
    """A report from the future is good for a minute like any other."""
    assert roster(ALIVE + 3600).active(60.0) == {"w1"}
    assert roster(ALIVE + 3600).active(60.1) == set()


def test_a_suspect_is_given_nothing_until_it_reports_again() -> None:
    """Its report is still fresh, but it does not renew what it has."""
    seen = roster(ALIVE)
    seen.suspect(["w1", "unknown"])
    seen.look([WorkerReport("w1", ALIVE)], 5.0, WALL_S + 5)
    assert seen.active(5.0) == set()
    seen.look([WorkerReport("w1", ALIVE + 6)], 6.0, WALL_S + 6)
    assert seen.active(6.0) == {"w1"}


def test_a_worker_that_ended_is_not_active() -> None:
    """It has deleted its report."""
    seen = roster(ALIVE)
    seen.look([], 1.0, WALL_S + 1)
    assert seen.active(1.0) == set()


def test_reports_are_forgotten_after_a_day() -> None:
    """Nobody else deletes the report of a worker that was killed."""
    seen = roster(ALIVE)
    assert seen.forgotten(86_400.0) == []
    assert seen.forgotten(86_400.1) == [WorkerReport("w1", ALIVE)]
