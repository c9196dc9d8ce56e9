"""
SubscribeToShard over HTTP/2, through httpx2: it sends the request that botocore has signed on its own connection.

botocore supports HTTP/1.1 only. Its event `before-send` passes the signed request, and accepts a response to use instead of
its own. Endpoints, credentials and errors stay botocore's. Installed by `kinesis-core[http2]`.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from typing import Any

import botocore.exceptions as boto
import httpx2
from attrs import frozen
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.httpsession import ProxyConfiguration, get_cert_path
from botocore.utils import get_environ_proxies
from h2.exceptions import H2Error

from kinesis_core.errors import OptionError
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

_BROKEN = (httpx2.TransportError, H2Error)


def use_http2(client: Any, ca_bundle: str | None = None) -> None:
    """
    Make *client* send SubscribeToShard over HTTP/2 if the server offers it, which requires TLS, and over HTTP/1.1 otherwise.

    Timeouts and proxies are those of *client*. Certificates are checked against *ca_bundle* or botocore's own bundle.

    Raises:
        OptionError: The bundle cannot be read.
    """
    bundle = ca_bundle or os.environ.get("REQUESTS_CA_BUNDLE") or get_cert_path(True)
    try:
        tls = ssl.create_default_context(cafile=bundle)
    except OSError as error:
        reason = error.strerror or error
        raise OptionError(f"The certificates in {bundle} cannot be read: {reason}.") from error
    sender = _Sender(client, tls)
    client.meta.events.register("before-send.kinesis.SubscribeToShard", sender.send)


@frozen(eq=False)
class _Sender:
    client: Any
    tls: ssl.SSLContext
    """Shared by all connections, because reading the certificates takes 30 ms."""

    def send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        client = self._connect(str(request.url))
        try:
            response = client.send(_request(request), stream=True)
        except _BROKEN as error:
            client.close()
            raise _failure(str(request.url), error) from error
        log.debug("fan_out.responded", over=response.http_version, status=response.status_code)
        headers = HTTPHeaders()
        for name, value in response.headers.multi_items():
            headers.add_header(name, value)
        return AWSResponse(str(request.url), response.status_code, headers, _Body(client, response))

    def _connect(self, url: str) -> httpx2.Client:
        """Return a client for one subscription. Subscriptions of one client would share a connection."""
        config = self.client.meta.config
        proxies = get_environ_proxies(url) if config.proxies is None else config.proxies
        return httpx2.Client(
            http2=True,
            verify=self.tls,
            proxy=ProxyConfiguration(proxies).proxy_url_for(url),
            trust_env=False,  # botocore has read the environment
            timeout=httpx2.Timeout(config.read_timeout, connect=config.connect_timeout),
        )


def _request(signed: AWSPreparedRequest) -> httpx2.Request:
    """Return the request with its own headers only: a header that is added after the signature is not signed."""
    body: Any = signed.body  # bytes, as botocore has made it of parameters
    headers = list(signed.headers.items())
    return httpx2.Request(str(signed.method), str(signed.url), headers=headers, content=body)


def _failure(url: str, error: Exception) -> Exception:
    """Return the error that botocore raises for such a failure."""
    match error:
        case httpx2.ConnectTimeout():
            return boto.ConnectTimeoutError(endpoint_url=url, error=error)
        case httpx2.TimeoutException():
            return boto.ReadTimeoutError(endpoint_url=url, error=error)
        case httpx2.ConnectError():
            return boto.ConnectionError(error=ConnectionError(f"{url}: {error}"))
        case _:
            return boto.HTTPClientError(error=error)


@frozen(eq=False)
class _Body:
    """A response body as urllib3 has it. Its end, and closing it, close the connection."""

    client: httpx2.Client
    response: httpx2.Response

    def stream(self, **_: Any) -> Iterator[bytes]:
        try:
            yield from self.response.iter_raw()
        except httpx2.TimeoutException as error:
            raise TimeoutError(f"{type(error).__name__}: {error}") from error
        except _BROKEN as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error
        finally:
            self.close()

    def close(self) -> None:
        self.response.close()
        self.client.close()
