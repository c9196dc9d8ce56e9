"""
SubscribeToShard over HTTP/2, by httpx2: what botocore has signed, over a connection of its own.

botocore speaks HTTP/1.1 only. Its event `before-send` has the signed request, and takes an answer to it in the place of
botocore's own; endpoints, credentials and refusals stay botocore's. Installed by `kinesis-core[http2]`.
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

from kinesis_core.logs import get_logger

log = get_logger("kinesis_core")

_BROKEN = (httpx2.TransportError, H2Error)


def use_http2(client: Any, ca_bundle: str | None = None) -> None:
    """
    Make *client* send SubscribeToShard over HTTP/2 where the server offers it, which needs TLS, and over HTTP/1.1 else.

    Its timeouts and proxies hold, and *ca_bundle* or botocore's certificates.
    """
    bundle = ca_bundle or os.environ.get("REQUESTS_CA_BUNDLE") or get_cert_path(True)
    sender = _Sender(client, ssl.create_default_context(cafile=bundle))
    client.meta.events.register("before-send.kinesis.SubscribeToShard", sender.send)


@frozen(eq=False)
class _Sender:
    client: Any
    tls: ssl.SSLContext
    """One for all connections: it takes 30 ms to read the certificates."""

    def send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        client = self._connect(str(request.url))
        try:
            response = client.send(_request(request), stream=True)
        except _BROKEN as error:
            client.close()
            raise _failure(str(request.url), error) from error
        log.debug("fan_out.answered", over=response.http_version, status=response.status_code)
        headers = HTTPHeaders()
        for name, value in response.headers.multi_items():
            headers.add_header(name, value)
        return AWSResponse(str(request.url), response.status_code, headers, _Body(client, response))

    def _connect(self, url: str) -> httpx2.Client:
        """Return a client for one subscription: those of one client would share a connection."""
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
    """Return the request with its headers and nothing else: what is added behind a signature is none of it."""
    body: Any = signed.body  # bytes, as botocore has made it of parameters
    headers = list(signed.headers.items())
    return httpx2.Request(str(signed.method), str(signed.url), headers=headers, content=body)


def _failure(url: str, error: Exception) -> Exception:
    """Return what botocore raises where the way to the service fails like this."""
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
    """The body of an answer as urllib3 hands it over; when it is closed, or at its end, so is the connection."""

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
