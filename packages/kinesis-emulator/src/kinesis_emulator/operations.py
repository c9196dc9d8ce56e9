"""The operations by their AWS names."""

from __future__ import annotations

from kinesis_emulator import listing, reads, registration, resharding, streams, subscribing, writes
from kinesis_emulator.service import Operation

OPERATIONS: dict[str, Operation] = {
    "CreateStream": streams.create_stream,
    "DecreaseStreamRetentionPeriod": streams.decrease_retention,
    "DeleteStream": streams.delete_stream,
    "DeregisterStreamConsumer": registration.deregister_consumer,
    "DescribeStream": streams.describe_stream,
    "DescribeStreamConsumer": registration.describe_consumer,
    "DescribeStreamSummary": streams.describe_stream_summary,
    "GetRecords": reads.get_records,
    "GetShardIterator": reads.get_shard_iterator,
    "IncreaseStreamRetentionPeriod": streams.increase_retention,
    "ListShards": listing.list_shards,
    "ListStreamConsumers": registration.list_consumers,
    "ListStreams": streams.list_streams,
    "MergeShards": resharding.merge_shards,
    "PutRecord": writes.put_record,
    "PutRecords": writes.put_records,
    "RegisterStreamConsumer": registration.register_consumer,
    "SplitShard": resharding.split_shard,
    "SubscribeToShard": subscribing.subscribe_to_shard,
    "UpdateMaxRecordSize": streams.update_max_record_size,
    "UpdateShardCount": resharding.update_shard_count,
    "UpdateStreamRecordDistributionStrategy": streams.update_strategy,
}
