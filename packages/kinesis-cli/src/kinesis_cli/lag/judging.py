"""Turns what a shard shows after a position into a state and a lag. Pure: the result of the check and the time are arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from kinesis_cli.lag.lineage import Measurement
from kinesis_cli.lag.results import ShardLag, State

if TYPE_CHECKING:
    from kinesis_cli.lag.probing import Unread
    from kinesis_core.shards import Standing

EXPIRING = 0.75
"""The share of the retention after which the oldest unread record is about to be lost."""
NEAR_END = 23 / 24
"""The share after which the oldest record of a shard shows that others have just expired before it."""

_LOST = "Records expired before they were read: they are lost."
_MAYBE = "The position has expired. Records after it may have expired before they were read."
_EMPTY = "The record at the position has expired, and the shard is empty."
_STUCK = "No record comes from here, and the lag stays at the retention: the records are lost."


@frozen
class Times:
    """The stream's retention and the service's time, in milliseconds."""

    retention_ms: int
    now_ms: int

    def age_ms(self, arrived_ms: int) -> int:
        return max(0, self.now_ms - arrived_ms)


def needs_standing(measurement: Measurement, look: Unread, times: Times) -> bool:
    """Return whether one has to ask if an older record than the position's is left: a loss is possible, and its own one is not there."""
    is_loss_possible = look.first is not None or _is_near_end(look, times)
    return is_loss_possible and _is_named_gone(measurement, look) and not _is_recent(measurement, times)


def judge(measurement: Measurement, look: Unread, standing: Standing | None, times: Times) -> ShardLag:
    """Return the lag. *standing* is that of the record which the position names, if `needs_standing` asked for it."""
    state, note = _state(measurement, look, standing, times)
    if measurement.waits and state in {State.CURRENT, State.BEHIND}:
        state, note = State.WAITING, "A parent of the shard is not finished."
    return measurement.shard_lag(state, _lag_ms(look, times), note)


def _lag_ms(look: Unread, times: Times) -> int:
    """Return the age of the first unread record. MillisBehindLatest does not count that one, as it is on the page."""
    if look.first is None:
        return look.behind_ms
    if look.first.arrived_ms is None:
        return max(1, look.behind_ms)
    return max(1, times.age_ms(look.first.arrived_ms))  # the service's clock is known to the second


def _is_near_end(look: Unread, times: Times) -> bool:
    return _lag_ms(look, times) >= times.retention_ms * NEAR_END


def _state(
    measurement: Measurement, look: Unread, standing: Standing | None, times: Times
) -> tuple[State, str]:
    from kinesis_core.shards import Expired, Unseen

    lag_ms, is_near_end = _lag_ms(look, times), _is_near_end(look, times)
    if look.first is None:
        if isinstance(standing, (Expired, Unseen)):
            return (State.EXPIRED, _STUCK) if isinstance(standing, Expired) else (State.DOUBTFUL, _MAYBE)
        is_gone = _is_named_gone(measurement, look) and not _is_recent(measurement, times)
        return (State.BEHIND, "") if lag_ms else (State.CURRENT, _EMPTY if is_gone else "")
    if _may_have_lost(measurement, look, standing, times):
        is_sure = is_near_end or _is_unread(measurement)
        return (State.EXPIRED, _LOST) if is_sure else (State.DOUBTFUL, _MAYBE)
    return (State.EXPIRING if lag_ms >= times.retention_ms * EXPIRING else State.BEHIND), ""


def _may_have_lost(measurement: Measurement, look: Unread, standing: Standing | None, times: Times) -> bool:
    """Return whether records between the position and the first record that is left may have expired."""
    from kinesis_core import AtTimestamp
    from kinesis_core.shards import Expired, Unseen

    if _is_recent(measurement, times):
        return False
    if isinstance(measurement.cut, AtTimestamp):
        return measurement.position.arrived_ms is not None or _is_near_end(look, times)
    return _is_named_gone(measurement, look) and isinstance(standing, (Expired, Unseen))


def _is_named_gone(measurement: Measurement, look: Unread) -> bool:
    from kinesis_core import After, At

    return isinstance(measurement.cut, (At, After)) and not look.is_named_left


def _is_unread(measurement: Measurement) -> bool:
    """Return whether the record that the position names is one that the reader has not read."""
    from kinesis_core import At

    cut = measurement.cut
    return isinstance(cut, At) and cut.skip == 0


def _is_recent(measurement: Measurement, times: Times) -> bool:
    """Return whether nothing after the position can have expired: no record after it arrived before a time that is recent."""
    from kinesis_core import AtTimestamp
    from kinesis_core.model import HOUR_MS
    from kinesis_core.shards import is_expiring

    cut, position = measurement.cut, measurement.position
    times_ms = (position.arrived_ms, cut.epoch_ms if isinstance(cut, AtTimestamp) else None)
    known = [ms for ms in times_ms if ms is not None]
    hours = times.retention_ms // HOUR_MS
    if position.kept_hours is not None:
        hours = min(hours, position.kept_hours)
    return bool(known) and not is_expiring(max(known), times.now_ms, hours)
