"""A stream on any Kinesis server, for scenarios: put records, split and merge shards, and return what was put."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping
from typing import Any

import botocore.session
from attrs import define, field, frozen

from kinesis_credentials import StaticKeys

from .waiting import wait_until

KEY_ID, SECRET = "AKIAEXAMPLE", "example-secret"
REGION = "us-east-1"


def make_client(endpoint_url: str, region: str = REGION) -> Any:
    session = botocore.session.get_session()
    return session.create_client(
        "kinesis",
        endpoint_url=endpoint_url,
        region_name=region,
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=SECRET,
    )


def tags_of_consumer(endpoint_url: str, stream: str, consumer: str) -> dict[str, str]:
    """Return the tags of a registered consumer as AWS lists them."""
    client = make_client(endpoint_url)
    arn = client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamARN"]
    found = client.describe_stream_consumer(StreamARN=arn, ConsumerName=consumer)["ConsumerDescription"]
    listed = client.list_tags_for_resource(ResourceARN=found["ConsumerARN"])["Tags"]
    return {tag["Key"]: tag["Value"] for tag in listed}


def connection_to(endpoint_url: str) -> dict[str, Any]:
    """Return the arguments with which `Stream.open`, `Producer.open` and `ConsumerGroup.open` reach a server."""
    return {"region": REGION, "endpoint_url": endpoint_url, "credentials": StaticKeys(KEY_ID, SECRET)}


@frozen
class Put:
    """One record that the server acknowledged."""

    data: bytes
    partition_key: str
    shard_id: str
    sequence_number: str


@define
class StreamUnderTest:
    """One stream; a context manager. It deletes nothing, because every server is temporary."""

    endpoint_url: str
    name: str = "orders"
    shards: int = 1
    region: str = REGION
    reading: Mapping[str, str] = field(factory=dict)
    """Further options of every reader of the stream."""
    client: Any = field(init=False)
    sent: list[Put] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.client = make_client(self.endpoint_url, self.region)
        self.create()

    def create(self) -> None:
        self.client.create_stream(StreamName=self.name, ShardCount=self.shards)
        self._wait_until_active()
        wait_until(lambda: is_usable(self.client, self.name))

    def options(self, **more: Any) -> dict[str, Any]:
        """Return the options of a reader of this stream from its oldest record, fast enough for a test."""
        return {
            "streamName": self.name,
            "endpointUrl": self.endpoint_url,
            "region": self.region,
            "awsAccessKeyId": KEY_ID,
            "awsSecretKey": SECRET,
            "startingPosition": "TRIM_HORIZON",
            "minFetchPeriod": "20 ms",
            "inlineRecords": "false",  # tests are about tasks that read, and have few records
            "shardDiscoveryInterval": "200 ms",
            "planBudget": "none",  # a machine that stands still would move shards to the next batch
            **self.reading,
            **more,
        }

    @property
    def payloads(self) -> list[bytes]:
        """All payloads that were put, in the order of the puts."""
        return [put.data for put in self.sent]

    def put(self, *payloads: str | bytes, key: str | None = None) -> list[Put]:
        """Put records in requests of at most 500. Each gets *key*, or a key of its own."""
        first = len(self.sent)
        for chunk in _chunks(payloads, 500):
            self.sent += self._put_chunk(chunk, key)
        return self.sent[first:]

    def put_numbers(self, count: int, prefix: str = "") -> list[Put]:
        """Put *count* further records, numbered on from the existing ones."""
        first = len(self.sent)
        return self.put(*(f"{prefix}{number}" for number in range(first, first + count)))

    def _put_chunk(self, payloads: Iterable[str | bytes], key: str | None) -> list[Put]:
        raw = [p.encode() if isinstance(p, str) else p for p in payloads]
        keys = [key or f"key-{len(self.sent) + index}" for index in range(len(raw))]
        records = [{"Data": data, "PartitionKey": k} for data, k in zip(raw, keys, strict=True)]
        response = self.client.put_records(StreamName=self.name, Records=records)
        assert response["FailedRecordCount"] == 0, response
        return [
            Put(data, k, done["ShardId"], done["SequenceNumber"])
            for data, k, done in zip(raw, keys, response["Records"], strict=True)
        ]

    def open_shards(self) -> list[dict[str, Any]]:
        """Return the open shards in the order of their hash keys."""
        shards = self.client.list_shards(StreamName=self.name)["Shards"]
        found = [s for s in shards if "EndingSequenceNumber" not in s["SequenceNumberRange"]]
        return sorted(found, key=lambda s: int(s["HashKeyRange"]["StartingHashKey"]))

    def hash_ranges(self) -> dict[str, tuple[int, int]]:
        """Return the first and last hash key of each shard, closed ones included."""
        shards = self.client.list_shards(StreamName=self.name)["Shards"]
        ranges = {shard["ShardId"]: shard["HashKeyRange"] for shard in shards}
        return {
            shard_id: (int(each["StartingHashKey"]), int(each["EndingHashKey"]))
            for shard_id, each in ranges.items()
        }

    def split(self, index: int = 0) -> None:
        """Split the open shard at *index* in the middle of its hash keys."""
        shard = self.open_shards()[index]
        low, high = (int(shard["HashKeyRange"][end]) for end in ("StartingHashKey", "EndingHashKey"))
        self.client.split_shard(
            StreamName=self.name, ShardToSplit=shard["ShardId"], NewStartingHashKey=str((low + high) // 2 + 1)
        )
        self._wait_until_active()

    def merge(self, index: int = 0) -> None:
        """Merge the open shard at *index* with its neighbour."""
        first, second = self.open_shards()[index : index + 2]
        self.client.merge_shards(
            StreamName=self.name, ShardToMerge=first["ShardId"], AdjacentShardToMerge=second["ShardId"]
        )
        self._wait_until_active()

    def delete(self) -> None:
        """Delete the stream. Returns when its name is free."""
        self.client.delete_stream(StreamName=self.name, EnforceConsumerDeletion=True)
        wait_until(lambda: self.name not in self.client.list_streams()["StreamNames"])

    def _wait_until_active(self) -> None:
        # AWS allows 20 of these calls a second.
        wait_until(lambda: self._status() == "ACTIVE", self._status, every_s=0.1)

    def _status(self) -> str:
        summary = self.client.describe_stream_summary(StreamName=self.name)
        return str(summary["StreamDescriptionSummary"]["StreamStatus"])


def is_usable(client: Any, stream: str) -> bool:
    """Return whether calls for a stream are accepted: a new one refuses them for a moment after it is ACTIVE."""
    try:
        client.list_shards(StreamName=stream)
    except client.exceptions.ResourceInUseException:
        return False
    return True


def _chunks(items: Iterable[Any], size: int) -> Iterable[list[Any]]:
    rest = iter(items)
    while chunk := list(itertools.islice(rest, size)):
        yield chunk


def wait_for_the_next_millisecond() -> None:
    """Wait until a record has a later arrival time than those that were put before."""
    now_ms = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= now_ms + 1:
        pass
