"""
Whether a record is still in its shard. Kinesis trims a shard from its oldest record on: while a record is left, no later one has expired.

An empty page does not show it. The oldest record of the shard does so as well. While neither can be read, one has to wait.
"""

from __future__ import annotations

from msgspec import Struct

from kinesis_core.errors import StreamNotFoundError
from kinesis_core.model import At, Record, TrimHorizon
from kinesis_core.shards.calls import Cursor, ShardCalls
from kinesis_core.shards.gaps import STALLED_PAGES
from kinesis_core.shards.stalls import Stall


class Left(Struct, frozen=True):
    """The record is in the shard."""

    record: Record


class Passed(Struct, frozen=True):
    """The record is not in the shard, or cannot be read. An older one can: no record after its number has expired."""

    oldest: Record


class Expired(Struct, frozen=True):
    """The record is not in the shard, and no older one is."""

    oldest: Record | None
    """The oldest record that is left. None if none is, and where Kinesis no longer knows the shard."""


class Unseen(Struct, frozen=True):
    """Pages stay empty, also those of the oldest record. It proves nothing."""


Seen = Left | Passed | Expired
Standing = Seen | Unseen


def find_record(
    calls: ShardCalls,
    number: int,
    max_stalled: int = STALLED_PAGES,
    *,
    is_absent: bool = False,
    with_data: bool = False,
) -> Standing:
    """
    Return whether record *number* is still in the shard. Gaps are followed until *max_stalled* pages in a row bring no progress.

    *is_absent*: whether the record was not found where it should be, so that the oldest one alone shows the rest.

    Raises:
        ServiceError: As for `ShardCalls.read`. A shard that Kinesis does not know is no error.
    """
    named = None if is_absent else Cursor(At(number))
    oldest: Cursor | None = Cursor(TrimHorizon())
    try:
        while named is not None or oldest is not None:  # which of the two can be read first is not known
            if named is not None:
                look = calls.read(named, 1, with_data=with_data)
                if look.records and look.records[0].number == number:
                    return Left(look.records[0])
                named = look.onward(max_stalled)
            if oldest is not None:
                look = calls.read(oldest, 1, with_data=with_data)
                if not look.is_in_gap:
                    return _judge(number, look.records[0] if look.records else None)
                oldest = look.onward(max_stalled)
    except StreamNotFoundError:
        return Expired(None)
    return Unseen()


def await_record(calls: ShardCalls, number: int, stall: Stall, *, with_data: bool = False) -> Seen:
    """
    Return whether record *number* is still in the shard, once that can be seen.

    Raises:
        UnavailableError: Neither that record nor the oldest one can be read for too long.
        ServiceError: As for `find_record`.
    """
    since_s = calls.clock.now_s()
    while isinstance(found := find_record(calls, number, with_data=with_data), Unseen):
        stall.goes_on(At(number), STALLED_PAGES, since_s, calls.clock.now_s())
    return found


def _judge(number: int, oldest: Record | None) -> Seen:
    if oldest is None or oldest.number > number:
        return Expired(oldest)
    return Left(oldest) if oldest.number == number else Passed(oldest)
