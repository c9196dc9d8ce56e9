"""The response to an HTTP request, in whatever version of HTTP it came: a call of Kinesis, a health check, or a browser's question."""

from __future__ import annotations

import email.utils
import json
import re
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from kinesis_emulator.control import PREFIX
from kinesis_emulator.errors import AwsError
from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import HttpVersion, Request
from kinesis_emulator.service import EventStream, Response, error_response
from kinesis_emulator.settings import Settings
from kinesis_emulator.version import __version__
from kinesis_emulator.wire_formats import EVENTS, BodyFormat, find_format

MAX_BODY_BYTES = 64 * 1024 * 1024
"""The largest body that is read. Kinesis refuses requests of 10 MiB, which JSON can inflate to almost four times as much."""

Respond = Callable[[Request], Response]
Control = Callable[[str, str, bytes], tuple[int, bytes]]
"""Carries out a command of tests: method, path and body to the status and JSON of the response."""
Headers = list[tuple[str, str]]
_TARGET_PREFIX = "Kinesis_20131202."
_SCOPE = re.compile(r"Credential=([^/,\s]+)/\d+/([^/,\s]+)/")
_EXPOSED = "x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,Date"
_PREFLIGHT_AGE_S = 172_800
_ASKED = {
    "access-control-request-headers": "Access-Control-Allow-Headers",
    "access-control-request-method": "Access-Control-Allow-Methods",
}
"""What a browser asks for, and the header that allows it."""


@dataclass(frozen=True)
class HttpRequest:
    """A request whose headers have lower-case names."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    version: HttpVersion = "1.1"


@dataclass(frozen=True)
class HttpResponse:
    """
    A response without the headers that depend on the version of HTTP: those of its length and of the connection.

    A body of None ends the call without a response.
    """

    status: int
    headers: Headers
    body: bytes | EventStream | None
    fault: Fault


class Exchange:
    """
    Makes the response to each request.

    Args:
        respond: Carries out a call of Kinesis.
        control: Carries out a command of tests.
        clock: The emulator's clock.
        settings: They have the region of unsigned calls, and say how broken calls of HTTP/2 end.
        origins: The origins of the web pages whose calls browsers may make; `*` allows all.
    """

    def __init__(
        self,
        respond: Respond,
        control: Control,
        clock: Callable[[], float],
        settings: Settings,
        origins: Collection[str] = (),
    ) -> None:
        self._respond = respond
        self._control = control
        self._clock = clock
        self.settings = settings
        self._origins = frozenset(origins)

    def response(self, request: HttpRequest) -> HttpResponse:
        origin = self._allowed_origin(request)
        if request.method == "OPTIONS" and origin:
            return HttpResponse(200, _preflight(request, origin), b"", Fault())
        allowed = [("Access-Control-Expose-Headers", _EXPOSED), *_allow(origin)] if origin else []
        if request.method == "GET" and request.path.partition("?")[0] == "/health":
            return _json(200, json.dumps({"status": "ok", "version": __version__}).encode(), allowed)
        if request.path.startswith(PREFIX):
            if (
                "origin" in request.headers and not origin
            ):  # a browser sends a POST for any page, without a question
                return _json(403, b'{"error": "Web pages may not call. See --cors."}', [])
            return _json(*self._control(request.method, request.path, request.body), allowed)
        wire_format = find_format(request.headers.get("content-type", ""))
        return self._encoded(self._call(request, wire_format), wire_format, allowed)

    def refusal(self, error: AwsError, headers: Mapping[str, str]) -> HttpResponse:
        """Return the response to a request that is refused before its body is read."""
        return self._encoded(error_response(error), find_format(headers.get("content-type", "")), [])

    def _call(self, request: HttpRequest, wire_format: BodyFormat) -> Response:
        try:
            call = parse_call(request, wire_format, self.settings.region)
        except AwsError as error:
            return error_response(error)
        return self._respond(call)

    def _encoded(self, response: Response, wire_format: BodyFormat, more: Headers) -> HttpResponse:
        body, fault = response.body, response.fault or Fault()
        content_type = fault.content_type or wire_format.content_type
        if isinstance(body, dict):
            body = wire_format.encode(body)
        elif body is not None and not isinstance(body, bytes):
            content_type = EVENTS
        headers = [
            ("x-amzn-RequestId", str(uuid.uuid4())),
            ("Content-Type", content_type),
            ("Date", email.utils.formatdate(self._clock(), usegmt=True)),
            *more,
        ]
        return HttpResponse(response.status, headers, body, fault)

    def _allowed_origin(self, request: HttpRequest) -> str:
        """Return the request's origin if its web page may call; "" for others, and for requests of programs."""
        if not self._origins or "origin" not in request.headers:
            return ""
        if "*" in self._origins:
            return "*"
        origin = request.headers["origin"]
        return origin if origin in self._origins else ""


def _json(status: int, body: bytes, more: Headers) -> HttpResponse:
    return HttpResponse(status, [("Content-Type", "application/json"), *more], body, Fault())


def _allow(origin: str) -> Headers:
    return [
        ("Access-Control-Allow-Origin", origin),
        *([] if origin == "*" else [("Vary", "Origin")]),
    ]


def _preflight(request: HttpRequest, origin: str) -> Headers:
    """
    Return the headers that let a browser make the request that it asks for.

    Source: AWS allows what is asked for, for two days: https://github.com/mhart/kinesalite/blob/master/test/connection.js
    """
    asked = [(allow, request.headers[ask]) for ask, allow in _ASKED.items() if ask in request.headers]
    return [*_allow(origin), *asked, ("Access-Control-Max-Age", str(_PREFLIGHT_AGE_S))]


def parse_call(request: HttpRequest, wire_format: BodyFormat, default_region: str) -> Request:
    """
    Return the call that a request makes.

    Raises:
        AwsError: It is not a call of Kinesis, or its body is malformed.
    """
    target = request.headers.get("x-amz-target", "")
    if request.method != "POST" or not target.startswith(_TARGET_PREFIX):
        raise AwsError(
            "UnknownOperationException", f"This is a Kinesis emulator; got {request.method} {target}."
        )
    params = wire_format.decode(request.body)
    scope = _SCOPE.search(request.headers.get("authorization", ""))
    access_key, region = scope.groups() if scope else ("", default_region)
    signed_at = request.headers.get("x-amz-date", "")
    return Request(
        target.removeprefix(_TARGET_PREFIX),
        params,
        region,
        access_key,
        signed_at,
        wire_format.name,
        request.version,
    )


def body_too_large() -> AwsError:
    return AwsError(
        "RequestEntityTooLargeException",
        f"The emulator reads bodies of at most {MAX_BODY_BYTES} bytes.",
        status=413,
    )
