"""A proxy on 127.0.0.1 that opens tunnels for clients with the right user and password, and records their targets."""

from __future__ import annotations

import select
import socket
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from attrs import define, field


@define
class Tunnels:
    """A tunnelling proxy; a context manager. Clients need `user:password`."""

    login: str = "user:pass%word"
    opened: list[str] = field(factory=list, init=False)
    refused: list[str] = field(factory=list, init=False)
    _server: ThreadingHTTPServer = field(init=False)

    @property
    def port(self) -> int:
        return self._server.server_port

    def __enter__(self) -> Tunnels:
        tunnels = self

        class Handler(BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                tunnels._open(self)

            def log_message(self, format: str, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _open(self, asked: BaseHTTPRequestHandler) -> None:
        wanted = "Basic " + b64encode(self.login.encode()).decode()
        if asked.headers["Proxy-Authorization"] != wanted:
            self.refused.append(asked.path)
            asked.send_error(407)
            return
        self.opened.append(asked.path)
        host, _, port = asked.path.partition(":")
        with socket.create_connection((host, int(port))) as there:
            asked.send_response(200)
            asked.end_headers()
            _pass_on(asked.connection, there)


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """Copy between two sockets until one of them is closed."""
    while True:
        for ready in select.select([one, other], [], [])[0]:
            data = ready.recv(65536)
            if not data:
                return
            (other if ready is one else one).sendall(data)
