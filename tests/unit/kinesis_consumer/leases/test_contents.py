"""What a lease says of a shard, in the attributes of this project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve

from kinesis_consumer.leases import (
    LeaseEmptiness,
    OpenBatch,
    describe_batch,
    describe_emptiness,
    open_batch,
    read_emptiness,
)
from kinesis_core.leases import OLDEST, Lease, LeaseCheckpoint

GOLDEN = Path(__file__).parents[3] / "golden" / "leases" / "consumer.json"
FIRST, LAST = LeaseCheckpoint("4966", 3), LeaseCheckpoint("4968", 1)
LEASE = Lease(
    "shardId-000000000000",
    LeaseCheckpoint("4966", 2),
    pending=LAST,
    pending_batch=describe_batch(LeaseCheckpoint("4966", 2), FIRST, LAST),
)


def test_descriptions_are_written_as_released() -> None:
    """The descriptions are exactly those in the golden file, which workers of every version read."""
    written = {
        "pendingBatch": [LEASE.pending_batch, describe_batch(OLDEST, LeaseCheckpoint("7"), LAST)],
        "emptyUntil": [
            describe_emptiness(LAST, LeaseEmptiness(1_790_000_000_000, 24)),
            describe_emptiness(OLDEST, LeaseEmptiness(1, 8760)),
        ],
    }
    assert json.dumps(written, indent=1) + "\n" == GOLDEN.read_text()


def test_the_batch_that_is_open() -> None:
    """A batch is open from its first user record to its last record, while checkpoint and pending checkpoint are those of its time."""
    assert open_batch(LEASE) == OpenBatch(FIRST, 4968)


@pytest.mark.parametrize(
    "changed",
    [
        evolve(LEASE, checkpoint=LeaseCheckpoint("4966", 3)),
        evolve(LEASE, pending=LeaseCheckpoint("4967")),
        evolve(LEASE, pending=None),
        evolve(LEASE, pending_batch=None),
        evolve(LEASE, pending_batch=""),
        evolve(LEASE, pending_batch="2 4966/2 4966/3 4968/1"),
        evolve(LEASE, pending_batch="1 4966/2 LATEST 4968/1"),
        evolve(LEASE, pending_batch="1 4966/2"),
    ],
)
def test_a_description_of_another_time(changed: Lease) -> None:
    """A description counts for nothing once a KCL has moved a checkpoint, or when it is of another version or malformed."""
    assert open_batch(changed) is None


def test_until_when_a_shard_was_empty() -> None:
    """Emptiness after a checkpoint holds for later checkpoints, too. It says nothing of records before its own."""
    emptiness = LeaseEmptiness(17, 168)
    lease = evolve(LEASE, empty_until=describe_emptiness(LeaseCheckpoint("4966", 2), emptiness))
    assert read_emptiness(lease) == emptiness
    assert read_emptiness(evolve(lease, checkpoint=LeaseCheckpoint("4967"))) == emptiness
    assert read_emptiness(evolve(lease, checkpoint=LeaseCheckpoint("4966", 1))) is None


def test_emptiness_without_the_retention() -> None:
    """Earlier versions did not write it: then the shortest one counts."""
    assert read_emptiness(evolve(LEASE, empty_until="1 4966/2 17")) == LeaseEmptiness(17, 24)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "1",
        "1 4966",
        "2 4966/2 17",
        "1 4966/2 soon",
        "1 never 17",
        "1 4966/2 17 24 5",
        "1 4966/2 soon 24",
        "1 4966/\u00b2 17",
        "1 4966/2 " + "9" * 5000,
        "1 " + "9" * 5000 + " 17",
        "1 4966/2 17 soon",
        "1 4966/2 \u0661",
    ],
)
def test_malformed_emptiness(text: str | None) -> None:
    """What cannot be read counts for nothing."""
    assert read_emptiness(evolve(LEASE, empty_until=text)) is None
