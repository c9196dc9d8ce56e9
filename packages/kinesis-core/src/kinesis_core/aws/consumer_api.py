"""The API of enhanced fan-out: consumers of a stream, and subscriptions of a consumer."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from attrs import frozen

from kinesis_core.model import Cut, SubscribedPage


@frozen
class Consumer:
    """A registered consumer of a stream. A stream has at most 20."""

    name: str
    arn: str
    status: str
    """CREATING, ACTIVE or DELETING."""


class SubscribeApi(Protocol):
    """Subscriptions of one consumer of one stream. Each call raises `ServiceError`s only."""

    @property
    def consumer(self) -> str:
        """The consumer's ARN."""
        ...

    def subscribe(
        self, shard_id: str, cut: Cut, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        """
        Return the events of a new subscription to *shard_id* from *cut*, which is neither a time nor `ShardEnd`.

        The subscription is open when this returns. It ends after 5 minutes, at the end of the shard, or when the generator
        is closed; any other end is raised between two events. Limit: one call a second per consumer and shard.
        Within 5 seconds of the last successful call it raises `ResourceInUseError`; later it ends the older subscription.

        Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html
        """
        ...


class ConsumerApi(Protocol):
    """The consumers of one stream. Each call raises `ServiceError`s only."""

    def describe_consumer(self, name_or_arn: str) -> Consumer:
        """
        Return a consumer. Limit: 20 calls/s per stream.

        Raises:
            StreamNotFoundError: There is no such consumer.
        """
        ...

    def register_consumer(self, name: str) -> Consumer:
        """
        Register *name*; the consumer is CREATING at first. Limit: 5 calls/s per account.

        Raises:
            ResourceInUseError: A consumer of that name exists.
            ThrottledError: The stream has 20 consumers, or 5 are being registered.
        """
        ...

    def deregister_consumer(self, arn: str) -> None:
        """Deregister the consumer and end its subscriptions. Limit: 5 calls/s per stream."""
        ...
