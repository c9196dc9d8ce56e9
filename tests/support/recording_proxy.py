"""A forward proxy on 127.0.0.1. It passes plain HTTP on, records the requests, and refuses tunnels."""

from __future__ import annotations

import http.client
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from attrs import define, field, frozen

from support.local_http import LocalHttp, QuietHandler


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

        class Handler(QuietHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                proxy._note(self)
                body = self.rfile.read(int(self.headers["Content-Length"]))
                url = urlsplit(self.path)
                upstream = http.client.HTTPConnection(url.netloc)
                kept = {name: value for name, value in self.headers.items() if not name.startswith("Proxy-")}
                upstream.request("POST", url.path or "/", body, kept)
                response = upstream.getresponse()
                said = response.read()
                upstream.close()
                self.send_response(response.status)
                for name, value in response.getheaders():
                    if name.lower() not in ("content-length", "connection"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def do_CONNECT(self) -> None:
                proxy._note(self)
                self.send_error(403, "No tunnels")

        return Handler

    def _note(self, request: BaseHTTPRequestHandler) -> None:
        given = request.headers.get("Proxy-Authorization", "")
        self.asked.append(Passed(request.command, request.path, given))
