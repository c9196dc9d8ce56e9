"""
How a signed request reaches the service: the protocol of HTTP transports, botocore's transport, and the choice of one.

`direct_transport.py` is the other transport: it writes and reads HTTP/1.1 itself. Neither httptools nor awscrt replaces it.
httptools keeps the cost of a call within 15 % only if it parses heads alone, which is ten lines of ours; given whole
responses it takes a third more CPU on a page of 10 MB, because it copies bodies in pieces. awscrt takes 2.7 to 3 times the CPU
of a small call and 1.3 to 2.2 times that of a large page, because each call crosses to its event loop and back. A client
of awscrt hangs in a forked child, and botocore's proxies, certificates, timeouts and errors would have to be rebuilt on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen
from msgspec import Struct

from kinesis_core.errors import OptionError
from kinesis_credentials import Advice

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest

VARIABLE = "KINESIS_HTTP_TRANSPORT"
"""The environment variable that chooses the transport where no option does."""


class Transport(Enum):
    """Who sends the frequent calls."""

    DIRECT = "direct"
    """This package: its own HTTP/1.1 on connections that botocore opens. The default."""
    BOTOCORE = "botocore"
    """botocore signs and sends every call: at least six times the CPU of a small call, three times that of a large page."""


class FanOutTransport(Enum):
    """The protocol of subscriptions. HTTP/2 requires the extra `kinesis-core[http2]`."""

    HTTP_1_1 = "HTTP/1.1"
    HTTP_2 = "HTTP/2"


class HttpResponse(Struct, frozen=True):
    """
    A response with its body; header names are in lower case. Each call makes one, so it is a msgspec struct.

    Attributes:
        is_last: Whether its connection closes after it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | bytearray
    is_last: bool = False


class HttpTransport(Protocol):
    """Sends signed requests. Safe in threads. It does not sign, retry, follow redirects or judge a status."""

    def send(self, request: AWSPreparedRequest, *, is_changed: bool = False) -> HttpResponse:
        """
        Return the whole response to *request*, whatever its status.

        *is_changed* means that a hook of the user may have changed the request after it was signed.

        Raises:
            botocore.exceptions.HTTPClientError: No response came, it is malformed, or the request must not be sent.
        """
        ...


@frozen
class BotocoreTransport:
    """Sends by the HTTP session of a botocore client: urllib3, with its pools, proxies and certificates."""

    session: Any

    def send(self, request: AWSPreparedRequest, *, is_changed: bool = False) -> HttpResponse:  # noqa: ARG002 # urllib3 checks all
        sent = self.session.send(request)
        response = HttpResponse(sent.status_code, sent.headers, sent.content)
        size = str(len(response.body))
        if response.headers.get("content-length", size) != size:  # the session does not compare them
            from botocore.exceptions import ConnectionClosedError  # options use this module, without botocore

            raise ConnectionClosedError(endpoint_url=request.url)
        return response


def choose_transport(chosen: Transport | None, environ: Mapping[str, str] = os.environ) -> Transport:
    """
    Return the transport of an option or, without one, of the environment variable `VARIABLE`.

    Raises:
        OptionError: The variable holds another value.
    """
    if chosen is not None:
        return chosen
    value = environ.get(VARIABLE, "").strip() or Transport.DIRECT.value
    try:
        return Transport(value.lower())
    except ValueError:
        accepted = " or ".join(f"'{transport.value}'" for transport in Transport)
        raise OptionError(f"Environment variable {VARIABLE} is '{value}'. Use {accepted}.") from None


def check_http2(find: Callable[[str], object] = find_spec) -> None:
    """
    Check that the packages for HTTP/2 are installed, as *find* sees them.

    Raises:
        OptionError: They are not installed.
    """
    if find("httpx2") is None or find("h2") is None:
        raise OptionError("HTTP/2 needs packages that are not installed.", advice=Advice.INSTALL_HTTP2)
