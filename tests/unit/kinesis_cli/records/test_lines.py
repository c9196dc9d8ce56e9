"""What is refused as a line of a record, and what a line looks like."""

from __future__ import annotations

import pytest

from kinesis_cli.records import LineError, arrived_ms, decode_line
from kinesis_cli.records.lines import encode_line
from kinesis_cli.records.templates import show_payload
from support.user_records import user_record


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not a JSON object"),
        (b'{"data": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'{"data": "x"', "not a JSON object"),
        (b'{"data": "\xff"}', "not a JSON object"),
        (b'{"partitionKey": "c"}', "either 'data' or 'dataBase64'"),
        (b'{"data": "x", "dataBase64": "eA=="}', "either 'data' or 'dataBase64'"),
        (b'{"data": 12}', "an object, an array or a text"),
        (b'{"dataBase64": "?"}', "not a JSON object"),
        (b'{"data": "x", "partitionKey": 7}', "not a JSON object"),
    ],
)
def test_a_line_that_is_no_record(line: bytes, reason: str) -> None:
    """The error says why, and shows nothing of the line."""
    with pytest.raises(LineError, match=reason):
        decode_line(line)


def test_lines_of_other_tools() -> None:
    """Unknown fields are ignored, and all fields but the payload may be missing."""
    line, payload = decode_line(b'{"data": [1, 2], "offset": 7}')
    assert (payload, line.partition_key, arrived_ms(line)) == (b"[1, 2]", None, None)


def test_a_wrong_time() -> None:
    """A time that is not ISO 8601 is refused."""
    line, _ = decode_line(b'{"data": "x", "arrived": "noon"}')
    with pytest.raises(LineError, match="'arrived' is not an ISO 8601 time"):
        arrived_ms(line)


@pytest.mark.parametrize(
    "payload", [b"[1,]", b'{"a":NaN}', b'{"a":1}x}', b"{\n}x}", b"[" * 20_000 + b"]" * 20_000]
)
def test_what_is_nearly_json(payload: bytes) -> None:
    """A payload that only looks like JSON is a text. So is JSON that is nested too deeply to be read."""
    line, found = decode_line(encode_line(user_record(payload)))
    assert bytes(line.data).startswith(b'"')
    assert found == payload
    assert show_payload(payload) == payload.decode().replace("\n", "\\n")
