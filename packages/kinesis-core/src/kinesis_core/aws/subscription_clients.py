"""Makes the clients of enhanced fan-out, on the connections that the stream's other calls use."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kinesis_core.aws.clients import find_session, make_client, stream_client
from kinesis_core.aws.connection import Connection, StreamRef
from kinesis_core.aws.retry import RetryPolicy
from kinesis_core.aws.transport import FanOutTransport, check_http2

if TYPE_CHECKING:
    from botocore.session import Session

    from kinesis_core.aws.subscriptions import BotoConsumerApi, BotoSubscribeApi

ONE_ATTEMPT = RetryPolicy(max_retries=0)
"""For subscribing: `SubscriptionReader` retries by rules of its own."""


def subscription_client(
    connection: Connection,
    stream: StreamRef,
    consumer: str,
    transport: FanOutTransport = FanOutTransport.HTTP_1_1,
) -> BotoSubscribeApi:
    """
    Return this process's client for subscriptions of *consumer*, an ARN. It is safe in threads, and makes no call.

    Raises:
        CredentialsError: There are no credentials.
        OptionError: HTTP/2 is wanted, and its packages are not installed.
    """
    from kinesis_core.aws.subscriptions import BotoSubscribeApi, take_connection

    api = stream_client(connection, stream)
    client = api.client
    if transport is FanOutTransport.HTTP_2:
        client = _http2_client(connection, connection.region_of(stream), find_session(connection))
    take_connection(client)
    return BotoSubscribeApi(
        client, api.name, api.arn, ONE_ATTEMPT, api.clock, api.rng, consumer, budget=api.budget
    )


@lru_cache(maxsize=16)
def _http2_client(connection: Connection, region: str, session: Session) -> Any:
    """Return a separate client: others in this process may subscribe over HTTP/1.1."""
    check_http2()
    from kinesis_core.aws.http2 import use_http2

    client = make_client(connection, "kinesis", connection.endpoint_url, region=region)
    use_http2(client, session.get_config_variable("ca_bundle"))
    return client


def consumer_client(connection: Connection, stream: StreamRef) -> BotoConsumerApi:
    """
    Return the client for the consumers of *stream*. It makes one DescribeStreamSummary if the ARN is unknown.

    Raises:
        CredentialsError: There are no credentials.
        ServiceError: The stream cannot be described.
    """
    from kinesis_core.aws.subscriptions import BotoConsumerApi

    api = stream_client(connection, stream)
    arn = api.arn or api.describe().arn
    return BotoConsumerApi(api.client, api.name, arn, api.policy, api.clock, api.rng, budget=api.budget)
