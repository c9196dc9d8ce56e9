"""Sources of temporary keys on 127.0.0.1: an STS and a container endpoint."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from attrs import define, field, frozen

from support.local_http import LocalHttp, QuietHandler

_SCOPE = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/")
SECRET, TOKEN = "SecretOfASession", "TokenOfASession"


@frozen
class Asked:
    """One request: its action and parameters, and the keys that signed it."""

    number: int
    """Counts from 1."""
    action: str
    params: dict[str, str]
    access_key: str
    """"" for an unsigned request."""
    region: str
    authorization: str


def _account_of(asked: Asked) -> str:
    """Return the role's account, which the emulator uses for calls with such a key."""
    return asked.params["RoleArn"].split(":")[4]


@define(slots=False)
class KeyServices(LocalHttp):
    """
    Gives keys with a lifetime of *life_s*; a context manager.

    *name_key* chooses the access key of a response. *external_id* is required for a role. *refusal* is an error code for
    every response. *body* stands in for every successful response of STS.
    """

    life_s: float = 3600.0
    name_key: Callable[[Asked], str] = _account_of
    external_id: str | None = None
    refusal: str | None = None
    body: str | None = None
    now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
    asked: list[Asked] = field(factory=list, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        services = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                params = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                self._send(
                    *services._response_sts(services._note(params.pop("Action"), params, self.headers))
                )

            def do_GET(self) -> None:
                self._send(200, services._response_container(services._note(self.path, {}, self.headers)))

            def _send(self, status: int, body: str) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

        return Handler

    def _note(self, action: str, params: dict[str, str], headers: Any) -> Asked:
        authorization = headers.get("Authorization", "")
        scope = _SCOPE.search(authorization)
        key, region = scope.groups() if scope else ("", "")
        with self._lock:
            asked = Asked(len(self.asked) + 1, action, params, key, region, authorization)
            self.asked.append(asked)
        return asked

    def _response_sts(self, asked: Asked) -> tuple[int, str]:
        wrong_id = self.external_id is not None and asked.params.get("ExternalId") != self.external_id
        refusal = self.refusal or ("AccessDenied" if wrong_id else None)
        if refusal:
            message = f"Not authorized to perform sts:{asked.action}"
            error = f"<Error><Type>Sender</Type><Code>{refusal}</Code><Message>{message}</Message></Error>"
            return 403, f"<ErrorResponse>{error}<RequestId>request-{asked.number}</RequestId></ErrorResponse>"
        if self.body is not None:
            return 200, self.body
        keys = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in self._make_keys(asked).items())
        result = f"<{asked.action}Result><Credentials>{keys}</Credentials></{asked.action}Result>"
        return 200, f"<{asked.action}Response>{result}</{asked.action}Response>"

    def _response_container(self, asked: Asked) -> str:
        keys = self._make_keys(asked)
        return json.dumps({**keys, "Token": keys["SessionToken"]})

    def _make_keys(self, asked: Asked) -> dict[str, str]:
        return {
            "AccessKeyId": self.name_key(asked),
            "SecretAccessKey": SECRET,
            "SessionToken": f"{TOKEN}{asked.number}",
            "Expiration": (self.now() + timedelta(seconds=self.life_s)).isoformat(),
        }
