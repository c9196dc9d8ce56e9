"""What is refused as a line of a record, and what a line looks like."""

from __future__ import annotations

import pytest

from kinesis_cli.records import LineError, arrived_ms, decode_line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not a JSON object"),
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
