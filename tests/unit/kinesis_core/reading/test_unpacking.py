"""Aggregates that are not decoded as a whole: their rows, and one line a minute for each shard."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_core.model import Page, Record
from kinesis_core.reading import user_records
from kinesis_core.reading.unpacking import LOG_EVERY_S, Unpacker
from support.aggregates import MAGIC, aggregate, sealed
from support.fake_stream import FakeClock

WHOLE = sealed(b"\x0a\x01k\x1a\x7f")
ODD = sealed(b"\x0a\x01k\x1a\x05\x08\x00\x1a\x01x\x1a\x05\x08\x09\x1a\x01y\x1a\x02\xff\xff")
"""Three user records: a good one, one with an index beyond the table, and one that is not a message."""
GOOD = aggregate([("k", None, b"x"), (b"\xff", "7", b"y"), ("k" * 300, None, b"z")])


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    found = [
        vars(record)["context"] for record in caplog.records if "aggregate.undecoded" in record.getMessage()
    ]
    caplog.clear()
    return found


def test_what_is_decoded_as_a_whole_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Plain records, damaged ones and aggregates with keys of any bytes have no line."""
    unpacker = Unpacker(FakeClock())
    for data in (b"plain", b"", GOOD[:-1], MAGIC, sealed(b""), GOOD, sealed(b"\x0a\x01k")):
        unpacker.unpack(Record("5", data), "orders", "shardId-0")
    assert lines(caplog) == []


@pytest.mark.parametrize(
    ("data", "rows", "undecoded"), [(WHOLE, "1", "1"), (ODD, "3", "2")], ids=["whole", "in part"]
)
def test_what_is_not_decoded_is_logged(
    caplog: pytest.LogCaptureFixture, data: bytes, rows: str, undecoded: str
) -> None:
    """The line names the record, and how many of its rows are not decoded."""
    found = Unpacker(FakeClock()).unpack(Record("5", data), "orders", "shardId-0")
    assert (found is None) == (data == WHOLE)
    assert lines(caplog) == [
        {"stream": "orders", "shard": "shardId-0", "sequence": "5", "rows": rows, "undecoded": undecoded}
    ]


def test_a_shard_has_a_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """A producer that writes nothing else does not fill the log. Each shard and stream has lines of its own."""
    clock = FakeClock()
    unpacker = Unpacker(clock)

    def logged(*shards: tuple[str, str]) -> list[tuple[str, str]]:
        for stream, shard_id in shards:
            unpacker.unpack(Record("5", ODD), stream, shard_id)
        return [(line["stream"], line["shard"]) for line in lines(caplog)]

    both = [("orders", "0"), ("orders", "1"), ("teas", "0")]
    assert logged(*both, *both) == both
    clock.sleep(LOG_EVERY_S - 1)
    assert logged(*both) == []
    clock.sleep(1)
    assert logged(*both, *both) == both


def test_records_have_rows_and_lines(caplog: pytest.LogCaptureFixture) -> None:
    """A user record without its key has a null, and one that is not a message its bytes. An aggregate left whole keeps its key."""
    page = Page([Record("5", ODD, "outer"), Record("6", WHOLE, "outer")], 0)
    found = user_records(page, "records-have-rows", "shardId-0")
    assert [(row.sub_sequence_number, row.partition_key, row.data) for row in found] == [
        (0, "k", b"x"),
        (1, None, b"y"),
        (2, None, b"\xff\xff"),
        (0, "outer", WHOLE),
    ]
    assert [line["sequence"] for line in lines(caplog)] == ["5"]
    user_records(page, "records-have-rows", "shardId-1", deaggregate=False)
    assert lines(caplog) == []
