"""Kinesis as a list of ready answers behind a real botocore client: everything but the network is the real thing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from attrs import define, field
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders

REQUEST_ID = "0f1e2d3c-request"


@define
class Canned:
    """Responses a client's requests in order, and keeps what was asked."""

    responses: list[AWSResponse | Exception] = field(factory=list)
    asked: list[tuple[str, dict[str, Any]]] = field(factory=list)
    """Action and parameters of each request, as they went over the wire."""
    requests: list[AWSPreparedRequest] = field(factory=list)

    def serve(self, client: Any, service: str = "kinesis") -> None:
        client.meta.events.register(f"before-send.{service}", self._response)

    def response(self, body: Any, status: int = 200, date: str = "Sat, 21 Nov 2026 01:13:43 GMT") -> None:
        """Add an answer; *body* is bytes, or something to be made JSON of."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = HTTPHeaders()
        headers.add_header("x-amzn-requestid", REQUEST_ID)
        headers.add_header("date", date)
        self.responses.append(AWSResponse("http://127.0.0.1", status, headers, _Raw(raw)))

    def refuse(self, code: str, message: str = "The service says no.", status: int = 400) -> None:
        """Add an error as Kinesis words it."""
        self.response({"__type": code, "message": message}, status)

    def fail(self, error: Exception) -> None:
        """Let the way to the service fail with botocore's *error*."""
        self.responses.append(error)

    def _response(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        action = header(request, "X-Amz-Target").rpartition(".")[2]
        self.requests.append(request)
        self.asked.append((action, json.loads(cast(bytes, request.body))))
        response = self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response


def header(request: AWSPreparedRequest, name: str) -> str:
    """Return what *request* has in the header called *name*."""
    value: Any = request.headers[name]
    return value if isinstance(value, str) else str(value.decode())


@define
class _Raw:
    """A body as urllib3 hands it over."""

    body: bytes

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.body

    def read(self, **_: Any) -> bytes:
        return self.body

    def close(self) -> None:
        pass
