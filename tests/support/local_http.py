"""Base of small servers for tests: an HTTP server on 127.0.0.1, as a context manager."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeVar

S = TypeVar("S", bound="LocalHttp")


class QuietHandler(BaseHTTPRequestHandler):
    """A handler without a log."""

    def log_message(self, *_: Any) -> None:
        pass


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"
