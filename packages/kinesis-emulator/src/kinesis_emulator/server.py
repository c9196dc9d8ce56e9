"""The listener: one thread per connection, and the protocol that a connection begins with."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from io import BufferedReader
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from kinesis_emulator.addresses import resolve
from kinesis_emulator.endings import end_after
from kinesis_emulator.events import log_connection_failure, log_refusal
from kinesis_emulator.exchange import Exchange
from kinesis_emulator.http1 import Http1Connection

if TYPE_CHECKING:
    import ssl

    from kinesis_emulator.http2 import Http2Connection

HANDSHAKE_S = 60.0
"""How long a client may take for the handshake of TLS."""
HAS_HTTP2 = find_spec("h2") is not None

_TLS_FIRST_BYTE = b"\x16"
_HTTP2_FIRST_BYTES = b"PRI "
_HTTP2_HEAD = b"PRI * HTTP/2.0\r\n\r\n"
"""What HTTP/1.1 has read of an HTTP/2 connection: a request line without headers."""
_PLAIN_ON_TLS = "HTTP without TLS on a port with TLS. Use https://."
_NO_HANDSHAKE = (
    "a handshake of TLS that failed. The client must trust the certificate that is shown at the start."
)
_TLS_ON_PLAIN = "TLS on a plain port. Use http://, or start the emulator with --tls."
_NO_H2 = 'HTTP/2, which needs the package h2: pip install "kinesis-emulator[http2]".'
_NOT_SPOKEN = "HTTP/2, which this emulator was told not to speak."


@dataclass(frozen=True)
class OpenConnection:
    """
    A connection of a client that is open.

    Attributes:
        number: The number of the connection; a later one has a higher number.
        protocol: The version of HTTP, `HTTP/1.1` or `HTTP/2`.
        calls: How many requests it has had.
    """

    number: int
    protocol: str
    calls: int


@dataclass
class _Served:
    """A connection, the thread that serves it, and what it speaks, once that is known."""

    number: int
    thread: threading.Thread
    by: Http1Connection | Http2Connection | None = None


class HttpServer(socketserver.ThreadingTCPServer):
    """
    Listens on *host*, and sends the response of *exchange* for each request.

    With *tls* all connections are encrypted. Without *http2* clients of HTTP/2 are refused.

    Raises:
        OSError: Nothing can listen there.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        host: str,
        port: int,
        exchange: Exchange,
        tls: ssl.SSLContext | None = None,
        *,
        http2: bool = True,
    ) -> None:
        self.address_family, address = resolve(host, port)
        super().__init__(address, _Connection)
        self.exchange = exchange
        self.tls = tls
        self.http2 = http2
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._connections: dict[socket.socket, _Served] = {}
        self._acceptor = threading.Thread(
            target=self.serve_forever, args=(0.02,), name="kinesis-emulator", daemon=True
        )

    @property
    def address(self) -> str:
        """The IP address that the server listens on."""
        return str(self.server_address[0])

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def start(self) -> None:
        self._acceptor.start()

    def stop(self, wake: Callable[[], None]) -> None:
        """Stop listening, cut all connections, *wake* the threads that wait for events to send, and join all threads."""
        if self._acceptor.ident is not None:
            self.shutdown()
            self._acceptor.join()
        self.server_close()
        with self._lock:
            connections = dict(self._connections)
        for connection in connections:
            try:
                socket.socket.shutdown(connection, socket.SHUT_RDWR)  # that of TLS would disturb its thread
            except OSError:
                continue  # the client has closed it
        wake()
        for one in connections.values():
            one.thread.join(timeout=5)

    def connections(self) -> list[OpenConnection]:
        with self._lock:
            served = [*self._connections.values()]
        return [
            OpenConnection(one.number, one.by.protocol, one.by.calls) for one in served if one.by is not None
        ]

    def note(self, connection: socket.socket, by: Http1Connection | Http2Connection) -> None:
        """Take note of what serves a connection from now on."""
        with self._lock:
            self._connections[connection].by = by

    def get_request(self) -> tuple[Any, Any]:
        connection, client = super().get_request()
        if self.tls is None:
            return connection, client
        # The handshake is in the connection's thread, so that a client that stalls does not stop others.
        return self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), client

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        with self._lock:
            self._connections[request] = _Served(next(self._numbers), thread)
        thread.start()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - as in the base class
        log_connection_failure(_shown(client_address))

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)


class _Connection(socketserver.StreamRequestHandler):
    """One client's connection."""

    server: HttpServer
    rfile: BufferedReader
    rbufsize = 256 * 1024
    disable_nagle_algorithm = True

    def handle(self) -> None:
        try:
            if self.server.tls is None:
                self._serve_plain()
            else:
                self._serve_encrypted()
        except OSError:
            return  # the client has closed the connection, or the server was stopped

    def _serve_plain(self) -> None:
        if self.rfile.peek(1)[:1] == _TLS_FIRST_BYTE:
            # What Go's server says; clients of TLS then report a "wrong version number".
            self._refuse(_TLS_ON_PLAIN, http1_refusal("This port does not speak TLS."))
        elif self._http1(self._plain_client_has_left).serve():
            self._continue_in_http2()

    def _serve_encrypted(self) -> None:
        connection = cast("ssl.SSLSocket", self.connection)
        first = socket.socket.recv(connection, len(_HTTP2_FIRST_BYTES), socket.MSG_PEEK)
        if first[:1] != _TLS_FIRST_BYTE:
            is_http2 = first == _HTTP2_FIRST_BYTES
            self._refuse(_PLAIN_ON_TLS, (http2_refusal if is_http2 else http1_refusal)(_PLAIN_ON_TLS))
            return
        connection.settimeout(HANDSHAKE_S)
        try:
            connection.do_handshake()
        except OSError as error:
            log_refusal(self._client, f"{_NO_HANDSHAKE} {error}")
            return
        connection.settimeout(None)
        if connection.selected_alpn_protocol() == "h2":
            self._serve_http2(b"")
        elif self._http1(self._encrypted_client_has_left).serve():
            self._continue_in_http2()

    def _http1(self, has_left: Callable[[], bool]) -> Http1Connection:
        made = Http1Connection(self.connection, self.rfile, self.server.exchange, has_left)
        self.server.note(self.connection, made)
        return made

    def _continue_in_http2(self) -> None:
        """Serve a client whose first line was that of HTTP/2."""
        if protocols(self.server.http2)[0] == "h2":
            self._serve_http2(_HTTP2_HEAD + self._read_ahead())
            return
        reason = _NO_H2 if self.server.http2 else _NOT_SPOKEN
        self._refuse(reason, http2_refusal(reason))

    def _serve_http2(self, received: bytes) -> None:
        from kinesis_emulator.http2 import Http2Connection  # it takes time, and h2 may not be there

        made = Http2Connection(self.connection, self._client, self.server.exchange)
        self.server.note(self.connection, made)
        made.serve(received)

    def _read_ahead(self) -> bytes:
        """Return what was read from the connection and is not used yet."""
        self.connection.setblocking(False)
        try:
            return self.rfile.read1() or b""
        except OSError:  # there is nothing, as TLS says it
            return b""
        finally:
            self.connection.setblocking(True)

    def _plain_client_has_left(self) -> bool:
        self.connection.setblocking(False)
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        finally:
            self.connection.setblocking(True)

    def _encrypted_client_has_left(self) -> bool:
        import ssl

        self.connection.setblocking(False)
        try:
            return not self.rfile.peek(1)  # a socket with TLS cannot look ahead
        except ssl.SSLWantReadError:
            return False
        finally:
            self.connection.setblocking(True)

    def _refuse(self, reason: str, last: bytes) -> None:
        log_refusal(self._client, reason)
        end_after(self.connection, last)

    @property
    def _client(self) -> str:
        return _shown(self.client_address)


def _shown(address: Any) -> str:
    return f"{address[0]}:{address[1]}"


def protocols(http2: bool) -> list[str]:
    """Return what a port with TLS offers its clients, by the names of ALPN. HTTP/2 must be wanted, and needs its package."""
    return ["h2", "http/1.1"] if http2 and HAS_HTTP2 else ["http/1.1"]


def http1_refusal(reason: str) -> bytes:
    """Return a response of HTTP/1.1 that refuses the connection."""
    body = f"{reason}\n".encode()
    return (
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )


def http2_refusal(reason: str) -> bytes:
    """
    Return the bytes of HTTP/2 that refuse the connection: empty SETTINGS, and GOAWAY with HTTP_1_1_REQUIRED and the reason.

    Source: RFC 9113, sections 6.5, 6.8 and 7.
    """
    data = (0).to_bytes(4, "big") + (0xD).to_bytes(4, "big") + reason.encode()
    return _frame(4, b"") + _frame(7, data)


def _frame(kind: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, 0)) + bytes(4) + payload
