"""A copy to itself would never end."""

from __future__ import annotations

from urllib.parse import urlsplit

from kinesis_cli.ending import UsageError
from kinesis_core.aws import Connection, stream_client
from kinesis_core.model import StreamSummary
from kinesis_credentials.endpoints import is_aws_endpoint

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def check_different(source: Connection, destination: Connection) -> tuple[StreamSummary, StreamSummary]:
    """
    Describe both streams, and return what they are.

    Raises:
        UsageError: They are one stream.
        StreamNotFoundError, ServiceError, CredentialsError: One cannot be described.
    """
    ends = []
    for connection in (source, destination):
        api = stream_client(connection, connection.streams[0])
        ends.append((api.describe(), str(api.client.meta.endpoint_url)))
    (read, source_url), (written, url) = ends
    is_one_service = _service(source_url) == _service(url)
    if read.arn == written.arn and is_one_service:
        raise UsageError(f"Source and destination are the same stream, {read.arn}. Nothing was copied.")
    return read, written


def _service(url: str) -> tuple[str | None, int | None]:
    """Return what two URLs of one service have in common: the host and port, or nothing for AWS, which has many hosts."""
    if is_aws_endpoint(url):
        return None, None
    parts = urlsplit(url)
    host = "localhost" if parts.hostname in _LOOPBACK else parts.hostname
    return host, parts.port or (443 if parts.scheme == "https" else 80)
