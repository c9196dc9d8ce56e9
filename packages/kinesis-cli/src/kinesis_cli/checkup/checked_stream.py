"""The stream that is looked at, and how to reach it."""

from __future__ import annotations

from attrs import define, evolve

from kinesis_core import ServiceError
from kinesis_core.aws import (
    BotoStreamApi,
    Connection,
    Consumer,
    RetryPolicy,
    StreamRef,
    consumer_client,
    stream_client,
)
from kinesis_core.model import StreamSummary
from kinesis_credentials.endpoints import is_aws_endpoint

_ONE_ATTEMPT = RetryPolicy(max_retries=0, throttle_timeout_s=5.0, ready_timeout_s=0.0)
"""A check reports the first failure. Retries would hide it, or make it late. But a short throttle says nothing of the stream."""


@define
class CheckedStream:
    """One stream. The checks share what they learn."""

    connection: Connection
    summary: StreamSummary | None = None
    """Once the stream was described."""
    is_reachable: bool = True
    """False once a call has found no server."""
    shard_id: str | None = None
    """An open shard, once the shards were listed."""
    knows_dry_run: bool = False
    """Whether the server has shown it."""

    @staticmethod
    def of(connection: Connection) -> CheckedStream:
        """Return the stream to check. It makes no call."""
        return CheckedStream(evolve(connection, retry=_ONE_ATTEMPT))

    @property
    def ref(self) -> StreamRef:
        return self.connection.streams[0]

    @property
    def api(self) -> BotoStreamApi:
        return stream_client(self.connection, self.ref)

    @property
    def endpoint_url(self) -> str:
        return str(self.api.client.meta.endpoint_url)

    @property
    def is_aws(self) -> bool:
        return is_aws_endpoint(self.endpoint_url)

    @property
    def arn(self) -> str | None:
        """The ARN, if the user gave it or the stream could be described."""
        return self.summary.arn if self.ref.arn is None and self.summary is not None else self.ref.arn

    def list_consumers(self, stream_arn: str) -> list[Consumer]:
        """
        Return the consumers of the stream.

        Raises:
            ServiceError: The call fails.
        """
        return consumer_client(self.connection, StreamRef.parse(stream_arn)).list_consumers()

    def note_error(self, error: ServiceError) -> None:
        """Remember that there is no server: further calls would only wait for it."""
        if error.retryable and not error.request_id and "Throttl" not in error.code:
            self.is_reachable = False
