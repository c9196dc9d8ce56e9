"""An API that accepts all records, for benchmarks of a producer alone."""

from __future__ import annotations

import time
from collections.abc import Sequence

from attrs import define, field

from kinesis_core.aws.fast.wire import encode_put
from kinesis_core.model import PutEntry, PutResponse, PutResult, Shard, StreamSummary
from kinesis_core.producing.shard_map import MAX_HASH_KEY, ShardMap, hash_of

STREAM = "orders"


@define
class AcceptingApi:
    """An API without a server: requests are encoded, and the response says that they are written."""

    listing: list[Shard]
    shards: ShardMap
    response_s: float
    """How long each request takes."""
    records: int = field(default=0, init=False)

    @classmethod
    def of(cls, shards: int, response_s: float = 0.0) -> AcceptingApi:
        bounds = [(MAX_HASH_KEY + 1) * i // shards for i in range(shards + 1)]
        listing = [
            Shard(f"shardId-{i:012d}", None, None, bounds[i], bounds[i + 1] - 1, 1, None)
            for i in range(shards)
        ]
        return cls(listing, ShardMap.of(listing), response_s)

    def describe(self, *, with_retries: bool = True) -> StreamSummary:  # noqa: ARG002 # the API's
        arn = f"arn:aws:kinesis:us-east-1:000000000000:stream/{STREAM}"
        return StreamSummary(STREAM, arn, "ACTIVE", 0, 24)

    def list_shards(self, *, with_retries: bool = True, only_open: bool = False) -> list[Shard]:  # noqa: ARG002 # the API's
        return self.listing

    def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutResponse:  # noqa: ARG002 # the API's
        encode_put(entries, STREAM, None)
        self.records += len(entries)
        if self.response_s:
            time.sleep(self.response_s)
        return PutResponse(0, [PutResult(self._shard_of(entry)) for entry in entries])

    def _shard_of(self, entry: PutEntry) -> str:
        key = entry.explicit_hash_key
        return self.shards.shard_of(hash_of(entry.partition_key, None) if key is None else int(key))
