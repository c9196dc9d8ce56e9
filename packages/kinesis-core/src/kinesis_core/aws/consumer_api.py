"""What enhanced fan-out asks of AWS: the transport is behind this."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from attrs import frozen

from kinesis_core.model import Cut, SubscribedPage


@frozen
class Consumer:
    """A registered consumer of a stream; a stream has at most 20."""

    name: str
    arn: str
    status: str
    """CREATING, ACTIVE or DELETING."""


class SubscribeApi(Protocol):
    """Subscriptions of one consumer of one stream. Every call raises `ServiceError`s only."""

    @property
    def consumer(self) -> str:
        """The consumer's ARN."""
        ...

    def subscribe(
        self, shard_id: str, cut: Cut, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        """
        Return the events of a new subscription to *shard_id* from *cut*, which is neither a time nor `ShardEnd`.

        It has begun when this returns. It ends after 5 minutes, at the shard's end, or when it is closed; whatever
        else ends it is raised between two events. One call a second and shard; within 5 seconds of the last one that
        succeeded it raises `ResourceInUseError`, and after that it takes the shard from whoever has it.

        Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html
        """
        ...


class ConsumerApi(Protocol):
    """The consumers of one stream. Every call raises `ServiceError`s only."""

    def describe_consumer(self, name_or_arn: str) -> Consumer:
        """
        Return a consumer. 20 calls/s per stream.

        Raises:
            StreamNotFoundError: There is no such consumer.
        """
        ...

    def register_consumer(self, name: str) -> Consumer:
        """
        Register *name*, which is CREATING for a while. 5 calls/s per stream.

        Raises:
            ResourceInUseError: There is one of that name.
            ThrottledError: The stream has 20 consumers, or 5 are being registered.
        """
        ...

    def deregister_consumer(self, arn: str) -> None:
        """Remove the consumer, and end its subscriptions. 5 calls/s per stream."""
        ...
