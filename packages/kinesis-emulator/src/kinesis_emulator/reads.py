"""Reading of a shard: GetShardIterator, GetRecords, and the positions and pages that subscriptions have as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kinesis_emulator import numbers
from kinesis_emulator.errors import AwsError, future_timestamp, invalid_argument, rate_exceeded
from kinesis_emulator.iterators import (
    LogPosition,
    ShardIterator,
    check_iterator_age,
    decode_iterator,
    encode_iterator,
)
from kinesis_emulator.limits import Limits
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service
from kinesis_emulator.settings import Settings
from kinesis_emulator.shards import StoredShard
from kinesis_emulator.store import StoredStream
from kinesis_emulator.wire_formats import FORMATS

_NUMBERED = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")


def get_shard_iterator(service: Service, request: Request) -> dict[str, Any]:
    shard_id = service.shard_id(request, "ShardId")
    try:
        stream = service.find_stream(request)
    except AwsError as error:
        raise _of_shard(error, request.stream_name or "", service.account_of(request), shard_id) from None
    start = GivenStart(
        request.action,
        request.text("ShardIteratorType"),
        request.optional_text("StartingSequenceNumber"),
        request.optional_time_ms("Timestamp"),
    )
    now_ms = service.now_ms()
    with stream.lock:
        shard = known_shard(stream, shard_id, now_ms)
        shard.trim(stream.horizon_ms(now_ms), keep=service.settings.keep_trimmed)
        position = start_position(stream, shard, start, now_ms)
        service.end_dry_run(request)
        if not shard.rates.iterators.take(service.settings.limits.iterators_per_s, service.clock()):
            raise rate_exceeded(shard.shard_id, stream.name, stream.account_id)
    iterator = ShardIterator(stream.arn, shard.shard_id, shard.opened_s, position, now_ms)
    return {"ShardIterator": encode_iterator(iterator)}


def get_records(service: Service, request: Request) -> bytes:
    iterator = decode_iterator(request.text("ShardIterator"))
    limits = service.settings.limits
    now_ms, now_s = service.now_ms(), service.clock()
    stream = _stream_of(service, iterator, request)
    check_iterator_age(iterator, now_ms, service.settings.iterator_life_s)
    with stream.lock:
        shard = known_shard(stream, iterator.shard_id, now_ms)
        service.end_dry_run(request)
        _admit(stream, shard, limits, now_s)
        limit = request.optional_integer("Limit") or limits.get_records_max_records
        size = min(limit, limits.get_records_max_records), limits.get_records_max_bytes
        page = next_page(stream, shard, iterator.position, size, service.settings, now_ms)
        shard.rates.read_bytes.add(
            limits.read_bytes_per_s, now_s, shard.records.data_bytes(page.start, page.stop)
        )
        records = shard.records.fragments(page.start, page.stop, request.wire_format)
    tail: dict[str, Any] = {"MillisBehindLatest": page.behind_ms}
    if page.following is not None:
        following = ShardIterator(stream.arn, shard.shard_id, shard.opened_s, page.following, now_ms)
        tail["NextShardIterator"] = encode_iterator(following)
    else:
        tail["ChildShards"] = shard.describe_children()
    return FORMATS[request.wire_format].page(records, tail)


def _stream_of(service: Service, iterator: ShardIterator, request: Request) -> StoredStream:
    arn = request.optional_text("StreamARN")
    if arn is not None and arn != iterator.stream_arn:
        raise invalid_argument(f"Invalid ShardIterator. It was not made for the stream {arn}.")
    try:
        stream = service.usable_stream(iterator.stream_arn, request.action)
    except AwsError as error:
        account_id = iterator.stream_arn.split(":")[4]
        raise _of_shard(error, request.stream_name or "", account_id, iterator.shard_id) from None
    if not stream.has_opened(iterator.shard_id, iterator.opened_s):
        raise invalid_argument("Invalid ShardIterator. It did not come from this stream.")
    return stream


def _admit(stream: StoredStream, shard: StoredShard, limits: Limits, now_s: float) -> None:
    """Count the call. Its bytes are counted afterwards, so one call may exceed the shard's byte rate."""
    has_bytes = shard.rates.read_bytes.admits(limits.read_bytes_per_s, now_s)
    if not has_bytes or not shard.rates.read_calls.take(limits.read_calls_per_s, now_s):
        raise rate_exceeded(shard.shard_id, stream.name, stream.account_id)


@dataclass(frozen=True)
class ReadPage:
    """The records from index `start` up to `stop`, and the next position. `following` is None at a shard's end."""

    start: int
    stop: int
    following: LogPosition | None
    behind_ms: int


PageSize = tuple[int, int | None]
"""The most records and bytes of a page. A page of one record may have more bytes."""


def next_page(
    stream: StoredStream,
    shard: StoredShard,
    position: LogPosition,
    size: PageSize,
    settings: Settings,
    now_ms: int,
) -> ReadPage:
    """Return the page after *position*, and trim expired records. The caller holds the stream's lock."""
    shard.trim(stream.horizon_ms(now_ms), keep=settings.keep_trimmed)
    if position.index < shard.trimmed and settings.trimmed_start == "empty_pages":
        return ReadPage(
            position.index, position.index, position, behind_ms=stream.retention_hours * 3_600_000
        )
    start = max(position.index, shard.trimmed)
    scanned_ms = max(position.scanned_ms, stream.horizon_ms(now_ms))
    scan_to_ms = now_ms if settings.scan_ms is None else scanned_ms + settings.scan_ms
    end = max(start, shard.readable_end(now_ms))
    seen = end
    if settings.scan_ms is not None:
        seen = min(end, max(start, shard.records.index_at_time(scan_to_ms)))
    stop = _cut(shard, start, seen, size)
    if stop == end < shard.records.end:
        # The next record exists but cannot be read yet. So reading stops here, and this is not the tip.
        reached_ms = min(scan_to_ms, shard.records.peak_ms(stop))
        return ReadPage(start, stop, LogPosition(stop, reached_ms), behind_ms=max(1, now_ms - reached_ms))
    tip_ms = now_ms if shard.closed_ms is None else shard.closed_ms
    if stop == end and scan_to_ms >= tip_ms:
        is_last = shard.closed_ms is not None and (start == stop or settings.shard_end == "with_last_records")
        return ReadPage(start, stop, None if is_last else LogPosition(end, tip_ms), behind_ms=0)
    reached_ms = shard.records.peak_ms(stop - 1) if stop < seen or settings.scan_ms is None else scan_to_ms
    return ReadPage(start, stop, LogPosition(stop, reached_ms), behind_ms=max(1, now_ms - reached_ms))


def _cut(shard: StoredShard, start: int, stop: int, size: PageSize) -> int:
    """Return the end of a page from *start*, at most *stop*."""
    if start == stop:
        return stop
    max_records, max_bytes = size
    stop = min(stop, start + max_records)
    return stop if max_bytes is None else min(stop, shard.records.index_after_bytes(start, max_bytes))


@dataclass(frozen=True)
class GivenStart:
    """A starting position as the caller gave it. *action* is for error texts."""

    action: str
    kind: str
    number: str | None
    time_ms: int | None


def known_shard(stream: StoredStream, shard_id: str, now_ms: int) -> StoredShard:
    """Return a shard; raise a ResourceNotFoundException if it does not exist or has expired."""
    shard = stream.find_shard(shard_id, now_ms)
    if shard is None:
        raise _no_shard(shard_id, stream.name, stream.account_id)
    return shard


def _no_shard(shard_id: str, stream: str, account_id: str) -> AwsError:
    return AwsError(
        "ResourceNotFoundException",
        f"Shard {shard_id} in stream {stream} under account {account_id} does not exist",
    )


def _of_shard(error: AwsError, stream: str, account_id: str, shard_id: str) -> AwsError:
    """
    Return the error for a shard of a stream that has *error*: if the stream does not exist, it is the shard that does not.

    Source: https://github.com/mhart/kinesalite, whose tests were run against AWS.
    """
    is_missing = error.code == "ResourceNotFoundException"
    return _no_shard(shard_id, stream, account_id) if is_missing else error


def start_position(stream: StoredStream, shard: StoredShard, start: GivenStart, now_ms: int) -> LogPosition:
    """Return where reading begins; raise an InvalidArgumentException if *start* is invalid for the shard."""
    if (start.number is not None) != (start.kind in _NUMBERED) and start.kind != "AT_TIMESTAMP":
        given = "no StartingSequenceNumber" if start.number is None else "also a StartingSequenceNumber"
        raise invalid_argument(
            "Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and StartingSequenceNumber or (2) "
            f"TRIM_HORIZON or LATEST and no StartingSequenceNumber. Request specified {start.kind} and {given}."
        )
    match start.kind:
        case "TRIM_HORIZON":
            return LogPosition(shard.trimmed, shard.opened_ms)
        case "LATEST":
            return LogPosition(shard.records.end, now_ms)
        case "AT_TIMESTAMP":
            return _position_at_time(shard, start.time_ms, now_ms)
        case _:
            return _position_at_number(stream, shard, start)


def _position_at_time(shard: StoredShard, time_ms: int | None, now_ms: int) -> LogPosition:
    if time_ms is None:
        raise invalid_argument(
            "Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP. "
            "Current request has no timestamp parameter."
        )
    if time_ms > now_ms:
        raise future_timestamp(time_ms, now_ms)
    return LogPosition(
        max(shard.trimmed, shard.records.index_at_time(time_ms)), max(time_ms, shard.opened_ms)
    )


def _position_at_number(stream: StoredStream, shard: StoredShard, start: GivenStart) -> LogPosition:
    number = _decode(stream, shard, start)
    end = shard.records.end
    index = min(number.index, end)
    if start.kind == "AT_SEQUENCE_NUMBER" and 0 < number.index <= end:
        # The continuation of an empty event is between two records: reading begins after the first of them.
        index -= shard.number_at(index - 1) >= int(start.number or "")
    before = index - 1 if start.kind == "AFTER_SEQUENCE_NUMBER" or index == end else index
    scanned_ms = shard.records.peak_ms(before) if before >= 0 else shard.opened_ms
    return LogPosition(index, max(scanned_ms, number.arrived_s * 1000))


def _decode(stream: StoredStream, shard: StoredShard, start: GivenStart) -> numbers.SequenceNumber:
    text = start.number or ""
    given, number = numbers.read(text), numbers.decode(text)
    used = (
        f"StartingSequenceNumber {text} used in {start.action} on shard {shard.shard_id} in stream {stream.name} "
        f"under account {stream.account_id} is invalid"
    )
    if given is not None and given.shard_index != shard.index:
        raise invalid_argument(
            f"Invalid StartingSequenceNumber. It encodes shardId-{given.shard_index:012d}, while it was used in a "
            f"call to a shard with {shard.shard_id}"
        )
    if given is None or number is None:
        raise invalid_argument(f"{used}.")
    if number.opened_s != shard.opened_s:
        raise invalid_argument(f"{used} because it did not come from this stream.")
    return number
