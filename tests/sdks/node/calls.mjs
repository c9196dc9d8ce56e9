// All calls of streams and consumers, by the SDK for JavaScript v3 as it is: region, credentials and endpoint come from the
// environment, and Kinesis is called by HTTP/2. Prints one line for each call: see expected.py.
import * as kinesis from "@aws-sdk/client-kinesis";

const client = new kinesis.KinesisClient({});
const StreamName = "orders";
const send = (name, input = {}) => client.send(new kinesis[`${name}Command`](input));
const print = (call, ok, detail = null) => console.log(JSON.stringify({ call, ok, detail }));
const pause = () => new Promise((done) => setTimeout(done, 50));

async function call(name, work) {
  try {
    print(name, true, await work());
  } catch (error) {
    print(name, false, `${error.name}: ${error.message}`);
  }
}

async function refused(name, work) {
  try {
    print(name, false, JSON.stringify(await work()));
  } catch (error) {
    print(name, error instanceof kinesis.KinesisServiceException, error.constructor.name);
  }
}

/** Make a change, and wait until the stream is ACTIVE again. */
const change = (name, input, show = () => null) =>
  call(name, async () => {
    const response = await send(name, input);
    while ((await summary()).StreamStatus !== "ACTIVE") await pause();
    return show(response);
  });

const summary = async () => (await send("DescribeStreamSummary", { StreamName })).StreamDescriptionSummary;
const shown = (record) => [
  Buffer.from(record.Data).toString("base64"),
  record.PartitionKey,
  record.ApproximateArrivalTimestamp.getTime(),
  record.SequenceNumber,
];
const tags = ({ Tags }) => Tags.map((tag) => [tag.Key, tag.Value]);
const ids = ({ Shards }) => Shards.map((shard) => shard.ShardId);
const iterator = async (ShardId, ShardIteratorType, more = {}) =>
  (await send("GetShardIterator", { StreamName, ShardId, ShardIteratorType, ...more })).ShardIterator;

await call("CreateStream", () => send("CreateStream", { StreamName, ShardCount: 2, Tags: { team: "é" } }).then(() => null));
await call("waiter StreamExists", () =>
  kinesis.waitUntilStreamExists({ client, minDelay: 1, maxWaitTime: 300 }, { StreamName }).then(({ state }) => state && null));

// Descriptions
const { StreamARN, StreamCreationTimestamp } = await summary();
await call("DescribeStreamSummary", async () => {
  const found = await summary();
  return [found.StreamARN, found.StreamStatus, found.StreamModeDetails.StreamMode, found.OpenShardCount, found.StreamCreationTimestamp.getTime()];
});
await call("DescribeStream", async () =>
  (await send("DescribeStream", { StreamName })).StreamDescription.Shards.map((shard) => [shard.ShardId, shard.HashKeyRange.EndingHashKey]));
await call("ListStreams", async () => (await send("ListStreams")).StreamNames);
await call("ListShards", async () => ids(await send("ListShards", { StreamName, StreamCreationTimestamp })));
await call("DescribeLimits", async () => (await send("DescribeLimits")).OpenShardCount);

// Records
const [first, second] = ids(await send("ListShards", { StreamName }));
const key = { PartitionKey: "é漢𝄞", ExplicitHashKey: "0" };
await call("PutRecord", async () => {
  const { ShardId } = await send("PutRecord", { StreamName, ...key, Data: Uint8Array.from({ length: 256 }, (_, i) => i) });
  return ShardId;
});
await call("PutRecords", async () => {
  const Records = [{ ...key, Data: Buffer.from("ü") }, { ...key, Data: new Uint8Array() }];
  const { FailedRecordCount, Records: results } = await send("PutRecords", { StreamName, Records });
  return [FailedRecordCount, results.map((result) => result.ShardId)];
});
let records = [];
await call("GetShardIterator", async () => typeof (await iterator(first, "TRIM_HORIZON")));
await call("GetRecords", async () => {
  const page = await send("GetRecords", { ShardIterator: await iterator(first, "TRIM_HORIZON"), Limit: 10 });
  records = page.Records;
  return records.map(shown);
});
await call("start AT_TIMESTAMP", async () => {
  const counts = [];
  for (const record of records)
    for (const more of [0, 1]) {
      const Timestamp = new Date(record.ApproximateArrivalTimestamp.getTime() + more);
      counts.push((await send("GetRecords", { ShardIterator: await iterator(first, "AT_TIMESTAMP", { Timestamp }) })).Records.length);
    }
  return counts;
});

// Consumers
let consumer;
await call("RegisterStreamConsumer", async () => {
  ({ Consumer: consumer } = await send("RegisterStreamConsumer", { StreamARN, ConsumerName: "readers" }));
  return [consumer.ConsumerName, consumer.ConsumerStatus];
});
const { ConsumerARN } = consumer;
await call("DescribeStreamConsumer", async () => {
  for (;;) {
    const { ConsumerDescription: found } = await send("DescribeStreamConsumer", { ConsumerARN });
    if (found.ConsumerStatus === "ACTIVE") return [found.ConsumerName, found.ConsumerCreationTimestamp.getTime()];
    await pause();
  }
});
await call("ListStreamConsumers", async () =>
  (await send("ListStreamConsumers", { StreamARN, StreamCreationTimestamp })).Consumers.map((each) => each.ConsumerName));
async function subscribe(ShardId, most) {
  const { EventStream } = await send("SubscribeToShard", { ConsumerARN, ShardId, StartingPosition: { Type: "TRIM_HORIZON" } });
  const read = [];
  for await (const event of EventStream) {
    read.push(...event.SubscribeToShardEvent.Records.map(shown));
    if (read.length >= most) break;
  }
  return read;
}
await call("SubscribeToShard", () => subscribe(first, 3));
await refused("exception in SubscribeToShardEventStream", () => subscribe(second, 1));

// Tags and policies
await call("ListTagsForStream", async () => tags(await send("ListTagsForStream", { StreamName })));
await call("AddTagsToStream", async () => {
  await send("AddTagsToStream", { StreamName, Tags: { stage: "" } });
  return tags(await send("ListTagsForStream", { StreamName }));
});
await call("RemoveTagsFromStream", async () => {
  await send("RemoveTagsFromStream", { StreamName, TagKeys: ["team"] });
  return tags(await send("ListTagsForStream", { StreamName }));
});
await call("TagResource", () => send("TagResource", { ResourceARN: ConsumerARN, Tags: { a: "1", b: "2" } }).then(() => null));
await call("UntagResource", () => send("UntagResource", { ResourceARN: ConsumerARN, TagKeys: ["a"] }).then(() => null));
await call("ListTagsForResource", async () => tags(await send("ListTagsForResource", { ResourceARN: ConsumerARN })));
const Policy = '{"Version":"2012-10-17","Statement":[]}';
await call("PutResourcePolicy", () => send("PutResourcePolicy", { ResourceARN: StreamARN, Policy }).then(() => null));
await call("GetResourcePolicy", async () => (await send("GetResourcePolicy", { ResourceARN: StreamARN })).Policy);
await call("DeleteResourcePolicy", () => send("DeleteResourcePolicy", { ResourceARN: StreamARN }).then(() => null));

// Paginators
const names = ["PageA", "PageB", "PageC"];
for (const name of names) await send("CreateStream", { StreamName: name, ShardCount: 1 });
await call("paginator ListStreams", async () => {
  const found = [];
  for await (const page of kinesis.paginateListStreams({ client, pageSize: 1 }, {})) found.push(...page.StreamNames);
  return found;
});
await call("paginator ListStreamConsumers", async () => {
  const found = [];
  await send("RegisterStreamConsumer", { StreamARN, ConsumerName: "others" });
  for await (const page of kinesis.paginateListStreamConsumers({ client, pageSize: 1 }, { StreamARN }))
    found.push(...page.Consumers.map((each) => each.ConsumerName));
  return found;
});

// Changes
const metrics = (response) => [response.CurrentShardLevelMetrics, response.DesiredShardLevelMetrics];
await change("IncreaseStreamRetentionPeriod", { StreamName, RetentionPeriodHours: 48 });
await change("DecreaseStreamRetentionPeriod", { StreamName, RetentionPeriodHours: 24 });
await change("EnableEnhancedMonitoring", { StreamName, ShardLevelMetrics: ["IncomingBytes"] }, metrics);
await change("DisableEnhancedMonitoring", { StreamName, ShardLevelMetrics: ["ALL"] }, metrics);
await change("StartStreamEncryption", { StreamName, EncryptionType: "KMS", KeyId: "alias/aws/kinesis" });
await change("StopStreamEncryption", { StreamName, EncryptionType: "KMS", KeyId: "alias/aws/kinesis" });
await change("SplitShard", { StreamName, ShardToSplit: first, NewStartingHashKey: "7" });
await change("MergeShards", { StreamName, ShardToMerge: "shardId-000000000002", AdjacentShardToMerge: "shardId-000000000003" });
await change("UpdateShardCount", { StreamName, TargetShardCount: 4, ScalingType: "UNIFORM_SCALING" },
  (response) => [response.CurrentShardCount, response.TargetShardCount]);
await change("UpdateMaxRecordSize", { StreamARN, MaxRecordSizeInKiB: 2048 });
await change("UpdateStreamMode", { StreamARN, StreamModeDetails: { StreamMode: "ON_DEMAND" } });
await change("UpdateStreamWarmThroughput", { StreamARN, WarmThroughputMiBps: 100 }, (response) => response.WarmThroughput.TargetMiBps);
await change("UpdateStreamRecordDistributionStrategy", { StreamARN, RecordDistributionStrategy: "AUTO" });
const commitment = (response) => response.MinimumThroughputBillingCommitment.Status;
await call("DescribeAccountSettings", async () => commitment(await send("DescribeAccountSettings")));
await call("UpdateAccountSettings", async () =>
  commitment(await send("UpdateAccountSettings", { MinimumThroughputBillingCommitment: { Status: "ENABLED" } })));

// Errors. A stream with the name of an error refuses every record with that error.
const put = (name, more = {}) => send("PutRecord", { StreamName: name, PartitionKey: "a", Data: Buffer.from("a"), ...more });
const refusing = ["AccessDeniedException", "InternalFailureException", "KMSAccessDeniedException", "KMSDisabledException",
  "KMSInvalidStateException", "KMSNotFoundException", "KMSOptInRequired", "KMSThrottlingException", "ProvisionedThroughputExceededException"];
for (const name of refusing) await refused(`exception ${name}`, () => put(name));
await refused("exception DryRunOperationException", () => put(StreamName, { DryRun: true }));
await refused("exception ResourceNotFoundException", () => put("nowhere"));
await refused("exception ResourceInUseException", () => send("CreateStream", { StreamName, ShardCount: 1 }));
await refused("exception LimitExceededException", () => send("CreateStream", { StreamName: "large", ShardCount: 100_000 }));
await refused("exception InvalidArgumentException", () => send("GetRecords", { ShardIterator: "AAAA" }));
await refused("exception ValidationException", () => send("SplitShard", { StreamName, ShardToSplit: second, NewStartingHashKey: "7" }));
const ShardIterator = await iterator(first, "TRIM_HORIZON");
const { NextToken } = await send("ListShards", { StreamName, MaxResults: 1 });
await fetch(`${process.env.AWS_ENDPOINT_URL_KINESIS}/_control/advance`, { method: "POST", body: '{"seconds": 600}' });
await refused("exception ExpiredIteratorException", () => send("GetRecords", { ShardIterator }));
await refused("exception ExpiredNextTokenException", () => send("ListShards", { NextToken }));

// The end
await call("DeregisterStreamConsumer", () => send("DeregisterStreamConsumer", { ConsumerARN }).then(() => null));
await call("DeleteStream", () => send("DeleteStream", { StreamName, EnforceConsumerDeletion: true }).then(() => null));
await call("waiter StreamNotExists", () =>
  kinesis.waitUntilStreamNotExists({ client, minDelay: 1, maxWaitTime: 300 }, { StreamName }).then(() => null));
client.destroy();
