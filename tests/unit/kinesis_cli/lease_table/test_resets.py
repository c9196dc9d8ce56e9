"""Where an application reads on after a reset."""

from __future__ import annotations

import pytest

from kinesis_cli.ending import CommandError, UsageError
from kinesis_cli.lease_table import parse_reset
from kinesis_cli.lease_table.resets import Reset, plan_resets
from kinesis_cli.lease_table.showing import describe
from kinesis_cli.lease_table.snapshot import Snapshot
from kinesis_core.leases import ALL_USER_RECORDS, NO_USER_RECORD, OLDEST, Lease, LeaseCheckpoint

NOW_MS = 1_800_000_000_000
NUMBER = "49590338271490256608559692538361571095921575989136588898"
SHARDS = ("shardId-000000000000", "shardId-000000000001")


@pytest.mark.parametrize(
    ("position", "checkpoint"),
    [
        ("TRIM_HORIZON", OLDEST),
        ("LATEST", LeaseCheckpoint("LATEST")),
        ("now", LeaseCheckpoint("LATEST")),
        (NUMBER, LeaseCheckpoint(NUMBER, NO_USER_RECORD)),
        (f"AT {NUMBER}", LeaseCheckpoint(NUMBER, NO_USER_RECORD)),
        (f"AT {NUMBER}/3", LeaseCheckpoint(NUMBER, 2)),
        (f"after {NUMBER}", LeaseCheckpoint(NUMBER, ALL_USER_RECORDS)),
        (f"AFTER {NUMBER}/3", LeaseCheckpoint(NUMBER, 3)),
    ],
)
def test_positions(position: str, checkpoint: LeaseCheckpoint) -> None:
    """A checkpoint names the last user record that was processed."""
    assert parse_reset(f"{SHARDS[0]}={position}", NOW_MS) == Reset(SHARDS[0], checkpoint)


@pytest.mark.parametrize(
    ("position", "until_ms"),
    [("10m", NOW_MS - 600_000), ("2026-01-31T09:00:00Z", 1_769_850_000_000)],
)
def test_times(position: str, until_ms: int) -> None:
    """A time becomes a checkpoint later, when Kinesis is asked."""
    assert parse_reset(f"all={position}", NOW_MS) == Reset("all", None, until_ms)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all",
        "=LATEST",
        "all=",
        "all=soon",
        f"all={NUMBER}",
        "all=2999-01-31T09:00:00Z",
        'all={"kclApplication": "billing"}',
    ],
)
def test_malformed(text: str) -> None:
    """A value that names no position, or none for that shard, is a wrong command line."""
    with pytest.raises(UsageError, match="--reset"):
        parse_reset(text, NOW_MS)


@pytest.mark.parametrize(
    "position", ["TRIM_HORIZON", "LATEST", f"AT {NUMBER}", f"AFTER {NUMBER}", f"AFTER {NUMBER}/3"]
)
def test_shown_positions_are_accepted(position: str) -> None:
    """A checkpoint is shown as the option accepts it."""
    checkpoint = parse_reset(f"{SHARDS[0]}={position}", NOW_MS).checkpoint
    assert checkpoint is not None
    assert describe(checkpoint) == position


def plan(*texts: str, leases: tuple[Lease, ...], found: LeaseCheckpoint | None = OLDEST) -> dict[str, str]:
    changes = plan_resets(
        [parse_reset(text, NOW_MS) for text in texts], Snapshot(leases, {}), lambda _lease, _ms: found
    )
    return {change.lease.shard_id: describe(change.checkpoint) for change in changes if change.checkpoint}


LEASES = tuple(Lease(shard, LeaseCheckpoint("LATEST")) for shard in SHARDS)


def test_all_but_one() -> None:
    """A later value replaces an earlier one for its shard."""
    assert plan("all=TRIM_HORIZON", f"{SHARDS[1]}={NUMBER}", leases=LEASES) == {
        SHARDS[0]: "TRIM_HORIZON",
        SHARDS[1]: f"AT {NUMBER}",
    }


def test_an_unknown_shard() -> None:
    """A shard without a lease is an error that names the others."""
    with pytest.raises(CommandError, match=f"no lease of shard 7. There are leases of: {', '.join(SHARDS)}"):
        plan("7=LATEST", leases=LEASES)


def test_finished_shards_stay_finished() -> None:
    """At LATEST a finished shard has nothing to read, and a shard that is gone has no records before a time."""
    done = Lease(SHARDS[0], LeaseCheckpoint("SHARD_END"))
    assert plan("all=LATEST", leases=(done, LEASES[1])) == {SHARDS[1]: "LATEST"}
    assert plan("all=10m", leases=(done,), found=None) == {}
    assert plan("all=TRIM_HORIZON", leases=(done,)) == {SHARDS[0]: "TRIM_HORIZON"}
