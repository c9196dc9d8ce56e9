"""The operations by the names that AWS gives them."""

from __future__ import annotations

from kinesis_emulator import listing, reads, resharding, streams, writes
from kinesis_emulator.service import Operation

OPERATIONS: dict[str, Operation] = {
    "CreateStream": streams.create_stream,
    "DecreaseStreamRetentionPeriod": streams.decrease_retention,
    "DeleteStream": streams.delete_stream,
    "DescribeStream": streams.describe_stream,
    "DescribeStreamSummary": streams.describe_stream_summary,
    "GetRecords": reads.get_records,
    "GetShardIterator": reads.get_shard_iterator,
    "IncreaseStreamRetentionPeriod": streams.increase_retention,
    "ListShards": listing.list_shards,
    "ListStreams": streams.list_streams,
    "MergeShards": resharding.merge_shards,
    "PutRecord": writes.put_record,
    "PutRecords": writes.put_records,
    "SplitShard": resharding.split_shard,
    "UpdateMaxRecordSize": streams.update_max_record_size,
    "UpdateShardCount": resharding.update_shard_count,
}
