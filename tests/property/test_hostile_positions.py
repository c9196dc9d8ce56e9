"""Any position from users and checkpoints is valid, or is refused by an error of ours."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kinesis_core.errors import OffsetError
from kinesis_core.model import LAST_EPOCH_MS, AtTimestamp, Offset, PerStream
from kinesis_core.options import BadValueError, ending_position, starting_position
from support.hostile import damaged, json_values, odd_texts, peak_bytes

SHARD = "shardId-000000000000"
LAST_READ = {
    "iteratorType": "AFTER_SEQUENCE_NUMBER",
    "iteratorPosition": "4966",
    "subSequenceNumber": 3,
    "isLast": False,
}
AWSLABS = {
    "metadata": {"streamName": "orders", "batchId": "7"},
    SHARD: LAST_READ,
    "shardId-1": {"iteratorType": "AT_TIMESTAMP", "iteratorPosition": "1790000000000"},
}
FILE_OF_A_SHARD = {**LAST_READ, "shardId": SHARD}
LOG = {"batchWatermarkMs": 0, "batchTimestampMs": 1790000000000, "conf": {}}
PER_SHARD = {
    SHARD: {"AT": "4966"},
    "shardId-1": "LATEST",
    "shardId-2": {"AT_TIMESTAMP": "2026-01-01T00:00:00Z"},
}
PER_STREAM = {
    "orders": PER_SHARD,
    "clicks": {"at_timestamp": "06/25/2020 10:23:45 PDT", "format": "MM/dd/yyyy HH:mm:ss ZZZ"},
}
documents = st.sampled_from([AWSLABS, FILE_OF_A_SHARD, LOG, PER_SHARD, PER_STREAM, PER_STREAM["clicks"]])
fillers = st.sampled_from(["", "\n", "v1\n", "-\n", "v1", " , "])
pasted = st.lists(
    st.tuples(fillers, documents.flatmap(damaged) | documents.map(json.dumps)), min_size=1, max_size=3
).map(lambda parts: "".join(filler + text for filler, text in parts))
moments = st.builds(
    "AT_TIMESTAMP {}".format,
    odd_texts | st.from_regex(r"\A\d{1,16}\Z") | st.datetimes(timezones=st.timezones()).map(str),
)


@given(pasted | moments | odd_texts)
def test_a_position_is_good_or_refused(text: str) -> None:
    """Any text, and any paste from other connectors' checkpoints, is a position that Kinesis accepts, or is refused."""
    for parser in (starting_position(), ending_position()):
        with suppress(BadValueError, OffsetError):
            position = parser.parse(text.strip())
            for part in position.positions.values() if isinstance(position, PerStream) else [position]:
                cuts = getattr(part, "cuts", {"all": part}).values()
                assert all(0 <= cut.epoch_ms <= LAST_EPOCH_MS for cut in cuts if isinstance(cut, AtTimestamp))


@given(json_values, json_values)
def test_a_java_time_is_valid_or_refused(time: Any, pattern: Any) -> None:
    """Any time in any format gives a time or is refused."""
    with suppress(BadValueError):
        starting_position().parse(json.dumps({"at_timestamp": time, "format": pattern}))


java_patterns = st.lists(
    st.sampled_from(
        [
            "yyyy",
            "MM",
            "MMM",
            "dd",
            "HH",
            "hh",
            "a",
            "mm",
            "ss",
            "SSS",
            "XXX",
            "zzz",
            "'",
            "''",
            "'T'",
            " ",
            "(",
            "[",
            "\\",
            ".*",
        ]
    ),
    max_size=12,
).map("".join)


@given(odd_texts, java_patterns)
def test_a_java_format_is_valid_or_refused(time: str, pattern: str) -> None:
    """Formats of valid parts in any order are accepted or refused."""
    with suppress(BadValueError):
        starting_position().parse(json.dumps({"at_timestamp": time, "format": pattern}))


OFFSET: dict[str, Any] = {
    "version": 1,
    "streams": {
        "orders": {
            "created": 1780000000000,
            "shards": {
                "shardId-0": {"SHARD_END": True, "first": "4963"},
                "shardId-1": {"AFTER": "4966", "arrived": 1790000012345, "first": "4965", "first_skip": 2},
                "shardId-2": {"AT_TIMESTAMP": 1790000000000},
                "shardId-3": {"AT": "4966", "skip": 3},
            },
        }
    },
}


@given(damaged(OFFSET))
def test_a_damaged_offset_is_refused(text: str) -> None:
    """An offset with one changed value is a valid offset, or is refused by a short error."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return  # Spark passes on only what it could parse
    try:
        offset = Offset.from_json(value)
        shown = repr(offset)
    except OffsetError as error:
        shown = str(error)
    assert len(shown) < 5000


MANY = 20_000


@pytest.mark.tests
@pytest.mark.parametrize(
    "text",
    [
        "{" + ",".join(f'"shardId-{n}":"LATEST"' for n in range(MANY)) + "}",
        "{" + ",".join(f'"stream-{n}":"LATEST"' for n in range(MANY)) + "}",
        '{"a":' * 300 + '"LATEST"' + "}" * 300,
        '{"shardId-1": {"AT": ' + "[" * 900 + "]" * 900 + "}}",
        '{"at_timestamp": "1", "format": "' + "'" * MANY + '"}',
        '{"at_timestamp": "' + "1" * MANY + '", "format": "' + "yyyyMMdd'" + "a" * MANY + "'\"}",
        "v" + "1" * MANY + "{",
        "- " * MANY + "{",
        "AT_TIMESTAMP" + " " * MANY + "x",
    ],
    ids=["shards", "streams", "nested", "deep", "quotes", "literal", "version", "dashes", "blanks"],
)
def test_memory_is_bounded_by_the_text(text: str) -> None:
    """Reading a position takes no more memory than a small multiple of its text."""

    def parse() -> None:
        with suppress(BadValueError):
            starting_position().parse(text)

    assert peak_bytes(parse) < 200 * len(text) + 100_000
