"""Errors in CBOR are those of JSON, and endpoints that do not speak CBOR get an error of their own."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_core.aws import WireFormat
from kinesis_core.errors import MalformedResponseError, UnavailableError, WireFormatError
from support.canned import CBOR_TYPE
from unit.kinesis_core.aws.fast.format_world import ARN, EVERY_CALL, JSON_TYPE, FormatWorld


@pytest.fixture
def world() -> FormatWorld:
    return FormatWorld()


CODES = [
    "ResourceNotFoundException",
    "ExpiredIteratorException",
    "ProvisionedThroughputExceededException",
    "InvalidArgumentException",
    "AccessDeniedException",
    "com.amazonaws.kinesis#ThrottlingException",
    "ExpiredTokenException",
    "KMSDisabledException",
    "SerializationException",
    "Unheard-of",
]


@EVERY_CALL
@pytest.mark.parametrize("code", CODES)
def test_an_error_is_that_of_json(action: str, code: str) -> None:
    """An error in CBOR is the same as in JSON: its class, code, request id and text."""
    body = {"__type": code, "message": "Nein, der Schlüssel."}
    in_json, in_cbor = (
        FormatWorld(wire_format).error(action, body, 400, content_type)
        for wire_format, content_type in ((WireFormat.JSON, JSON_TYPE), (WireFormat.CBOR, CBOR_TYPE))
    )
    assert type(in_json) is type(in_cbor)
    assert (str(in_json), in_json.code) == (str(in_cbor), in_cbor.code)
    assert "Schlüssel" in str(in_cbor)


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"\x80", b"{}", b"\xa1\x01\x02", b"\xa1\x66__type\x01", b"\x81" * 100]
)
def test_a_malformed_error_is_an_error_without_a_code(body: bytes, world: FormatWorld) -> None:
    """An error whose body is no map of text gets the code of its status, as with JSON."""
    assert world.error("GetRecords", body, 400, CBOR_TYPE).code == "400"
    assert isinstance(world.error("GetRecords", body, 503, CBOR_TYPE), UnavailableError)


@EVERY_CALL
@pytest.mark.parametrize(
    ("body", "status", "content_type", "returned"),
    [
        ({"Records": []}, 200, JSON_TYPE, JSON_TYPE),
        ({"Records": []}, 200, None, "JSON"),
        (b"", 200, JSON_TYPE, JSON_TYPE),
        ({"Records": []}, 200, "text/plain", "text/plain"),
        ({"__type": "SerializationException"}, 400, JSON_TYPE, "status 400, SerializationException"),
        ({"__type": "x#UnknownOperationException"}, 400, JSON_TYPE, "status 400, UnknownOperationException"),
        (b"What?", 400, "text/plain", "status 400"),
        (b"", 415, None, "status 415"),
    ],
)
def test_an_endpoint_that_does_not_speak_cbor(
    action: str, body: Any, status: int, content_type: str | None, returned: str, world: FormatWorld
) -> None:
    """A response in another format, or a refusal to read the request, is an error that is not retried and names the option."""
    error = world.error(action, body, status, content_type)
    assert isinstance(error, WireFormatError)
    assert not error.retryable
    shard = " shard=shardId-1" if action == "GetShardIterator" else ""
    assert str(error) == (
        f"https://kinesis.eu-west-1.amazonaws.com does not speak CBOR ({action} returned {returned}). Set wire_format=WireFormat.JSON. "
        f"[stream={ARN}{shard}]"
    )


def test_an_error_of_a_server_in_between_is_retried(world: FormatWorld) -> None:
    """A failure of a load balancer says nothing about the service. Its text names the option."""
    error = world.error("GetRecords", b"<html>", 503, "text/html")
    assert isinstance(error, UnavailableError)
    assert "The response is not CBOR. If it stays so, use JSON as the wire format. " in str(error)
    assert (
        world.error("GetRecords", {"__type": "AccessDeniedException"}, 400, JSON_TYPE).code
        == "AccessDeniedException"
    )


@EVERY_CALL
@pytest.mark.parametrize(
    ("body", "content_type"), [(b"<html>", "text/html"), (b"", None), (b"\xa0", "text/plain")]
)
def test_a_response_of_a_proxy_is_retried(
    action: str, body: bytes, content_type: str | None, world: FormatWorld
) -> None:
    """A success that is neither CBOR nor JSON is malformed, so it is retried. The error names the option."""
    error = world.error(action, body, 200, content_type)
    assert isinstance(error, MalformedResponseError)
    assert (
        f"its Content-Type is {content_type or 'missing'}. The response is not CBOR. If it stays so, use JSON as the wire format"
        in str(error)
    )


@EVERY_CALL
@pytest.mark.parametrize(
    "body", [b"", b"\xa0", b"\xff", b"\x81", b"\xa1\x6dShardIterator\x01", b'{"ShardIterator":"x"}']
)
def test_a_malformed_success_is_retried(action: str, body: bytes, world: FormatWorld) -> None:
    """A body that claims to be CBOR and is not the response of the call is a malformed response."""
    assert isinstance(world.error(action, body, 200, CBOR_TYPE), MalformedResponseError)
