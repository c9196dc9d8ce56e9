"""How a PySpark user reads Kinesis without a connector: a Python batch source with a boto3 loop and tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import boto3  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

SCHEMA = (
    "data binary, streamName string, partitionKey string, sequenceNumber string, "
    "approximateArrivalTimestamp timestamp"
)


class ByHandSource(DataSource):
    """
    Reads a stream from its oldest record to its tip.

    Options: `streamName`, `region`, `endpointUrl`, `awsAccessKeyId`, `awsSecretKey`; `shards`, the number of shards to
    read; and `aggregated`, whether `aws_kinesis_agg` unpacks every record.
    """

    @classmethod
    def name(cls) -> str:
        return "by-hand"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 # Spark's signature
        return ByHandReader(self.options)


class ByHandReader(DataSourceReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        listed = self._client().list_shards(StreamName=self.options["streamName"])["Shards"]
        return [InputPartition(shard["ShardId"]) for shard in listed[: int(self.options["shards"])]]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        stream, client = self.options["streamName"], self._client()
        found = client.get_shard_iterator(
            StreamName=stream, ShardId=partition.value, ShardIteratorType="TRIM_HORIZON"
        )
        iterator, behind_ms = found["ShardIterator"], 1
        while iterator and behind_ms:
            response = client.get_records(ShardIterator=iterator, Limit=10_000)
            iterator, behind_ms = response["NextShardIterator"], response["MillisBehindLatest"]
            if self.options["aggregated"] == "true":
                yield from user_rows(response["Records"], stream)
            else:
                for record in response["Records"]:
                    yield (
                        record["Data"],
                        stream,
                        record["PartitionKey"],
                        record["SequenceNumber"],
                        record["ApproximateArrivalTimestamp"],
                    )

    def _client(self) -> Any:
        return boto3.client(
            "kinesis",
            region_name=self.options["region"],
            endpoint_url=self.options["endpointUrl"],
            aws_access_key_id=self.options["awsAccessKeyId"],
            aws_secret_access_key=self.options["awsSecretKey"],
        )


def user_rows(records: Sequence[dict[str, Any]], stream: str) -> Iterator[tuple[Any, ...]]:
    import base64

    from aws_kinesis_agg.deaggregator import iter_deaggregate_records

    for found in iter_deaggregate_records(records, "Boto3"):
        user_record = found["kinesis"]
        yield (
            base64.b64decode(user_record["data"]),
            stream,
            user_record["partitionKey"],
            user_record["sequenceNumber"],
            user_record["approximateArrivalTimestamp"],
        )
