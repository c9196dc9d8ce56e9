"""Starting positions: the five types that GetShardIterator and SubscribeToShard share."""

from __future__ import annotations

from dataclasses import dataclass

from kinesis_emulator import numbers
from kinesis_emulator.errors import AwsError, invalid_argument
from kinesis_emulator.iterators import ShardOffset
from kinesis_emulator.listing import future_timestamp
from kinesis_emulator.shards import Shard
from kinesis_emulator.store import Stream

_NUMBERED = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
START_TYPES = (*_NUMBERED, "TRIM_HORIZON", "LATEST", "AT_TIMESTAMP")


@dataclass(frozen=True)
class Start:
    """A starting position as the caller gave it. *action* is for error texts."""

    action: str
    kind: str
    number: str | None
    time_ms: int | None


def known_shard(stream: Stream, shard_id: str, now_ms: int) -> Shard:
    """Return a shard; raise a ResourceNotFoundException if it does not exist or has expired."""
    shard = stream.find_shard(shard_id, now_ms)
    if shard is None:
        raise AwsError(
            "ResourceNotFoundException",
            f"Shard {shard_id} in stream {stream.name} under account {stream.account_id} does not exist",
        )
    return shard


def start_position(stream: Stream, shard: Shard, start: Start, now_ms: int) -> ShardOffset:
    """Return where reading begins; raise an InvalidArgumentException if *start* is invalid for the shard."""
    if (start.number is not None) != (start.kind in _NUMBERED) and start.kind != "AT_TIMESTAMP":
        given = "no StartingSequenceNumber" if start.number is None else "also a StartingSequenceNumber"
        raise invalid_argument(
            "Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and StartingSequenceNumber or (2) "
            f"TRIM_HORIZON or LATEST and no StartingSequenceNumber. Request specified {start.kind} and {given}."
        )
    match start.kind:
        case "TRIM_HORIZON":
            return ShardOffset(shard.trimmed, shard.opened_ms)
        case "LATEST":
            return ShardOffset(shard.records.end, now_ms)
        case "AT_TIMESTAMP":
            return _position_at_time(shard, start.time_ms, now_ms)
        case _:
            return _position_at_number(stream, shard, start)


def _position_at_time(shard: Shard, time_ms: int | None, now_ms: int) -> ShardOffset:
    if time_ms is None:
        raise invalid_argument(
            "Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP. "
            "Current request has no timestamp parameter."
        )
    if time_ms > now_ms:
        raise future_timestamp(time_ms, now_ms)
    return ShardOffset(
        max(shard.trimmed, shard.records.index_at_time(time_ms)), max(time_ms, shard.opened_ms)
    )


def _position_at_number(stream: Stream, shard: Shard, start: Start) -> ShardOffset:
    number = _decode(stream, shard, start)
    end = shard.records.end
    index = min(number.index, end)
    if start.kind == "AT_SEQUENCE_NUMBER" and 0 < number.index <= end:
        # The continuation of an empty event is between two records: reading begins after the first of them.
        index -= shard.number_at(index - 1) >= int(start.number or "")
    before = index - 1 if start.kind == "AFTER_SEQUENCE_NUMBER" or index == end else index
    scanned_ms = shard.records.peak_ms(before) if before >= 0 else shard.opened_ms
    return ShardOffset(index, max(scanned_ms, number.arrived_s * 1000))


def _decode(stream: Stream, shard: Shard, start: Start) -> numbers.SequenceNumber:
    text = start.number or ""
    number = numbers.decode(text) if numbers.is_decimal(text) else None
    used = (
        f"StartingSequenceNumber {text} used in {start.action} on shard {shard.shard_id} in stream {stream.name} "
        f"under account {stream.account_id} is invalid"
    )
    if number is None:
        raise invalid_argument(f"{used}.")
    if number.shard_index != shard.index:
        raise invalid_argument(
            f"Invalid StartingSequenceNumber. It encodes shardId-{number.shard_index:012d}, while it was used in a "
            f"call to a shard with {shard.shard_id}"
        )
    if number.opened_s != shard.opened_s:
        raise invalid_argument(f"{used} because it did not come from this stream.")
    return number
