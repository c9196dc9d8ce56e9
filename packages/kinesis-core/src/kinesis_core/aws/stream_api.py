"""The API of one Kinesis stream, and of its consumers and their subscriptions, as the rest of the package uses it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Protocol

from attrs import frozen

from kinesis_core.model import Cut, Latest, Page, PutEntry, PutResponse, Shard, StreamSummary, SubscribedPage

RESUBSCRIBE_S = 5.0
"""
For this time after a subscription AWS refuses another one of the same consumer to the shard.

Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html
"""


class StreamApi(Protocol):
    """
    The calls that read one stream. Each raises `ServiceError`s only, after its retries.

    Calls wait for a stream that is not ready: it is CREATING, or Kinesis does not know everywhere yet that it is ACTIVE.
    Throttles of calls on one shard are raised at once: their caller limits its own rate.
    """

    def now_ms(self) -> int:
        """Return the service's clock in milliseconds since the epoch: a lower bound, learned from Date headers."""
        ...

    def describe(self) -> StreamSummary:
        """Return the stream's facts. Limit: 20 calls/s per account."""
        ...

    def list_shards(self) -> list[Shard]:
        """Return all shards that Kinesis still lists, open and closed, in no particular order."""
        ...

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        """
        Return an iterator that reads *shard_id* from *cut*, which is not `ShardEnd`.

        It lives for 5 minutes and is never stored. Limit: 5 calls/s per shard.

        Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetShardIterator.html
        """
        ...

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        """
        Return the page at *iterator* with at most *limit* (1..10,000) records. Limit: 5 calls/s per shard.

        Without *with_data* each record's data is b"", which saves decoding it. *shard_id* is used in logs and errors only.
        """
        ...


class PutApi(Protocol):
    """The calls that write to one stream. Each raises `ServiceError`s only."""

    def describe(self, *, with_retries: bool = True) -> StreamSummary:
        """Return the stream's facts. Limit: 20 calls/s per account. Without *with_retries* it makes one attempt."""
        ...

    def list_shards(self, *, with_retries: bool = True, only_open: bool = False) -> list[Shard]:
        """
        Return all shards that Kinesis still lists, open and closed, in no particular order.

        Without *with_retries* it makes one attempt: the caller has a separate deadline. With *only_open* closed shards
        may be missing, which makes the response much smaller on a stream that is resharded often.
        """
        ...

    def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutResponse:
        """
        Write *entries*, at most 500 records and 10 MiB, in one attempt. The caller sends failed records again.

        Without *with_results* a response without failures does not name the shards of the records.

        Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html
        """
        ...


@frozen
class Consumer:
    """A registered consumer of a stream. A stream has at most 20."""

    name: str
    arn: str
    status: str
    """CREATING, ACTIVE or DELETING."""
    created_ms: int = 0


class SubscribeApi(Protocol):
    """Subscriptions of one consumer of one stream. Each call raises `ServiceError`s only."""

    @property
    def consumer(self) -> str:
        """The consumer's ARN."""
        ...

    def subscribe(
        self, shard_id: str, cut: Cut | Latest, with_data: bool = True
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

    def register_consumer(self, name: str, tags: Mapping[str, str] | None = None) -> Consumer:
        """
        Register *name* with *tags*; the consumer is CREATING at first. Limit: 5 calls/s per account.

        Raises:
            OptionError: There are tags, and botocore is too old to send them.
            ResourceInUseError: A consumer of that name exists.
            ThrottledError: The stream has 20 consumers, or 5 are being registered.
        """
        ...

    def deregister_consumer(self, arn: str) -> None:
        """Deregister the consumer and end its subscriptions. Limit: 5 calls/s per stream."""
        ...
