"""A short run of `python -m tools.consumer_chaos`, and its judge."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from kinesis_consumer.leases import updates
from kinesis_consumer.stores.sqlite import SqliteTable
from kinesis_core.leases import FINISHED, LEASE_OWNER, Lease, LeaseCheckpoint
from tools.consumer_chaos.journal import Delivery, read_journal
from tools.consumer_chaos.outcome import Outcome
from tools.consumer_chaos.run import run
from tools.consumer_chaos.script import Plan
from tools.consumer_chaos.verdict import StoredRecord, judge, uncommitted
from tools.consumer_chaos.worker import APPLICATION
from tools.consumer_chaos.workers import Incident, Workers

SHORT = Plan(seed=3, workers=4, records=10_000, kills=4, stops=2, pauses=1, reshards=4)


@pytest.mark.everything
@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")
def test_workers_are_killed_stopped_and_paused(tmp_path: Path) -> None:
    """
    Workers over one file of leases are killed, stopped and paused, while shards are split and merged, and writes of the file have lost
    and late responses. No record is lost. The records that are delivered again are those of batches that were not committed, in equal
    batches; keys stay in order; and what a worker is told of its commits is true.
    """
    outcome = run(SHORT, tmp_path / "run", print)
    assert not outcome.problems, "\n".join([*outcome.lines(), f"see {tmp_path}"])
    assert outcome.incidents == {"kill": 4, "stop": 2, "pause": 1}
    assert (outcome.reshards, outcome.records >= SHORT.records) == (4, True)


# The judge -------------------------------------------------------------------------------------------------------

A, B = "shardId-000000000000", "shardId-000000000001"
STORED = [StoredRecord(A, (1, 0), "k", 0), StoredRecord(A, (1, 1), "k", 1), StoredRecord(A, (2, 0), "l", 2)]
FIRST = Delivery("worker-1", A, "first", 10.0, ((1, 0), (1, 1)), (0, 1), 11.0, "committed")
SECOND = Delivery("worker-1", A, "second", 12.0, ((2, 0),), (2,), 13.0, "committed")


def lease(checkpoint: LeaseCheckpoint, owner: str = "worker-1") -> Lease:
    return Lease(A, checkpoint, owner=owner)


BEGUN = lease(LeaseCheckpoint("TRIM_HORIZON"))
HALF, DONE = lease(LeaseCheckpoint("1", 1)), lease(LeaseCheckpoint("2"))
LEASES = [BEGUN, HALF, DONE]


def problems(
    *deliveries: Delivery, stored: list[StoredRecord] = STORED, leases: list[Lease] = LEASES, numbers: int = 3
) -> list[str]:
    return list(judge(stored, numbers, deliveries, {A: leases}))


def test_batches_that_were_committed_once() -> None:
    """Nothing is wrong with batches that were committed once, or were delivered again because they were not."""
    assert problems(FIRST, SECOND) == []
    for outcome in ("dropped", "committing", "lost", "unconfirmed"):
        assert problems(evolve(FIRST, at_s=9.0, outcome=outcome), FIRST, SECOND) == []
        assert problems(evolve(FIRST, at_s=9.0, outcome=outcome, worker="worker-2"), FIRST, SECOND) == []


@pytest.mark.parametrize("last", [DONE, lease(FINISHED)])
def test_a_commit_during_which_the_worker_was_killed(last: Lease) -> None:
    """It was made if the worker wrote it into the table, whoever does whatever later."""
    killed = evolve(SECOND, outcome="committing")
    assert problems(FIRST, killed, leases=[BEGUN, HALF, last]) == []
    [problem] = problems(FIRST, killed, leases=[BEGUN, HALF, evolve(last, owner="worker-2")])
    assert "second was never committed, and is not delivered again" in problem
    again = evolve(SECOND, worker="worker-2", at_s=20.0)
    [problem, *_] = problems(FIRST, killed, again, leases=[BEGUN, HALF, last, evolve(last, owner="worker-2")])
    assert "second was delivered again after it was committed" in problem


@pytest.mark.parametrize(
    ("outcome", "leases", "message"),
    [
        (
            "committed",
            [BEGUN, HALF],
            "batch second is not committed by the table, but worker-1 was told 'committed'",
        ),
        ("lost", LEASES, "batch second is committed by the table, but worker-1 was told 'lost'"),
        ("dropped", LEASES, "batch second is committed by the table, but worker-1 was told 'dropped'"),
    ],
)
def test_a_commit_of_which_the_worker_was_told_something_else(
    outcome: str, leases: list[Lease], message: str
) -> None:
    """What a worker is told is what is in the table."""
    assert message in problems(FIRST, evolve(SECOND, outcome=outcome), leases=leases)


@pytest.mark.parametrize(
    ("deliveries", "message"),
    [
        ([FIRST], "1 records were never delivered"),
        ([FIRST, evolve(FIRST, at_s=20.0), SECOND], "first was delivered again after it was committed"),
        (
            [evolve(FIRST, at_s=9.0, outcome="lost", numbers=(0, 2)), FIRST, SECOND],
            "first had different records",
        ),
        ([FIRST, SECOND, evolve(SECOND, batch_id="third")], "1 records are in several batches"),
        (
            [FIRST, evolve(SECOND, records=((2, 0), (3, 0)))],
            "1 records were delivered that are not in the stream",
        ),
    ],
)
def test_what_the_judge_finds_in_journals(deliveries: list[Delivery], message: str) -> None:
    """Each broken promise has a message of its own."""
    assert [found for found in problems(*deliveries) if message in found]


def test_a_commit_of_which_the_worker_was_told_that_nobody_knows() -> None:
    """Either may be true, as long as the batch is delivered again if it is not committed."""
    unknown = evolve(SECOND, outcome="unconfirmed")
    again = evolve(SECOND, worker="worker-2", at_s=20.0)
    assert problems(FIRST, unknown) == []
    assert problems(FIRST, unknown, again, leases=[BEGUN, HALF, evolve(DONE, owner="worker-2")]) == []


@pytest.mark.parametrize("outcome", ["dropped", "lost", "committing", "unconfirmed"])
def test_a_batch_that_nobody_commits(outcome: str) -> None:
    """It would have to be delivered again."""
    message = (
        f"second was never committed, and is not delivered again: the last outcome of worker-1 is '{outcome}'"
    )
    found = problems(FIRST, evolve(SECOND, outcome=outcome), leases=[BEGUN, HALF])
    assert [problem for problem in found if message in problem]


def test_what_the_judge_finds_elsewhere() -> None:
    """Keys out of order, leases that stand before the end or go back, and records that the producer lost, are found, too."""
    one_key = [evolve(record, key="k") for record in STORED]
    late = evolve(FIRST, committing_s=14.0)
    assert [found for found in problems(late, SECOND, stored=one_key) if "older than committed ones" in found]
    copies = [evolve(record, is_misrouted=record.number == 2) for record in one_key]
    assert not [
        found for found in problems(late, SECOND, stored=copies) if "older than committed ones" in found
    ]
    before = f"the lease of {A} ends at 1/1, before the last record"
    assert before in problems(FIRST, SECOND, leases=[BEGUN, HALF])
    assert problems(FIRST, SECOND, leases=[*LEASES, HALF, DONE]) == [
        f"the lease of {A} went back from 2 to 1/1"
    ]
    assert problems(FIRST, SECOND, numbers=4) == ["the producer lost 1 records, such as 3"]


@pytest.mark.parametrize(
    ("last", "leases", "missing"),
    [
        (SECOND, LEASES, set()),
        (SECOND, [BEGUN, HALF], {(A, (2, 0))}),
        (evolve(SECOND, outcome="committing"), LEASES, set()),
        (evolve(SECOND, outcome="committing"), [BEGUN, HALF], {(A, (2, 0))}),
        (evolve(SECOND, outcome="committing"), [BEGUN, HALF, evolve(DONE, owner="worker-2")], {(A, (2, 0))}),
    ],
)
def test_what_is_left_to_do(last: Delivery, leases: list[Lease], missing: set[object]) -> None:
    """A run waits for each record in the stream, and not only for those of shards that have a lease."""
    child = StoredRecord(B, (9, 0), "k", 4)
    assert uncommitted([*STORED, child], [FIRST, last], {A: leases}) == {(B, (9, 0)), *missing}
    there = Delivery("worker-2", B, "third", 14.0, ((9, 0),), (4,), 15.0, "committed")
    written = {A: leases, B: [Lease(B, FINISHED, owner="worker-2")]}
    assert uncommitted([*STORED, child], [FIRST, last, there], written) == missing


def test_what_was_written(tmp_path: Path) -> None:
    """Each checkpoint that was in the table counts, with its worker, also after the lease is deleted."""
    workers = Workers(1, "http://127.0.0.1:1", tmp_path, {})
    table = SqliteTable(workers.leases_file, APPLICATION)
    table.create(A, updates.new_item(Lease(A, BEGUN.checkpoint)))
    for change in (updates.assign, updates.checkpoint, updates.renew):
        [now] = workers.leases()
        given = {updates.assign: ("worker-1",), updates.checkpoint: (DONE.checkpoint,)}.get(change, ())
        assert table.update(change(now, *given))
    table.delete(A, {})
    table.close()
    for _ in range(2):
        [(shard_id, leases)] = workers.written().items()
        assert [(shard_id, each.checkpoint, each.owner) for each in leases] == [
            (A, BEGUN.checkpoint, None),
            (A, DONE.checkpoint, "worker-1"),
        ]


def test_evidence_of_a_failed_run(tmp_path: Path) -> None:
    """It has the table of leases, and the end of the log of each worker."""
    workers = Workers(1, "http://127.0.0.1:1", tmp_path, {})
    table = SqliteTable(workers.leases_file, APPLICATION)
    table.create(A, {**updates.new_item(Lease(A, LeaseCheckpoint("1", 1))), LEASE_OWNER: "worker-1"})
    table.close()
    (tmp_path / "worker-1.log").write_text("begin" + 1000 * "." + "end")
    lease, log = workers.evidence()
    assert lease.startswith(f"lease of {A}: 1/1, pending None, owner worker-1")
    assert log == "worker-1.log: ..." + 997 * "." + "end"


def test_a_journal_survives_a_kill(tmp_path: Path) -> None:
    """What a worker wrote before it was killed counts, and half a line does not."""
    path = tmp_path / "worker-1.jsonl"
    path.write_text(
        f'["delivered", 10.0, "{A}", "first", [[1, 0, 0], [1, 1, 1]]]\n'
        f'["committing", 11.0, "{A}", "first", null]\n'
        f'["committed", 12.0, "{A}", "first", null]\n'
        f'["delivered", 13.0, "{A}", "second", [[2, 0,'
    )
    assert read_journal(path) == [FIRST]


def test_the_time_without_a_worker() -> None:
    """It lasts from a kill until another worker has a batch of the shard. What happens meanwhile makes it another kind."""
    kill = Incident("kill", "worker-1", 11.5, frozenset({A, B}))
    later = evolve(SECOND, worker="worker-2", at_s=14.0)

    def gaps(*incidents: Incident) -> dict[str, list[float]]:
        found = Outcome.of([FIRST, SECOND, later], incidents, records=3, reshards=0, seconds=1.0, problems=())
        return found.gaps_s

    assert gaps(kill) == {"kill": [2.5]}
    assert gaps(kill, Incident("stop", "worker-3", 12.0, frozenset())) == {"kill among others": [2.5]}


def test_a_plan_has_what_it_says() -> None:
    """A seed decides the order and the times, and all happen before the end."""
    strikes = SHORT.strikes()
    count: Callable[[str], int] = lambda kind: sum(each.kind == kind for each in strikes)  # noqa: E731 # shorter
    assert [count(kind) for kind in ("kill", "stop", "pause", "reshard")] == [4, 2, 1, 4]
    assert strikes == SHORT.strikes() != evolve(SHORT, seed=4).strikes()
    assert max(strike.turn for strike in strikes) < SHORT.turns()
