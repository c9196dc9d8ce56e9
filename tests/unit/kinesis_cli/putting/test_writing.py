"""Lines that Kinesis would refuse are kept apart from the others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import define, field

from kinesis_cli.putting import LineRows, RowWriter, parse_key
from kinesis_core import InvalidRecordError, PutError


@define
class Producer:
    """Takes records that do not begin with "bad"."""

    taken: list[tuple[bytes, str | None, str | None]] = field(factory=list)
    calls: int = 0
    broken: bool = False

    def put_columns(
        self,
        data: Sequence[bytes],
        partition_keys: Sequence[str | None] | None = None,
        explicit_hash_keys: Sequence[str | None] | None = None,
    ) -> None:
        self.calls += 1
        if self.broken:
            raise PutError("broken", {})
        for row, record in enumerate(data):
            if record.startswith(b"bad"):
                raise InvalidRecordError("The record has 9 bytes.", row)
        count = len(data)
        self.taken += zip(
            data, partition_keys or [None] * count, explicit_hash_keys or [None] * count, strict=True
        )


def rows(*data: bytes, source: str = "") -> LineRows:
    return LineRows(source, range(1, len(data) + 1), data)


@pytest.fixture
def producer() -> Producer:
    return Producer()


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def writer(producer: Producer, notes: list[str]) -> RowWriter:
    return RowWriter(producer, notes.append)


def test_good_lines_around_bad_ones(writer: RowWriter, producer: Producer, notes: list[str]) -> None:
    """Bad lines are named, and those around them are put in their order."""
    writer.write(rows(b"a", b"bad", b"b", b"c", b"bad", b"bad", b"d"))
    assert [data for data, _, _ in producer.taken] == [b"a", b"b", b"c", b"d"]
    assert notes == ["line 2 has 9 bytes", "line 5 has 9 bytes", "line 6 has 9 bytes"]
    assert (writer.counts.put, writer.counts.put_bytes, writer.counts.not_written) == (4, 4, 3)


def test_many_bad_lines_cost_few_calls(writer: RowWriter, producer: Producer) -> None:
    """One bad line among a thousand is found by halves."""
    writer.write(rows(*[b"a"] * 500, b"bad", *[b"a"] * 499))
    assert producer.calls <= 25


def test_lines_without_key(writer: RowWriter, producer: Producer, notes: list[str]) -> None:
    """Lines without a key are not put; the others keep their keys."""
    writer.key, writer.hash_key = parse_key(".k", "--key"), parse_key(".h", "--explicit-hash-key")
    writer.write(rows(b'{"k": 1, "h": "2"}', b"{}", b'{"k": 3}', b'{"k": 4, "h": 5}', source="f"))
    assert [taken[1:] for taken in producer.taken] == [("1", "2"), ("4", "5")]
    assert notes == ["f:2 has no .k", "f:3 has no .h"]


def test_only_the_first_lines_have_notes(writer: RowWriter, notes: list[str]) -> None:
    """A file without any good line does not fill the terminal."""
    writer.write(rows(*[b"bad"] * 1000))
    assert len(notes) == 10
    named = ", ".join(map(str, range(1, 21)))
    assert writer.counts.summary("orders", 0, 0) == (
        f"0 records written to orders, 1,000 not written (lines {named} and 980 more)"
    )


def test_a_broken_producer(writer: RowWriter, producer: Producer) -> None:
    """Lines that a broken producer got count as put: they may or may not be written."""
    producer.broken = True
    with pytest.raises(PutError):
        writer.write(rows(b"a", b"b"))
    assert (writer.counts.put, writer.counts.last) == (2, "2")


def test_summary(writer: RowWriter) -> None:
    """The last line counts what happened, and names lines that were not written."""
    writer.write(LineRows("", (1, 4), (b"a", b"bad"), refused={3: "is too long"}, empty=1))
    assert writer.counts.summary("orders", 1, 2) == (
        "1 record written to orders, 2 not written (lines 3, 4), 1 empty line skipped, "
        "2 sent again, which may be in the stream twice"
    )


def test_files_are_named(writer: RowWriter) -> None:
    """A line of a file has the file's name, and a whole file only that."""
    writer.write(rows(b"bad", source="a.jsonl"))
    writer.write(LineRows("b.bin", (0,), (b"bad",)))
    assert writer.counts.places == ["a.jsonl:1", "b.bin"]
