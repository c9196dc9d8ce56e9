"""User records: made up, or those that a reader gets from a stream of the emulator."""

from __future__ import annotations

from typing import Any

from kinesis_core import Stream, UserRecord
from kinesis_emulator import Emulator
from support.streams import connection_to
from support.waiting import wait_until


def user_record(data: bytes, **facts: Any) -> UserRecord:
    """Return a user record of the stream `orders`, with *facts* of its own."""
    usual = {
        "stream": "orders",
        "shard_id": "shardId-000000000000",
        "sequence_number": "17",
        "sub_sequence_number": 0,
        "partition_key": "c",
        "explicit_hash_key": None,
        "arrived_ms": 0,
        "encryption_type": None,
        "millis_behind": 0,
    }
    return UserRecord(data=data, **{**usual, **facts})


def user_records(emulator: Emulator, stream: str) -> list[UserRecord]:
    """Return all user records of *stream*, shard by shard."""
    connection = connection_to(emulator.endpoint_url) | {"region": emulator.settings.region}
    with Stream.open(stream, **connection) as opened:
        return list(opened.read("TRIM_HORIZON").records())


def data_of(emulator: Emulator, stream: str) -> list[bytes]:
    """Return the data of all user records of *stream*, sorted."""
    return sorted(record.data for record in user_records(emulator, stream))


def await_data(emulator: Emulator, stream: str, wanted: list[bytes]) -> None:
    """Wait until *stream* has the *wanted* records."""
    wait_until(lambda: data_of(emulator, stream) == wanted, lambda: data_of(emulator, stream))
