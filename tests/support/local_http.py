"""Base of small servers for tests: an HTTP server on 127.0.0.1, as a context manager."""

from __future__ import annotations

import http.client
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

S = TypeVar("S", bound="LocalHttp")


class QuietHandler(BaseHTTPRequestHandler):
    """A handler without a log."""

    def log_message(self, *_: Any) -> None:
        pass


class ForwardingHandler(QuietHandler):
    """Passes each POST on, and its response back."""

    protocol_version = "HTTP/1.1"

    def route(self, body: bytes) -> tuple[str, str]:
        """Return the host and the path to which a request goes."""
        raise NotImplementedError

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        host, path = self.route(body)
        kept = {name: value for name, value in self.headers.items() if not name.startswith("Proxy-")}
        with closing(http.client.HTTPConnection(host)) as upstream:
            upstream.request("POST", path, body, kept)
            response = upstream.getresponse()
            said = response.read()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)


class LocalHttp:
    """A base class. `_handler` returns the class that handles requests."""

    _server: ThreadingHTTPServer

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        raise NotImplementedError

    def __enter__(self: S) -> S:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"
