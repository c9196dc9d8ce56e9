"""GetShardIterator and GetRecords."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kinesis_emulator import numbers
from kinesis_emulator.errors import AwsError, invalid_argument, rate_exceeded
from kinesis_emulator.iterators import (
    Position,
    ShardIterator,
    check_iterator_age,
    decode_iterator,
    encode_iterator,
)
from kinesis_emulator.limits import Limits
from kinesis_emulator.listing import describe_child, future_timestamp
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service, Settings
from kinesis_emulator.store import Shard, Stream

_NUMBERED = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
_TYPES = (*_NUMBERED, "TRIM_HORIZON", "LATEST", "AT_TIMESTAMP")


def get_shard_iterator(service: Service, request: Request) -> dict[str, Any]:
    stream = service.find_stream(request)
    kind = request.choice("ShardIteratorType", _TYPES)
    now_ms = service.now_ms()
    with stream.lock:
        shard = _known_shard(stream, request.text("ShardId"), now_ms)
        position = _start(stream, shard, kind, request, now_ms)
        rate, now_s = service.settings.limits.iterators_per_s, service.clock()
        if not shard.rates.iterators.admits(rate, now_s):
            raise rate_exceeded(shard.shard_id, stream.name, stream.account_id)
        shard.rates.iterators.add(rate, now_s)
    iterator = ShardIterator(stream.arn, shard.shard_id, shard.opened_s, position, now_ms)
    return {"ShardIterator": encode_iterator(iterator)}


def _known_shard(stream: Stream, shard_id: str, now_ms: int) -> Shard:
    shard = stream.find_shard(shard_id, now_ms)
    if shard is None:
        raise AwsError(
            "ResourceNotFoundException",
            f"Shard {shard_id} in stream {stream.name} under account {stream.account_id} does not exist",
        )
    return shard


def _start(stream: Stream, shard: Shard, kind: str, request: Request, now_ms: int) -> Position:
    text = request.optional_text("StartingSequenceNumber")
    if (text is not None) != (kind in _NUMBERED) and kind != "AT_TIMESTAMP":
        given = "no StartingSequenceNumber" if text is None else "also a StartingSequenceNumber"
        raise invalid_argument(
            "Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and StartingSequenceNumber or (2) "
            f"TRIM_HORIZON or LATEST and no StartingSequenceNumber. Request specified {kind} and {given}."
        )
    match kind:
        case "TRIM_HORIZON":
            return Position(0, shard.opened_ms)
        case "LATEST":
            return Position(len(shard.fragments), now_ms)
        case "AT_TIMESTAMP":
            return _start_at_time(shard, request.optional_time_ms("Timestamp"), now_ms)
        case _:
            return _start_at_number(stream, shard, text or "", is_after=kind == "AFTER_SEQUENCE_NUMBER")


def _start_at_time(shard: Shard, time_ms: int | None, now_ms: int) -> Position:
    if time_ms is None:
        raise invalid_argument(
            "Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP. "
            "Current request has no timestamp parameter."
        )
    if time_ms > now_ms:
        raise future_timestamp(time_ms, now_ms)
    return Position(shard.place_at_time(time_ms), max(time_ms, shard.opened_ms))


def _start_at_number(stream: Stream, shard: Shard, text: str, *, is_after: bool) -> Position:
    number = numbers.decode(text) if numbers.is_decimal(text) else None
    used = (
        f"StartingSequenceNumber {text} used in GetShardIterator on shard {shard.shard_id} in stream {stream.name} "
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
    place = number.index if is_after else max(number.index - 1, 0)
    place = min(place, len(shard.fragments))
    before = place - 1 if is_after or place == len(shard.fragments) else place
    return Position(place, shard.peaks[before] if before >= 0 else shard.opened_ms)


@dataclass(frozen=True)
class _Page:
    """The records in places `start` to `stop`, and where reading goes on; `following` is None at a shard's end."""

    start: int
    stop: int
    following: Position | None
    behind_ms: int


def get_records(service: Service, request: Request) -> bytes:
    iterator = decode_iterator(request.text("ShardIterator"))
    limits = service.settings.limits
    limit = request.optional_integer("Limit", 1, limits.get_records_max_records)
    now_ms, now_s = service.now_ms(), service.clock()
    stream = _stream_of(service, iterator, request)
    check_iterator_age(iterator, now_ms, service.settings.iterator_life_s)
    with stream.lock:
        shard = _known_shard(stream, iterator.shard_id, now_ms)
        if shard.opened_s != iterator.opened_s:
            raise invalid_argument("Invalid ShardIterator. It was made for another stream of the same name.")
        _admit(stream, shard, limits, now_s)
        shard.trim(stream.horizon_ms(now_ms))
        page = _next_page(stream, shard, iterator.position, limit, service.settings, now_ms)
        shard.rates.read_bytes.add(limits.read_bytes_per_s, now_s, shard.data_bytes(page.start, page.stop))
        fragments = shard.fragments[page.start : page.stop]
    following = None
    if page.following is not None:
        following = ShardIterator(stream.arn, shard.shard_id, shard.opened_s, page.following, now_ms)
    return _encode_page(fragments, following, page.behind_ms, shard)


def _stream_of(service: Service, iterator: ShardIterator, request: Request) -> Stream:
    arn = request.optional_text("StreamARN")
    if arn is not None and arn != iterator.stream_arn:
        raise invalid_argument(f"Invalid ShardIterator. It was not made for the stream {arn}.")
    return service.store.get(iterator.stream_arn)


def _admit(stream: Stream, shard: Shard, limits: Limits, now_s: float) -> None:
    """Count the call; what it reads is counted afterwards, so one call may overdraw the shard's bytes."""
    rates = shard.rates
    has_calls = rates.read_calls.admits(limits.read_calls_per_s, now_s)
    if not has_calls or not rates.read_bytes.admits(limits.read_bytes_per_s, now_s):
        raise rate_exceeded(shard.shard_id, stream.name, stream.account_id)
    rates.read_calls.add(limits.read_calls_per_s, now_s)


def _next_page(
    stream: Stream, shard: Shard, position: Position, limit: int | None, settings: Settings, now_ms: int
) -> _Page:
    start = max(position.place, shard.trimmed)
    scanned_ms = max(position.scanned_ms, stream.horizon_ms(now_ms))
    scan_to_ms = now_ms if settings.scan_ms is None else scanned_ms + settings.scan_ms
    end = len(shard.fragments)
    seen = end if settings.scan_ms is None else max(start, shard.place_at_time(scan_to_ms))
    stop = _cut(shard, start, seen, limit, settings.limits)
    tip_ms = now_ms if shard.closed_ms is None else shard.closed_ms
    if stop == end and scan_to_ms >= tip_ms:
        is_last = shard.closed_ms is not None and (start == stop or settings.shard_end == "with_last_records")
        return _Page(start, stop, None if is_last else Position(end, tip_ms), behind_ms=0)
    reached_ms = shard.peaks[stop - 1] if stop < seen or settings.scan_ms is None else scan_to_ms
    return _Page(start, stop, Position(stop, reached_ms), behind_ms=max(1, now_ms - reached_ms))


def _cut(shard: Shard, start: int, stop: int, limit: int | None, limits: Limits) -> int:
    """Return where a page from *start* ends, at the latest at *stop*."""
    if start == stop:
        return stop
    stop = min(stop, start + (limit or limits.get_records_max_records))
    if limits.get_records_max_bytes is None:
        return stop
    return min(stop, shard.place_after_bytes(start, limits.get_records_max_bytes))


def _encode_page(
    fragments: list[bytes], following: ShardIterator | None, behind_ms: int, shard: Shard
) -> bytes:
    tail: dict[str, Any] = {"MillisBehindLatest": behind_ms}
    if following is not None:
        tail["NextShardIterator"] = encode_iterator(following)
    else:
        tail["ChildShards"] = [describe_child(child) for child in shard.children]
    # The records' JSON was made when they were put; joining it keeps reading fast.
    return b'{"Records":[%s],%s' % (
        b",".join(fragments),
        json.dumps(tail, separators=(",", ":"))[1:].encode(),
    )
