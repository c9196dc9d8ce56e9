"""GetShardIterator and GetRecords."""

from __future__ import annotations

from typing import Any

from kinesis_emulator.errors import invalid_argument, rate_exceeded
from kinesis_emulator.iterators import (
    ShardIterator,
    check_iterator_age,
    decode_iterator,
    encode_iterator,
)
from kinesis_emulator.limits import Limits
from kinesis_emulator.listing import describe_child
from kinesis_emulator.pages import PageSize, encode_page, next_page
from kinesis_emulator.positions import START_TYPES, Start, known_shard, start_position
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service
from kinesis_emulator.shards import Shard
from kinesis_emulator.store import Stream


def get_shard_iterator(service: Service, request: Request) -> dict[str, Any]:
    stream = service.find_stream(request)
    start = Start(
        request.action,
        request.choice("ShardIteratorType", START_TYPES),
        request.optional_text("StartingSequenceNumber"),
        request.optional_time_ms("Timestamp"),
    )
    now_ms = service.now_ms()
    with stream.lock:
        shard = known_shard(stream, request.text("ShardId"), now_ms)
        shard.trim(stream.horizon_ms(now_ms), keep=service.settings.keep_trimmed)
        position = start_position(stream, shard, start, now_ms)
        service.end_dry_run(request)
        rate, now_s = service.settings.limits.iterators_per_s, service.clock()
        if not shard.rates.iterators.admits(rate, now_s):
            raise rate_exceeded(shard.shard_id, stream.name, stream.account_id)
        shard.rates.iterators.add(rate, now_s)
    iterator = ShardIterator(stream.arn, shard.shard_id, shard.opened_s, position, now_ms)
    return {"ShardIterator": encode_iterator(iterator)}


def get_records(service: Service, request: Request) -> bytes:
    iterator = decode_iterator(request.text("ShardIterator"))
    limits = service.settings.limits
    limit = request.optional_integer("Limit", 1, limits.get_records_max_records)
    now_ms, now_s = service.now_ms(), service.clock()
    stream = _stream_of(service, iterator, request)
    check_iterator_age(iterator, now_ms, service.settings.iterator_life_s)
    with stream.lock:
        shard = known_shard(stream, iterator.shard_id, now_ms)
        service.end_dry_run(request)
        _admit(stream, shard, limits, now_s)
        size = PageSize(limit or limits.get_records_max_records, limits.get_records_max_bytes)
        page = next_page(stream, shard, iterator.position, size, service.settings, now_ms)
        shard.rates.read_bytes.add(
            limits.read_bytes_per_s, now_s, shard.records.data_bytes(page.start, page.stop)
        )
        fragments = shard.records.fragments(page.start, page.stop)
    tail: dict[str, Any] = {"MillisBehindLatest": page.behind_ms}
    if page.following is not None:
        following = ShardIterator(stream.arn, shard.shard_id, shard.opened_s, page.following, now_ms)
        tail["NextShardIterator"] = encode_iterator(following)
    else:
        tail["ChildShards"] = [describe_child(child) for child in shard.children]
    return encode_page(fragments, tail)


def _stream_of(service: Service, iterator: ShardIterator, request: Request) -> Stream:
    arn = request.optional_text("StreamARN")
    if arn is not None and arn != iterator.stream_arn:
        raise invalid_argument(f"Invalid ShardIterator. It was not made for the stream {arn}.")
    stream = service.usable_stream(iterator.stream_arn, request.action)
    if not stream.has_opened(iterator.shard_id, iterator.opened_s):
        raise invalid_argument("Invalid ShardIterator. It did not come from this stream.")
    return stream


def _admit(stream: Stream, shard: Shard, limits: Limits, now_s: float) -> None:
    """Count the call. Its bytes are counted afterwards, so one call may exceed the shard's byte rate."""
    rates = shard.rates
    has_calls = rates.read_calls.admits(limits.read_calls_per_s, now_s)
    if not has_calls or not rates.read_bytes.admits(limits.read_bytes_per_s, now_s):
        raise rate_exceeded(shard.shard_id, stream.name, stream.account_id)
    rates.read_calls.add(limits.read_calls_per_s, now_s)
