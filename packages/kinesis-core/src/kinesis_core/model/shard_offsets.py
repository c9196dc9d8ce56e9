"""How far one shard was read: its cut, and what is known of the batch that ends there."""

from __future__ import annotations

from reprlib import Repr
from typing import Any

from attrs import evolve, field, frozen

from kinesis_core.errors import OffsetError
from kinesis_core.model.cuts import LAST_EPOCH_MS, After, At, AtTimestamp, Cut, ShardEnd, TrimHorizon


@frozen
class Estimate:
    """The estimated number and age of the records that a batch takes from one shard."""

    records: int
    """
    The approximate number of records, where an aggregate counts as one. The first records are counted, the others are
    estimated from the shard's rate.
    """
    age_ms: int | None
    """Milliseconds between the arrival of the first record and the plan; None when Kinesis reports no arrival time."""


MAX_DIGITS = 129
"""A sequence number has at most this many. Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecord.html"""
MAX_NUMBER = 10**MAX_DIGITS - 1

SHARD_FIELDS = frozenset(
    {"TRIM_HORIZON", "AT_TIMESTAMP", "AT", "AFTER", "SHARD_END"}
    | {"skip", "arrived", "empty_until", "first", "first_skip"}
)
"""The fields of a shard in JSON."""

_short = Repr()
_short.maxstring = 160
show_value = _short.repr
"""Shortens a value for an error message, however large or deeply nested it is."""


@frozen
class ShardOffset:
    """How far one shard was read, and the first record of the batch that ends here."""

    cut: Cut
    arrived_ms: int | None = None
    """
    No record after the cut arrived before this time, in milliseconds since the epoch. It is the arrival time of the record
    that the cut names, or another time as `was_empty` says. When it is older than the retention, records after the cut may
    be lost. None when no such time is known.
    """
    first: int | None = None
    """Number of the first record of the batch that ends here; None when the batch has no record of this shard."""
    first_skip: int = 0
    """How many user records of `first` the batch leaves out, because they were read before the query began."""
    estimate: Estimate | None = field(default=None, eq=False, repr=False)
    """The plan's estimate of the records from `first` to the cut. It is not saved, and does not count in comparisons."""
    was_empty: bool = False
    """Whether `arrived_ms` is not the arrival of a record, but a time until which nothing had arrived after the cut."""

    def carried_over(self) -> ShardOffset:
        """Return the same cut as the end of a later batch that has no record of this shard."""
        if self.first is None:
            return self
        return ShardOffset(self.cut, self.arrived_ms, was_empty=self.was_empty)

    def was_empty_until(self, until_ms: int | None) -> ShardOffset:
        """Return the same cut with the time *until_ms*, which is not the arrival of its record, unless it has a later one."""
        if until_ms is None or until_ms <= (self.arrived_ms or 0):
            return self
        # Plans call this several times for each shard, and evolve takes four times as long.
        return ShardOffset(self.cut, until_ms, self.first, self.first_skip, self.estimate, was_empty=True)

    @property
    def names_seen_record(self) -> bool:
        """Whether the cut names a record that was in the stream, and `arrived_ms` is its arrival."""
        return isinstance(self.cut, (At, After)) and self.arrived_ms is not None and not self.was_empty

    def as_end_from(self, start: Cut) -> ShardOffset:
        """Return this end with the `first_skip` of a batch that begins at *start*."""
        skip = start.skip if isinstance(start, At) and start.number == self.first else 0
        return evolve(self, first_skip=skip)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON-ready form, as in the module's example."""
        value = _cut_to_json(self.cut)
        if self.arrived_ms is not None:
            value["empty_until" if self.was_empty else "arrived"] = self.arrived_ms
        if self.first is not None:
            value["first"] = str(self.first)
        if self.first_skip:
            value["first_skip"] = self.first_skip
        return value

    @staticmethod
    def from_json(value: Any) -> ShardOffset:
        """
        Return the shard offset that *value* holds.

        Raises:
            OffsetError: It is damaged.
        """
        rest = dict(json_object(value))
        time_key = "empty_until" if "empty_until" in rest else "arrived"
        time_ms = rest.pop(time_key, None)
        first = rest.pop("first", None)
        first_skip = 0 if first is None else _skip(rest.pop("first_skip", 0))
        if time_ms is not None and not _is_time(time_ms):
            raise OffsetError(f"'{time_key}' is {show_value(time_ms)}, not a number of milliseconds")
        return ShardOffset(
            _cut_from_json(rest),
            time_ms,
            None if first is None else _number(first),
            first_skip,
            was_empty=time_ms is not None and time_key == "empty_until",
        )


def json_object(value: Any, what: str = "it is") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OffsetError(f"{what} {show_value(value)}, not a JSON object")
    return value


def _cut_to_json(cut: Cut) -> dict[str, Any]:
    match cut:
        case TrimHorizon():
            return {"TRIM_HORIZON": True}
        case AtTimestamp(epoch_ms):
            return {"AT_TIMESTAMP": epoch_ms}
        case At(number, skip):
            return {"AT": str(number), "skip": skip} if skip else {"AT": str(number)}
        case After(number):
            return {"AFTER": str(number)}
        case ShardEnd():
            return {"SHARD_END": True}


def _cut_from_json(value: dict[str, Any]) -> Cut:
    match value:
        case {"TRIM_HORIZON": True, **rest} if not rest:
            return TrimHorizon()
        case {"AT_TIMESTAMP": epoch_ms, **rest} if not rest and _is_time(epoch_ms):
            return AtTimestamp(epoch_ms)
        case {"AT": str(number), **rest} if not rest:
            return At(_number(number))
        case {"AT": str(number), "skip": skip, **rest} if not rest:
            return At(_number(number), _skip(skip))
        case {"AFTER": str(number), **rest} if not rest:
            return After(_number(number))
        case {"SHARD_END": True, **rest} if not rest:
            return ShardEnd()
    raise OffsetError(f"{show_value(value)} is not a cut")


def _is_time(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LAST_EPOCH_MS


def _number(text: Any) -> int:
    if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise OffsetError(f"{show_value(text)} is not a sequence number")
    return int(text)


def _skip(count: Any) -> int:
    if type(count) is not int or count < 0:
        raise OffsetError(f"{show_value(count)} is not a number of user records")
    return count
