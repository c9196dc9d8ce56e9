"""A server on 127.0.0.1 that responds with given bytes, and checks the signatures of requests."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Callable

from attrs import define, field, frozen
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from support.waiting import PATIENCE_S

_AUTHORIZATION = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/(\w+)/aws4_request, SignedHeaders=([^,]+), ")


@frozen
class Received:
    """One request."""

    headers: dict[str, str]
    """The headers by lower-case name."""
    body: bytes

    def is_signed_with(self, keys: Credentials, scheme: str) -> bool:
        """Return whether the signature is the one that botocore makes for such a request."""
        authorization = self.headers["authorization"]
        found = _AUTHORIZATION.search(authorization)
        if found is None:
            return False
        _, region, service, names = found.groups()
        unsigned = AWSRequest("POST", f"{scheme}://{self.headers['host']}/", data=self.body)
        for name in set(names.split(";")) - {"host"}:
            unsigned.headers[name] = self.headers[name]
        unsigned.context["timestamp"] = self.headers["x-amz-date"]
        signer = SigV4Auth(keys, service, region)
        to_sign = signer.string_to_sign(unsigned, signer.canonical_request(unsigned))
        return authorization.endswith(f"Signature={signer.signature(to_sign, unsigned)}")


Response = Callable[[socket.socket], bool]
"""Writes a response; returns whether the connection stays open."""


def say(text: bytes, *, stay: bool = True) -> Response:
    """Return a response that sends *text* unchanged."""

    def write(connection: socket.socket) -> bool:
        connection.sendall(text)
        return stay

    return write


def good(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@define(slots=False)
class ScriptedHttp:
    """Gives each request the next of *responses*; a context manager. With *certificate* and its key it uses TLS."""

    certificate: tuple[str, str] | None = None
    responses: list[Response] = field(factory=list)
    received: list[Received] = field(factory=list)
    connections: int = 0
    _left: threading.Semaphore = field(factory=lambda: threading.Semaphore(0), init=False)
    _listener: socket.socket = field(init=False)

    def __enter__(self) -> ScriptedHttp:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def url(self) -> str:
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    def wait_until_left(self) -> None:
        """Wait until one more connection is closed."""
        assert self._left.acquire(timeout=PATIENCE_S)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(self._secure(connection)) as secured:
            while (request := _receive(secured)) is not None:
                self.received.append(request)
                if not self.responses.pop(0)(secured):
                    break
        self._left.release()

    def _secure(self, connection: socket.socket) -> socket.socket:
        if self.certificate is None:
            return connection
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*self.certificate)
        return tls.wrap_socket(connection, server_side=True)


def _receive(connection: socket.socket) -> Received | None:
    received = b""
    while True:
        head, end, body = received.partition(b"\r\n\r\n")
        if end:
            lines = [line.partition(":") for line in head.decode().split("\r\n")[1:]]
            headers = {name.lower(): value.strip() for name, _, value in lines}
            if len(body) >= int(headers["content-length"]):
                return Received(headers, body)
        more = connection.recv(65536)
        if not more:
            return None
        received += more
