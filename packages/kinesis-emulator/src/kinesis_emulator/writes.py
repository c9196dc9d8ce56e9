"""PutRecord and PutRecords."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from kinesis_emulator import numbers
from kinesis_emulator.errors import invalid, invalid_argument, rate_exceeded, rate_exceeded_message
from kinesis_emulator.limits import Limits
from kinesis_emulator.records import write_record
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service
from kinesis_emulator.shards import StoredShard
from kinesis_emulator.store import MAX_HASH_KEY, StoredStream
from kinesis_emulator.validation import decoded_bytes
from kinesis_emulator.wire_formats import Payload

_TIDY_EVERY_MS = 60_000


class Entry(NamedTuple):
    """A checked record that will be put. A tuple is made in a third of a dataclass's time."""

    data: Payload
    data_bytes: int
    partition_key: str | None
    """None only when Kinesis chooses the shard."""
    size: int
    """The bytes of data and partition key, which the limits count."""
    hash_key: int


def put_record(service: Service, request: Request) -> dict[str, Any]:
    stream = service.find_stream(request)
    with stream.lock:
        entry = _entry(stream, request.params)
        _check_size(service.settings.limits, stream, entry)
        _check_ordering(stream, request.optional_text("SequenceNumberForOrdering"), service.clock())
        service.end_dry_run(request)
        shard = stream.route(entry.hash_key)
        if not _admit(service, shard, entry):
            raise rate_exceeded(shard.shard_id, stream.name, stream.account_id)
        arrived_ms = _jittered(service, service.now_ms())
        number = append(stream, shard, entry, arrived_ms, service.readable_ms())
        response = {"ShardId": shard.shard_id, "SequenceNumber": number}
        _finish(service, stream)
    return _with_encryption(stream, response)


def put_records(service: Service, request: Request) -> dict[str, Any]:
    stream = service.find_stream(request)
    with stream.lock:
        entries = _entries(service.settings.limits, stream, request.params["Records"])
        service.end_dry_run(request)
        now_ms, readable_ms = service.now_ms(), service.readable_ms()
        results = [_put_one(service, stream, entry, now_ms, readable_ms) for entry in entries]
        _finish(service, stream)
    failed = sum("ErrorCode" in result for result in results)
    return _with_encryption(stream, {"FailedRecordCount": failed, "Records": results})


def _finish(service: Service, stream: StoredStream) -> None:
    """Keep the new records, and remove the oldest from time to time: a stream without readers must not grow for ever."""
    stream.save_records()
    settings, now_ms = service.settings, service.now_ms()
    if settings.shard_capacity_records is not None:
        stream.trim_to_capacity(settings.shard_capacity_records, keep=settings.keep_trimmed)
    if not settings.keep_trimmed and now_ms >= stream.tidied_ms + _TIDY_EVERY_MS:
        stream.tidied_ms = now_ms
        stream.trim(now_ms, keep=False)
        stream.save()


def _put_one(
    service: Service, stream: StoredStream, entry: Entry, now_ms: int, readable_ms: int
) -> dict[str, str]:
    shard = stream.route(entry.hash_key)
    if not _admit(service, shard, entry):
        return {
            "ErrorCode": "ProvisionedThroughputExceededException",
            "ErrorMessage": rate_exceeded_message(shard.shard_id, stream.name, stream.account_id),
        }
    number = append(stream, shard, entry, _jittered(service, now_ms), readable_ms)
    return {"SequenceNumber": number, "ShardId": shard.shard_id}


def _entries(limits: Limits, stream: StoredStream, records: Sequence[dict[str, Any]]) -> list[Entry]:
    entries = [_entry(stream, record, number) for number, record in enumerate(records, 1)]
    for number, entry in enumerate(entries, 1):
        _check_size(limits, stream, entry, number)
    total, most_bytes = sum(entry.size for entry in entries), limits.put_records_max_bytes
    if most_bytes is not None and total > most_bytes:
        raise invalid_argument(f"Records size exceeds {most_bytes // (1024 * 1024)} MB limit")
    return entries


def _entry(stream: StoredStream, record: dict[str, Any], number: int | None = None) -> Entry:
    data, key = record["Data"], record.get("PartitionKey")
    if key is None and stream.strategy != "AUTO":
        raise invalid([(_path(number, "partitionKey"), "null", "Member must not be null")])
    return make_entry(data, key, record.get("ExplicitHashKey"))


def _path(number: int | None, member: str) -> str:
    """Return the path in errors of a member of the record with *number* in PutRecords, or of PutRecord."""
    return member if number is None else f"records.{number}.member.{member}"


def make_entry(data: Payload, key: str | None, explicit: str | None) -> Entry:
    """Return a record with its hash key; raise an error for an explicit one that is too high."""
    data_bytes = decoded_bytes(data)
    if key is None:
        return Entry(data, data_bytes, None, data_bytes, 0)
    encoded_key = key.encode("utf-8", "surrogatepass")
    if explicit is None:
        hash_key = int.from_bytes(hashlib.md5(encoded_key, usedforsecurity=False).digest(), "big")
    else:
        hash_key = _explicit_hash_key(explicit)
    return Entry(data, data_bytes, key, data_bytes + len(encoded_key), hash_key)


def _explicit_hash_key(text: str) -> int:
    if int(text) > MAX_HASH_KEY:
        raise invalid_argument(
            f"Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was {text}"
        )
    return int(text)


def _check_size(limits: Limits, stream: StoredStream, entry: Entry, number: int | None = None) -> None:
    most = stream.max_record_kib * 1024
    if not limits.enforce_record_size or entry.size <= most:
        return
    if entry.data_bytes > most:
        raise invalid([(_path(number, "data"), "", f"Member must have length less than or equal to {most}")])
    raise invalid_argument(
        f"Record size of {entry.size} bytes, data and partition key, exceeds the maximum record size of {most} bytes "
        f"for stream {stream.name} under account {stream.account_id}."
    )


def _check_ordering(stream: StoredStream, text: str | None, now_s: float) -> None:
    """Refuse what is no sequence number, or one of the future. Numbers of a shard always increase, so no other check is needed."""
    given = None if text is None else numbers.read(text)
    if text is not None and (given is None or given.arrived_s > now_s):
        raise invalid_argument(
            f"ExclusiveMinimumSequenceNumber {text} used in PutRecord on stream {stream.name} under account "
            f"{stream.account_id} is invalid."
        )


def _admit(service: Service, shard: StoredShard, entry: Entry) -> bool:
    """Count the record against its shard's rates. Return False if it exceeds them."""
    limits, rates = service.settings.limits, shard.rates
    if limits.write_records_per_s is None and limits.write_bytes_per_s is None:
        return True
    now_s = service.clock()
    if not rates.write_records.admits(limits.write_records_per_s, now_s):
        return False
    if not rates.write_bytes.take(limits.write_bytes_per_s, now_s, entry.size):
        return False
    rates.write_records.add(limits.write_records_per_s, now_s)
    return True


def _jittered(service: Service, now_ms: int) -> int:
    """Return the record's arrival time, which AWS does not guarantee to be accurate. The caller holds a stream's lock."""
    jitter_ms = service.settings.arrival_jitter_ms
    return now_ms - service.settings.jitter.randint(0, jitter_ms) if jitter_ms else now_ms


def append(
    stream: StoredStream,
    shard: StoredShard,
    entry: Entry,
    arrived_ms: int,
    readable_ms: int,
    omit: Collection[str] = (),
) -> str:
    """
    Add *entry* to *shard*, and return its sequence number. The caller holds the stream's lock, and calls `save_records`.

    GetRecords leaves out its members in *omit*.
    """
    number = shard.next_number(arrived_ms)
    shown_ms = None if "ApproximateArrivalTimestamp" in omit else arrived_ms
    key = None if "PartitionKey" in omit else entry.partition_key
    record = write_record(number, shown_ms, entry.data, key, stream.encryption)
    stream.append(shard, record, entry.data_bytes, arrived_ms, readable_ms)
    return number


def _with_encryption(stream: StoredStream, response: dict[str, Any]) -> dict[str, Any]:
    return response if stream.encryption == "NONE" else {**response, "EncryptionType": stream.encryption}
