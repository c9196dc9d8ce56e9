"""Canned responses behind a real botocore client: everything but the network is real."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import cbor2
from attrs import define, field
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders

CBOR_TYPE = "application/x-amz-cbor-1.1"
REQUEST_ID = "0f1e2d3c-request"


@define
class Canned:
    """Gives a client's requests the next canned response each, and records the requests."""

    responses: list[AWSResponse | Exception] = field(factory=list)
    asked: list[tuple[str, dict[str, Any]]] = field(factory=list)
    """The action and parameters of each request, as they were sent."""
    requests: list[AWSPreparedRequest] = field(factory=list)

    def serve(self, client: Any, service: str = "kinesis") -> None:
        client.meta.events.register(f"before-send.{service}", self._response, unique_id=f"canned {id(self)}")

    def response(
        self,
        body: Any,
        status: int = 200,
        date: str = "Sat, 21 Nov 2026 01:13:43 GMT",
        content_type: str | None = None,
    ) -> None:
        """Add a response. *body* is bytes, or a value to encode as JSON, or as CBOR if that is the *content_type*."""
        encode = cbor2.dumps if content_type == CBOR_TYPE else lambda value: json.dumps(value).encode()
        raw = body if isinstance(body, bytes) else encode(body)
        headers = HTTPHeaders()
        headers.add_header("x-amzn-requestid", REQUEST_ID)
        headers.add_header("date", date)
        if content_type is not None:
            headers.add_header("content-type", content_type)
        self.responses.append(AWSResponse("http://127.0.0.1", status, headers, _Raw(raw)))

    def refuse(self, code: str, message: str = "The service says no.", status: int = 400) -> None:
        """Add an error in Kinesis' wording."""
        self.response({"__type": code, "message": message}, status)

    def fail(self, error: Exception) -> None:
        """Make the next request fail with *error*, as if the network did."""
        self.responses.append(error)

    def _response(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        action = header(request, "X-Amz-Target").rpartition(".")[2]
        self.requests.append(request)
        decode = _decode_cbor if header(request, "Content-Type") == CBOR_TYPE else json.loads
        self.asked.append((action, decode(cast(bytes, request.body))))
        response = self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response


def _decode_cbor(body: bytes) -> Any:
    """Return the value of a request. A time is a tag."""
    return cbor2.loads(body, semantic_decoders={1: lambda value, _: cbor2.CBORTag(1, value)})


def header(request: AWSPreparedRequest, name: str) -> str:
    """Return the value of the header *name* in *request*."""
    value: Any = request.headers[name]
    return value if isinstance(value, str) else str(value.decode())


@define
class _Raw:
    """A response body with urllib3's methods."""

    body: bytes

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.body

    def read(self, **_: Any) -> bytes:
        return self.body

    def close(self) -> None:
        pass
