"""Files of recorded records."""

from __future__ import annotations

from kinesis_cli.records import encode_line
from kinesis_cli.replaying.files import MAX_LINE_BYTES
from kinesis_core import UserRecord


def test_the_longest_line() -> None:
    """The line of any record can be read, also that of the largest one, each of whose characters takes six."""
    record = UserRecord(
        stream="orders",
        shard_id="shardId-000000000000",
        sequence_number="9" * 129,
        sub_sequence_number=2**31 - 1,
        partition_key="\x01" * 256,
        explicit_hash_key="9" * 39,
        data=b"\x01" * (10 << 20),
        arrived_ms=0,
        encryption_type=None,
        millis_behind=0,
    )
    assert 6 * 10 << 20 < len(encode_line(record)) <= MAX_LINE_BYTES
