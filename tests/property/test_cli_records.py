"""A record as a line of JSON: nothing of any record is lost."""

from __future__ import annotations

import json

from hypothesis import example, given, strategies as st

from kinesis_cli.records import arrived_ms, decode_line
from kinesis_cli.records.lines import encode_line
from kinesis_cli.records.templates import compile_template, show_payload
from kinesis_core import UserRecord
from support.user_records import user_record

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
).map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
PAYLOADS = st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")) | JSON
TIMES = st.none() | st.integers(0, 4_102_444_800_000)


def record(data: bytes, key: str | None = "c", hash_key: str | None = None, at: int | None = 0) -> UserRecord:
    return user_record(
        data, sub_sequence_number=2, partition_key=key, explicit_hash_key=hash_key, arrived_ms=at
    )


@given(PAYLOADS, st.none() | st.text(), st.none() | st.just("7"), TIMES)
@example(b"[01]", "c", None, 0)
@example(b'{"a":1} ', "c", None, 0)
@example(b'{"a":\n1}', "c", None, 0)
@example(b'{"a":\r1}', "c", None, 0)
@example(b'{"a":NaN}', "c", None, 0)
@example(b'{"a":"\xff"}', "c", None, 0)
@example('{"a":"\u2028"}'.encode(), "c", None, 0)
def test_a_line_keeps_all_of_a_record(
    data: bytes, key: str | None, hash_key: str | None, at: int | None
) -> None:
    """A line is one line of valid JSON, and gives back the payload byte for byte, the keys and the time."""
    key = None if key is None else key.encode("utf-8", "replace").decode()
    encoded = encode_line(record(data, key, hash_key, at))
    assert b"\n" not in encoded
    json.loads(encoded)
    line, payload = decode_line(encoded)
    assert payload == data
    assert (line.partition_key, line.explicit_hash_key, arrived_ms(line)) == (key, hash_key, at)


@given(PAYLOADS)
@example(b"\x1b[31m")
@example("\u202e\u200b\x9b".encode())
def test_a_payload_cannot_control_a_terminal(data: bytes) -> None:
    """What is shown of a payload is one line of printable text."""
    assert show_payload(data).isprintable()
    assert compile_template("%k %s", colour=False)(
        record(data, data.decode("utf-8", "replace"))
    ).isprintable()
