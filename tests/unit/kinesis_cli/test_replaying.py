"""Files of recorded records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define, field

from kinesis_cli.putting import LineRows
from kinesis_cli.records.lines import encode_line
from kinesis_cli.replaying import MAX_LINE_BYTES, Recorded, decode_rows, keep_pace
from kinesis_cli.stopping import Stopping
from support.user_records import user_record


def test_the_longest_line() -> None:
    """The line of any record can be read, also that of the largest one, each of whose characters takes six."""
    record = user_record(
        b"\x01" * (10 << 20),
        sequence_number="9" * 129,
        sub_sequence_number=2**31 - 1,
        partition_key="\x01" * 256,
        explicit_hash_key="9" * 39,
    )
    assert 6 * 10 << 20 < len(encode_line(record)) <= MAX_LINE_BYTES


@define
class Clock:
    """Time that passes only in `sleep`."""

    time_s: float = 100.0
    slept: list[float] = field(factory=list)

    def now_s(self) -> float:
        return self.time_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.time_s += seconds


def recorded(*times_ms: int | None) -> Recorded:
    data = [b"%d" % index for index in range(len(times_ms))]
    return Recorded(LineRows("", range(1, len(data) + 1), data), times_ms)


def due(parts: Iterable[Recorded], speed: float, clock: Clock) -> list[tuple[float, Sequence[bytes]]]:
    """Return when which records came."""
    rows = keep_pace(parts, speed, Stopping(), clock.now_s, clock.sleep)
    return [(round(clock.time_s - 100, 6), list(part.data)) for part in rows if part.data]


def test_the_recorded_pace() -> None:
    """A record comes as long after the first one as it did in the stream."""
    parts = [recorded(5000, 5000, 7000), recorded(7500)]
    assert due(parts, 1.0, Clock()) == [(0, [b"0", b"1"]), (2, [b"2"]), (2.5, [b"0"])]


def test_faster() -> None:
    """The speed divides all times."""
    assert due([recorded(5000, 7000)], 10.0, Clock()) == [(0, [b"0"]), (0.2, [b"1"])]


def test_without_pauses() -> None:
    """Infinite speed never waits."""
    clock = Clock()
    assert due([recorded(5000, 7000, 9000)], float("inf"), clock) == [(0, [b"0", b"1", b"2"])]
    assert clock.slept == []


def test_times_that_go_back_or_are_missing() -> None:
    """Such records come with the one before them."""
    assert due([recorded(None, 5000, 4000, None, 6000)], 1.0, Clock()) == [
        (0, [b"0", b"1", b"2", b"3"]),
        (1, [b"4"]),
    ]


def test_a_slow_stream_catches_up() -> None:
    """Time that the writing has taken is not waited for again."""
    clock = Clock()
    rows = keep_pace([recorded(0, 1000, 2000)], 1.0, Stopping(), clock.now_s, clock.sleep)
    for part in rows:
        clock.time_s += 0.5 if part.data else 0
    assert clock.slept == [0.5, 0.5]


def test_lines_that_are_no_records() -> None:
    """They are named with the reason, and the records around them are kept with their keys and times."""
    lines = [
        b'{"data": {"a": 1}, "partitionKey": "c", "arrived": "1970-01-01T00:00:01.500Z"}',
        b"no",
        b'{"dataBase64": "AA==", "explicitHashKey": "7"}',
        b'{"data": "x", "arrived": "noon"}',
    ]
    found = decode_rows(LineRows("f", (1, 2, 4, 5), lines, {3: "is too long"}, 1))
    assert found.rows == LineRows(
        "f",
        [1, 4],
        [b'{"a": 1}', b"\0"],
        {
            3: "is too long",
            2: "is not a record: it is not a JSON object with the fields of a record",
            5: "is not a record: 'arrived' is not an ISO 8601 time",
        },
        1,
        ["c", None],
        [None, "7"],
    )
    assert found.times_ms == [1500, None]
