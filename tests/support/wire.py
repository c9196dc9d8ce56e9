"""An HTTP server that refuses everything, and remembers it: for what only the wire shows. It serves as a proxy as well."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from attrs import define, field, frozen
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

_AUTHORIZATION = re.compile(
    r"Credential=(?P<key>[^/]+)/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, "
    r"SignedHeaders=(?P<names>[^,]+), Signature=(?P<signature>\w+)"
)
_REFUSAL = b'{"__type": "AccessDeniedException", "message": "Refused by the test."}'


@frozen
class Sent:
    """One request."""

    url: str
    """The path; the whole URL of a request that was sent through the proxy."""
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes

    def is_signed_with(self, secret: str) -> bool:
        """Return whether the signature is that of *secret*."""
        found = _AUTHORIZATION.search(self.headers["authorization"])
        assert found is not None
        signed = {name: self.headers[name] for name in found["names"].split(";")}
        url = f"http://{self.headers['host']}{urlsplit(self.url).path}"
        request = AWSRequest("POST", url, signed, self.body)
        request.context["timestamp"] = self.headers["x-amz-date"]
        auth = SigV4Auth(Credentials(found["key"], secret), found["service"], found["region"])
        text = auth.string_to_sign(request, auth.canonical_request(request))
        return bool(auth.signature(text, request) == found["signature"])


@define
class Wire:
    """A context manager."""

    sent: list[Sent] = field(factory=list, init=False)
    _server: ThreadingHTTPServer = field(init=False)

    def __enter__(self) -> Wire:
        wire = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                wire.sent.append(Sent(self.path, headers, body))
                self.send_response(400)
                self.send_header("Content-Length", str(len(_REFUSAL)))
                self.end_headers()
                self.wfile.write(_REFUSAL)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
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
