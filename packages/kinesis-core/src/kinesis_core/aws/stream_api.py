"""The one door to AWS: what the rest of the core asks of one Kinesis stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kinesis_core.model import Cut, Page, PutEntry, PutResponse, Shard, StreamSummary


class StreamApi(Protocol):
    """
    The calls on one stream. Every one raises `ServiceError`s only, when making it again has not helped.

    Throttles of calls on one shard are raised at once: whoever makes them keeps the shard's pace.
    """

    def now_ms(self) -> int:
        """Return the service's clock as far as its answers showed it: behind it, never ahead."""
        ...

    def describe(self) -> StreamSummary:
        """Return the stream's facts. 20 calls/s per account."""
        ...

    def list_shards(self) -> list[Shard]:
        """Return all shards that Kinesis still knows, open and closed, in no particular order."""
        ...

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        """
        Return an iterator that reads *shard_id* from *cut*, which is not `ShardEnd`.

        AWS lets it live for 5 minutes; it is renewed, never stored. 5 calls/s per shard.

        Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetShardIterator.html
        """
        ...

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        """
        Return the page at *iterator* with at most *limit* (1..10,000) records. 5 calls/s per shard.

        Without *with_data* the records' data is left b"", which saves its decoding. *shard_id* is for logs and errors: an
        iterator does not tell it.
        """
        ...


class PutApi(Protocol):
    """The calls that writing to one stream takes. Every one raises `ServiceError`s only."""

    def describe(self, *, with_retries: bool = True) -> StreamSummary:
        """Return the stream's facts. 20 calls/s per account. Without *with_retries* it is tried once."""
        ...

    def list_shards(self, *, with_retries: bool = True, only_open: bool = False) -> list[Shard]:
        """
        Return all shards that Kinesis still knows, open and closed, in no particular order.

        Without *with_retries* it is tried once: the caller has a deadline of its own. With *only_open*, closed shards
        may be left out, which makes the answer of a stream that is often resharded much smaller.
        """
        ...

    def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutResponse:
        """
        Write *entries*, at most 500 and 10 MiB, in one attempt: what failed is the caller's to send again.

        Without *with_results* an answer without failures does not say which shards the records went to.

        Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html
        """
        ...
