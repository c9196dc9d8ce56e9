"""Calls of Kinesis that the core does not make, with its retries and its errors."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from kinesis_core.aws import Connection, RetryPolicy


@frozen
class Caller:
    """Calls Kinesis through botocore, in the region of one stream."""

    client: Any
    stream: str
    """What errors name."""
    policy: RetryPolicy

    @staticmethod
    def to(connection: Connection, policy: RetryPolicy | None = None) -> Caller:
        """
        Return the caller for the stream of *connection*.

        Raises:
            CredentialsError: There are no credentials.
        """
        from kinesis_core.aws import make_client

        (stream,) = connection.streams
        region = connection.region_of(stream)
        client = make_client(connection, "kinesis", connection.endpoint_url, region=region)
        return Caller(client, stream.label, policy or connection.retry)

    def call(self, action: str, **request: Any) -> dict[str, Any]:
        """
        Return the response to *action*, such as `ListStreamConsumers`.

        Raises:
            ServiceError: The call fails after its retries.
        """
        from kinesis_core.aws import RetryBudget, call_with_retries
        from kinesis_core.clock import SystemClock

        rng = random.Random()  # noqa: S311 # jitter, not a secret
        return call_with_retries(
            action, lambda: self._once(action, request), self.policy, SystemClock(), rng, RetryBudget()
        )

    def _once(self, action: str, request: dict[str, Any]) -> dict[str, Any]:
        from kinesis_core.aws import CALL_ERRORS, MALFORMED, malformed, translate

        method = getattr(self.client, re.sub(r"(?<!^)(?=[A-Z])", "_", action).lower())
        try:
            response: dict[str, Any] = method(**request)
        except CALL_ERRORS as error:
            raise translate(action, {"stream": self.stream}, error) from error
        except MALFORMED as error:
            raise malformed(action, {"stream": self.stream}, error) from error
        return response


def find_arn(connection: Connection) -> str:
    """
    Return the ARN of the stream of *connection*, after one call if it was given by name.

    Raises:
        StreamNotFoundError, ServiceError: It cannot be described.
    """
    from kinesis_core.aws import stream_client

    (stream,) = connection.streams
    return stream.arn or stream_client(connection, stream).describe().arn
