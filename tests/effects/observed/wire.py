"""An HTTP server that refuses and records every request, to check what is really sent. It also works as a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from attrs import define, field, frozen

from support.local_http import LocalHttp, QuietHandler
from support.signatures import is_signed_with

_REFUSAL = b'{"__type": "AccessDeniedException", "message": "Refused by the test."}'


@frozen
class Sent:
    """One request."""

    url: str
    """The path, or the whole URL of a request that was sent through the proxy."""
    headers: Mapping[str, str]
    """The headers by lower-case name."""
    body: bytes

    def is_signed_with(self, secret: str) -> bool:
        url = f"http://{self.headers['host']}{urlsplit(self.url).path}"
        return is_signed_with(secret, self.headers, url, self.body)


@define(slots=False)
class Wire(LocalHttp):
    """A recording server; a context manager."""

    sent: list[Sent] = field(factory=list, init=False)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        wire = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                wire.sent.append(Sent(self.path, headers, body))
                self.send_response(400)
                self.send_header("Content-Length", str(len(_REFUSAL)))
                self.end_headers()
                self.wfile.write(_REFUSAL)

        return Handler
