"""
Calls of Kinesis as plain HTTP, without an SDK, so that nothing hides a difference.

A request is JSON by HTTP/1.1, signed by version 4 of AWS's signatures. A subclass of `Endpoint` may have another format.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

_JSON = "application/x-amz-json-1.1"
_VERSION = "Kinesis_20131202"
_PRELUDE = struct.Struct(">III")
_CHECKSUM_BYTES = 4
_MOST_EVENTS = 50
"""Events of one subscription that are read, so that one without records ends."""


@dataclass(frozen=True)
class Keys:
    """The keys of a user. The default is an invented one; some servers take 12 digits as the number of the account."""

    access_key: str = "000000000000"
    secret: str = field(default="secret", repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Response:
    """
    The response of one call.

    Attributes:
        body: The parsed JSON, or the text if it is no JSON. A subscription is an object with its `Events` and all their `Records`.
    """

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def error_type(self) -> str | None:
        """The name of the error, or None for an answer."""
        if self.status < 300:
            return None
        kind = self.body.get("__type") if isinstance(self.body, dict) else None
        return str(kind or self.headers.get("x-amzn-errortype") or f"HTTP {self.status}").rpartition("#")[2]

    @property
    def message(self) -> Any:
        """The text of the error, which AWS sends as `message`, and as `Message` for some errors."""
        body = self.body if isinstance(self.body, dict) else {}
        return body.get("message", body.get("Message"))


class Endpoint:
    """A server of Kinesis at *url*."""

    def __init__(
        self, url: str, region: str = "us-east-1", keys: Keys | None = None, timeout_s: float = 60.0
    ) -> None:
        self.url = url
        self.region = region
        self._keys = keys or Keys()
        self._timeout_s = timeout_s
        self._parts = urlsplit(url)

    def call(
        self, operation: str, parameters: Any, http: dict[str, Any] | None = None, records: int = 0
    ) -> Response:
        """
        Make a call. *http* may have `headers` (null removes one), a `body`, a `method`, and `signed`.

        Of a subscription it reads events until they have *records* records.

        Raises:
            OSError: There is no response within the timeout.
        """
        http = http or {}
        content_type, body = self.encode(parameters)
        if "body" in http:
            body = http["body"].encode()
        method = http.get("method", "POST")
        headers = {
            "Content-Type": content_type,
            "X-Amz-Target": f"{_VERSION}.{operation}",
            **http.get("headers", {}),
        }
        headers = {name: value for name, value in headers.items() if value is not None}
        if http.get("signed", True):
            headers |= self._sign(method, body, headers)
        connection = self._connect()
        try:
            connection.request(method, self._parts.path or "/", body, headers)
            return self._read(connection.getresponse(), records)
        finally:
            connection.close()

    def encode(self, parameters: Any) -> tuple[str, bytes]:
        """Return the type and the body of a request."""
        return _JSON, json.dumps(parameters).encode()

    def decode(self, content_type: str, raw: bytes) -> Any:  # noqa: ARG002 - for a subclass
        """Return the value of a body or event, or its text if it has none."""
        try:
            return json.loads(raw)
        except ValueError:
            return raw.decode(errors="replace")

    def _read(self, response: HTTPResponse, records: int) -> Response:
        headers = {name.lower(): value for name, value in response.getheaders()}
        content_type = headers.get("content-type", "")
        if "eventstream" in content_type:
            return Response(response.status, headers, self._read_subscription(response, records))
        return Response(response.status, headers, self.decode(content_type, response.read()))

    def _read_subscription(self, response: HTTPResponse, wanted: int) -> dict[str, Any]:
        """Return the events of a subscription until they have *wanted* records, and at least one event."""
        events: list[dict[str, Any]] = []
        records: list[Any] = []
        for headers, payload in _frames(response):
            if headers.get(":message-type") != "event":
                return {"Events": events, "Records": records, "Exception": headers.get(":exception-type")}
            if headers.get(":event-type") == "SubscribeToShardEvent":
                events.append(self.decode(headers.get(":content-type", ""), payload))
                records += events[-1]["Records"]
                if len(records) >= wanted or len(events) >= _MOST_EVENTS:
                    break
        return {"Events": events, "Records": records}

    def _connect(self) -> HTTPConnection:
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout_s)

    def _sign(self, method: str, body: bytes, headers: dict[str, str]) -> dict[str, str]:
        """Return the headers of the signature."""
        now = datetime.now(timezone.utc)
        time, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        signed = {name.lower(): value for name, value in headers.items()}
        signed |= {"host": self._parts.netloc, "x-amz-date": time}
        token = {} if self._keys.token is None else {"X-Amz-Security-Token": self._keys.token}
        signed |= {name.lower(): value for name, value in token.items()}
        names = ";".join(sorted(signed))
        lines = "".join(f"{name}:{signed[name].strip()}\n" for name in sorted(signed))
        request = (
            f"{method}\n{self._parts.path or '/'}\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        )
        scope = f"{day}/{self.region}/kinesis/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = f"AWS4{self._keys.secret}".encode()
        for part in scope.split("/"):
            key = _hmac(key, part)
        signature = _hmac(key, text).hex()
        authorization = (
            f"Credential={self._keys.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        )
        return {"X-Amz-Date": time, "Authorization": f"AWS4-HMAC-SHA256 {authorization}", **token}


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _frames(response: HTTPResponse) -> Iterator[tuple[dict[str, str], bytes]]:
    """Yield the headers and the payload of each message of an event stream."""
    while prelude := response.read(_PRELUDE.size):
        total, of_headers, _ = _PRELUDE.unpack(prelude)
        rest = response.read(total - _PRELUDE.size)
        yield _parse_headers(rest[:of_headers]), rest[of_headers:-_CHECKSUM_BYTES]


def _parse_headers(raw: bytes) -> dict[str, str]:
    """Return the headers of a message. All that Kinesis sends are strings (type 7)."""
    headers = {}
    while raw:
        name, raw = raw[1 : raw[0] + 1], raw[raw[0] + 1 :]
        length = int.from_bytes(raw[1:3], "big")
        headers[name.decode()], raw = raw[3 : 3 + length].decode(), raw[3 + length :]
    return headers
