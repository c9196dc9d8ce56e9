"""A forward proxy on 127.0.0.1. It passes plain HTTP on, records the requests, and refuses tunnels."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from attrs import define, field, frozen

from support.local_http import ForwardingHandler, LocalHttp


@frozen
class Passed:
    """One request that the proxy received."""

    method: str
    target: str
    authorization: str


@define(slots=False)
class RecordingProxy(LocalHttp):
    """A recording proxy; a context manager."""

    asked: list[Passed] = field(factory=list, init=False)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(ForwardingHandler):
            def route(self, body: bytes) -> tuple[str, str]:  # noqa: ARG002 # of any request
                proxy._note(self)
                url = urlsplit(self.path)
                return url.netloc, url.path or "/"

            def do_CONNECT(self) -> None:
                proxy._note(self)
                self.send_error(403, "No tunnels")

        return Handler

    def _note(self, request: BaseHTTPRequestHandler) -> None:
        given = request.headers.get("Proxy-Authorization", "")
        self.asked.append(Passed(request.command, request.path, given))
