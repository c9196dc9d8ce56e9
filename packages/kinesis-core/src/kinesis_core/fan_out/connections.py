"""Opens what enhanced fan-out asks of AWS, over the connections that the stream's other calls go over."""

from __future__ import annotations

from kinesis_core.connections import open_stream
from kinesis_core.fan_out.boto_api import BotoConsumerApi, BotoSubscribeApi, take_connection
from kinesis_core.options import ConnectionOptions, StreamRef


def open_subscriptions(connection: ConnectionOptions, stream: StreamRef, consumer: str) -> BotoSubscribeApi:
    """
    Return this process's door to the subscriptions of *consumer*, an ARN. It is safe in threads, and calls nobody.

    Raises:
        CredentialsError: There are no credentials.
    """
    api = open_stream(connection, stream)
    take_connection(api.client)
    return BotoSubscribeApi(api.client, api.name, api.arn, api.policy, api.clock, api.rng, consumer)


def open_consumers(connection: ConnectionOptions, stream: StreamRef) -> BotoConsumerApi:
    """
    Return the door to the consumers of *stream*, with one DescribeStreamSummary where its ARN is not known.

    Raises:
        CredentialsError: There are no credentials.
        ServiceError: The stream cannot be described.
    """
    api = open_stream(connection, stream)
    arn = api.arn or api.describe().arn
    return BotoConsumerApi(api.client, api.name, arn, api.policy, api.clock, api.rng)
