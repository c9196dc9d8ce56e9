"""Where an application continues after the option --reset."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from attrs import frozen

from kinesis_cli.ending import CommandError, UsageError
from kinesis_cli.lease_stores import Change
from kinesis_cli.lease_table.changes import reset
from kinesis_cli.lease_table.snapshot import Snapshot
from kinesis_cli.moments import parse_start
from kinesis_core import AtTimestamp, Latest, TrimHorizon
from kinesis_core.leases import ALL_USER_RECORDS, LATEST, NO_USER_RECORD, OLDEST, Lease, LeaseCheckpoint

ALL = "all"
_NUMBER = re.compile(r"(?:(AT|AFTER)\s+)?(\d{2,129})(?:/(\d+))?", re.IGNORECASE)
_FORM = "--reset accepts SHARD=POSITION"


@frozen
class Reset:
    """One value of the option."""

    shard: str
    """The id of a shard, or `all`."""
    checkpoint: LeaseCheckpoint | None
    """None: the last record before *until_ms*, which Kinesis must be asked for."""
    until_ms: int | None = None


def parse_reset(text: str, now_ms: int) -> Reset:
    """
    Return what a value of --reset names.

    Raises:
        UsageError: It names nothing.
    """
    shard, separator, position = text.partition("=")
    if not separator or not shard or not position:
        raise UsageError(
            f"--reset is '{text}'. Use SHARD=POSITION. Example: --reset shardId-000000000000=TRIM_HORIZON"
        )
    if number := _NUMBER.fullmatch(position.strip()):
        if shard == ALL:
            raise UsageError(f"{_FORM}; a sequence number belongs to one shard, and {text} is for all.")
        return Reset(shard, _numbered(*number.groups()))
    match parse_start(position, "--reset", now_ms):
        case TrimHorizon():
            return Reset(shard, OLDEST)
        case Latest():
            return Reset(shard, LeaseCheckpoint(LATEST))
        case AtTimestamp(until_ms) if until_ms <= now_ms:
            return Reset(shard, None, until_ms)
        case AtTimestamp():
            raise UsageError(f"{_FORM}; {position} is in the future.")
        case _:
            raise UsageError(f"{_FORM}; a POSITION is TRIM_HORIZON, LATEST, a sequence number or a time.")


def _numbered(word: str | None, number: str, sub: str | None) -> LeaseCheckpoint:
    """A checkpoint names the last user record that was processed. So AT names the one before the record."""
    if (word or "AT").upper() == "AFTER":
        return LeaseCheckpoint(number, ALL_USER_RECORDS if sub is None else int(sub))
    return LeaseCheckpoint(number, NO_USER_RECORD if sub is None else int(sub) - 1)


FindCheckpoint = Callable[[Lease, int], "LeaseCheckpoint | None"]
"""Returns the checkpoint of the last record of a shard before a time; None if the shard is gone."""


def plan_resets(resets: Sequence[Reset], snapshot: Snapshot, find: FindCheckpoint) -> list[Change]:
    """
    Return the changes that *resets* ask for. A later value for a shard replaces an earlier one.

    `all` leaves out shards that are finished where their records do not matter: at LATEST, and where Kinesis has none left.

    Raises:
        CommandError: There is no lease of a shard.
    """
    wanted: dict[str, tuple[Lease, Reset]] = {}
    for each in resets:
        found = [lease for lease in snapshot.leases if each.shard in (ALL, lease.shard_id)]
        if not found:
            known = ", ".join(lease.shard_id for lease in snapshot.leases[:20]) or "none"
            raise CommandError(f"There is no lease of shard {each.shard}. There are leases of: {known}.")
        wanted |= {lease.key: (lease, each) for lease in found}
    changes = []
    for lease, each in wanted.values():
        checkpoint = _checkpoint(lease, each, find)
        if checkpoint is not None:
            changes.append(reset(lease, checkpoint))
    return changes


def _checkpoint(lease: Lease, wanted: Reset, find: FindCheckpoint) -> LeaseCheckpoint | None:
    if wanted.checkpoint is None:
        return find(lease, wanted.until_ms or 0)
    if wanted.shard == ALL and lease.is_finished and wanted.checkpoint.number == LATEST:
        return None
    return wanted.checkpoint
