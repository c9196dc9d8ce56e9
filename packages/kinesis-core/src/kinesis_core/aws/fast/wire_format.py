"""The format of the frequent calls' bodies, and what to do about an endpoint that does not speak it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import botocore.exceptions as boto

from kinesis_core.aws.fast import wire
from kinesis_core.aws.service_errors import NotCborError
from kinesis_core.aws.wire_choice import WireFormat, check_cbor
from kinesis_core.model import Page, PutEntry, PutResponse
from kinesis_credentials.failures import ErrorResponse

CBOR_TYPE = "application/x-amz-cbor-1.1"
"""The content type of requests in CBOR."""
_CBOR_TYPES = frozenset({CBOR_TYPE, "application/cbor"})
_UNREADABLE = frozenset({"SerializationException", "UnknownOperationException"})
"""Codes of servers that cannot read a request."""
_HINT = "The response is not CBOR. If it stays so, use JSON as the wire format"
_CANNOT_READ = frozenset({400, 406, 415})


class Wire(Protocol):
    """A codec of bodies: the modules `wire` and `wire_cbor`."""

    def encode_request(self, request: Mapping[str, Any], /) -> bytes: ...

    def encode_time(self, epoch_ms: int) -> Any:
        """Return a time as a value for `encode_request`."""
        ...

    def encode_put(self, entries: Sequence[PutEntry], name: str, arn: str | None) -> bytes: ...

    def decode_response(self, body: bytes) -> Any:
        """Return the value in *body*; ValueError if it has none."""
        ...

    def decode_page(self, body: bytes, with_data: bool = True) -> Page: ...

    def decode_put_response(self, body: bytes, records: int, with_results: bool) -> PutResponse: ...


def find_wire(wire_format: WireFormat) -> Wire:
    """
    Return the codec of *wire_format*. The packages for CBOR are imported here, and only for it.

    Raises:
        OptionError: They are not installed.
    """
    if wire_format is WireFormat.JSON:
        return wire
    check_cbor()
    from kinesis_core.aws.fast import wire_cbor

    return wire_cbor


def is_cbor(content_type: str | None) -> bool:
    """Return whether a body with *content_type* is CBOR."""
    return (content_type or "").partition(";")[0].strip().lower() in _CBOR_TYPES


def verify_success(response: Mapping[str, Any], body: bytes, action: str, endpoint_url: str) -> None:
    """
    Verify that a successful *response* to a request in CBOR says that its *body* is CBOR too.

    Raises:
        NotCborError: It is JSON.
        ValueError: It is something else. A proxy may have responded, so the call is retried.
    """
    content_type = response["ResponseMetadata"].get("HTTPHeaders", {}).get("content-type") or ""
    if is_cbor(content_type):
        return
    if "json" in content_type.lower() or bytes(body[:1]) == b"{":
        returned = content_type or "JSON"
        raise NotCborError(endpoint_url=endpoint_url, action=action, returned=returned)
    raise ValueError(f"its Content-Type is {content_type or 'missing'}. {_HINT}")


def verify_refusal(refusal: boto.ClientError, action: str, endpoint_url: str) -> None:
    """
    Verify that *refusal* of a request in CBOR does not mean that the endpoint cannot read it.

    A refusal in another format is not enough: a load balancer in front of the service may have sent it. That of a failing server gets
    a hint, and is retried.

    Raises:
        NotCborError: The endpoint cannot read the request.
    """
    response = ErrorResponse.of(refusal)
    status, code = response.status, response.code
    if is_cbor(refusal.response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("content-type")):
        return
    has_no_code = code in ("Unknown", str(status))
    if code in _UNREADABLE or (has_no_code and status in _CANNOT_READ):
        returned = f"status {status}" if has_no_code else f"status {status}, {code}"
        raise NotCborError(endpoint_url=endpoint_url, action=action, returned=returned) from refusal
    if has_no_code and status >= 500:
        error = refusal.response["Error"]
        error["Message"] = f"{_HINT}. {error.get('Message', '')}"
