import java.lang.reflect.Proxy;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.retry.backoff.FixedDelayBackoffStrategy;
import software.amazon.awssdk.core.waiters.WaiterOverrideConfiguration;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;
import software.amazon.awssdk.services.kinesis.KinesisClient;
import software.amazon.awssdk.services.kinesis.model.*;
import software.amazon.awssdk.services.kinesis.model.Record; // java.lang has one as well

/**
 * All calls of streams and consumers, by the SDK for Java v2 as it is: region, credentials and endpoint come from the environment. The
 * argument is "sync" or "async". Prints one line for each call: see tests/sdks/expected.py.
 */
public final class KinesisCalls {
    private static final String NAME = "orders";
    private static final String KEY = "\u00e9\u6f22\ud834\udd1e";
    private static final SdkBytes BYTE = SdkBytes.fromUtf8String("a");
    private static final String ONLY_ASYNC = "only the async client has it";

    private final KinesisAsyncClient async;
    private final KinesisClient kinesis;
    private List<Record> records = List.of();

    interface Work {
        Object run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        new KinesisCalls(arguments[0].equals("async")).run();
        Runtime.getRuntime().halt(0); // the threads of the async client would go on for seconds
    }

    private KinesisCalls(boolean isAsync) {
        async = isAsync ? KinesisAsyncClient.create() : null;
        kinesis = isAsync ? joining(async) : KinesisClient.create();
    }

    /** Returns a client that makes each call by the async client, and waits for its future. */
    private static KinesisClient joining(KinesisAsyncClient async) {
        Class<?>[] types = {KinesisClient.class};
        return (KinesisClient) Proxy.newProxyInstance(KinesisCalls.class.getClassLoader(), types, (proxy, method, arguments) ->
                ((CompletableFuture<?>) KinesisAsyncClient.class.getMethod(method.getName(), method.getParameterTypes())
                        .invoke(async, arguments)).join());
    }

    private static void print(String call, Boolean ok, Object detail) {
        StringBuilder line = new StringBuilder("{\"call\":");
        Json.append(line, call);
        Json.append(line.append(",\"ok\":"), ok);
        Json.append(line.append(",\"detail\":"), detail);
        System.out.println(line.append('}'));
    }

    private static void call(String name, Work work) {
        try {
            Object detail = work.run();
            print(name, true, detail instanceof KinesisResponse ? null : detail);
        } catch (Exception error) {
            print(name, false, cause(error).toString());
        }
    }

    private static void refused(String name, Work work) {
        try {
            print(name, false, String.valueOf(work.run()));
        } catch (Exception error) {
            Throwable cause = cause(error);
            print(name, cause instanceof KinesisException, cause.getClass().getSimpleName());
        }
    }

    private static Throwable cause(Throwable error) {
        return error instanceof CompletionException ? error.getCause() : error;
    }

    /** Makes a change, and waits until the stream is ACTIVE again. */
    private <T> void change(String name, Callable<T> work, Function<T, Object> show) {
        call(name, () -> {
            T response = work.call();
            while (summary().streamStatus() != StreamStatus.ACTIVE) {
                Thread.sleep(50);
            }
            return show.apply(response);
        });
    }

    private <T> void change(String name, Callable<T> work) {
        change(name, work, response -> null);
    }

    private StreamDescriptionSummary summary() {
        return kinesis.describeStreamSummary(r -> r.streamName(NAME)).streamDescriptionSummary();
    }

    private String iterator(String shard, ShardIteratorType type, Instant time) {
        return kinesis.getShardIterator(r -> r.streamName(NAME).shardId(shard).shardIteratorType(type).timestamp(time)).shardIterator();
    }

    private List<Record> read(String iterator) {
        return kinesis.getRecords(r -> r.shardIterator(iterator)).records();
    }

    private static List<Object> shown(Record record) {
        return Arrays.asList(Base64.getEncoder().encodeToString(record.data().asByteArray()), record.partitionKey(),
                record.approximateArrivalTimestamp().toEpochMilli(), record.sequenceNumber());
    }

    private static List<?> shown(List<Tag> tags) {
        return tags.stream().map(tag -> List.of(tag.key(), tag.value())).toList();
    }

    private List<?> tags() {
        return shown(kinesis.listTagsForStream(r -> r.streamName(NAME)).tags());
    }

    private List<?> subscribe(String consumer, String shard, int most) throws Exception {
        BlockingQueue<Object> found = new LinkedBlockingQueue<>();
        CompletableFuture<Void> subscribed = async.subscribeToShard(
                r -> r.consumerARN(consumer).shardId(shard).startingPosition(p -> p.type(ShardIteratorType.TRIM_HORIZON)),
                SubscribeToShardResponseHandler.builder().subscriber(SubscribeToShardResponseHandler.Visitor.builder()
                        .onSubscribeToShardEvent(event -> event.records().forEach(record -> found.add(shown(record)))).build()).build());
        subscribed.whenComplete((nothing, error) -> found.add(error == null ? new Exception("it ended") : error));
        List<Object> read = new ArrayList<>();
        while (read.size() < most) {
            Object next = found.take();
            if (next instanceof Exception) {
                throw (Exception) next;
            }
            read.add(next);
        }
        subscribed.cancel(true);
        return read;
    }

    private PutRecordResponse put(String name) {
        return kinesis.putRecord(r -> r.streamName(name).partitionKey("a").data(BYTE));
    }

    private void advance(int seconds) throws Exception {
        URI control = URI.create(System.getenv("AWS_ENDPOINT_URL_KINESIS") + "/_control/advance");
        HttpRequest request = HttpRequest.newBuilder(control)
                .POST(HttpRequest.BodyPublishers.ofString("{\"seconds\": " + seconds + "}")).build();
        HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding());
    }

    private void run() throws Exception {
        call("CreateStream", () -> kinesis.createStream(r -> r.streamName(NAME).shardCount(2).tags(Map.of("team", "\u00e9"))));
        WaiterOverrideConfiguration quick = WaiterOverrideConfiguration.builder().maxAttempts(300)
                .backoffStrategy(FixedDelayBackoffStrategy.create(Duration.ofMillis(100))).build();
        DescribeStreamRequest described = DescribeStreamRequest.builder().streamName(NAME).build();
        call("waiter StreamExists", () -> async == null
                ? kinesis.waiter().waitUntilStreamExists(described, quick).matched().response().orElse(null)
                : async.waiter().waitUntilStreamExists(described, quick).join().matched().response().orElse(null));

        // Descriptions
        String arn = summary().streamARN();
        Instant created = summary().streamCreationTimestamp();
        call("DescribeStreamSummary", () -> {
            StreamDescriptionSummary found = summary();
            return Arrays.asList(found.streamARN(), found.streamStatusAsString(), found.streamModeDetails().streamModeAsString(),
                    found.openShardCount(), found.streamCreationTimestamp().toEpochMilli());
        });
        call("DescribeStream", () -> kinesis.describeStream(described).streamDescription().shards().stream()
                .map(shard -> List.of(shard.shardId(), shard.hashKeyRange().endingHashKey())).toList());
        call("ListStreams", () -> kinesis.listStreams().streamNames());
        call("ListShards", () -> kinesis.listShards(r -> r.streamName(NAME).streamCreationTimestamp(created)).shards().stream()
                .map(Shard::shardId).toList());
        call("DescribeLimits", () -> kinesis.describeLimits().openShardCount());

        // Records
        String first = "shardId-000000000000";
        String second = "shardId-000000000001";
        byte[] all = new byte[256];
        for (int i = 0; i < 256; i++) {
            all[i] = (byte) i;
        }
        call("PutRecord", () -> kinesis.putRecord(r -> r.streamName(NAME).partitionKey(KEY).explicitHashKey("0")
                .data(SdkBytes.fromByteArray(all))).shardId());
        call("PutRecords", () -> {
            PutRecordsResponse response = kinesis.putRecords(r -> r.streamName(NAME).records(
                    e -> e.partitionKey(KEY).explicitHashKey("0").data(SdkBytes.fromUtf8String("\u00fc")),
                    e -> e.partitionKey(KEY).explicitHashKey("0").data(SdkBytes.fromUtf8String(""))));
            return List.of(response.failedRecordCount(), response.records().stream().map(PutRecordsResultEntry::shardId).toList());
        });
        call("GetShardIterator", () -> iterator(first, ShardIteratorType.TRIM_HORIZON, null).getClass().getSimpleName().toLowerCase());
        call("GetRecords", () -> {
            records = read(iterator(first, ShardIteratorType.TRIM_HORIZON, null));
            return records.stream().map(KinesisCalls::shown).toList();
        });
        call("start AT_TIMESTAMP", () -> {
            List<Integer> counts = new ArrayList<>();
            for (Record record : records) {
                for (int more = 0; more < 2; more++) {
                    Instant time = record.approximateArrivalTimestamp().plusMillis(more);
                    counts.add(read(iterator(first, ShardIteratorType.AT_TIMESTAMP, time)).size());
                }
            }
            return counts;
        });

        // Consumers
        Consumer consumer = kinesis.registerStreamConsumer(r -> r.streamARN(arn).consumerName("readers")).consumer();
        String reader = consumer.consumerARN();
        call("RegisterStreamConsumer", () -> List.of(consumer.consumerName(), consumer.consumerStatusAsString()));
        call("DescribeStreamConsumer", () -> {
            while (true) {
                ConsumerDescription found = kinesis.describeStreamConsumer(r -> r.consumerARN(reader)).consumerDescription();
                if (found.consumerStatus() == ConsumerStatus.ACTIVE) {
                    return List.of(found.consumerName(), found.consumerCreationTimestamp().toEpochMilli());
                }
                Thread.sleep(50);
            }
        });
        call("ListStreamConsumers", () -> kinesis.listStreamConsumers(r -> r.streamARN(arn).streamCreationTimestamp(created)).consumers()
                .stream().map(Consumer::consumerName).toList());
        if (async == null) {
            print("SubscribeToShard", null, ONLY_ASYNC);
            print("exception in SubscribeToShardEventStream", null, ONLY_ASYNC);
        } else {
            call("SubscribeToShard", () -> subscribe(reader, first, 3));
            refused("exception in SubscribeToShardEventStream", () -> subscribe(reader, second, 1));
        }

        // Tags and policies
        call("ListTagsForStream", this::tags);
        call("AddTagsToStream", () -> {
            kinesis.addTagsToStream(r -> r.streamName(NAME).tags(Map.of("stage", "")));
            return tags();
        });
        call("RemoveTagsFromStream", () -> {
            kinesis.removeTagsFromStream(r -> r.streamName(NAME).tagKeys("team"));
            return tags();
        });
        call("TagResource", () -> kinesis.tagResource(r -> r.resourceARN(reader).tags(Map.of("a", "1", "b", "2"))));
        call("UntagResource", () -> kinesis.untagResource(r -> r.resourceARN(reader).tagKeys("a")));
        call("ListTagsForResource", () -> shown(kinesis.listTagsForResource(r -> r.resourceARN(reader)).tags()));
        call("PutResourcePolicy", () ->
                kinesis.putResourcePolicy(r -> r.resourceARN(arn).policy("{\"Version\":\"2012-10-17\",\"Statement\":[]}")));
        call("GetResourcePolicy", () -> kinesis.getResourcePolicy(r -> r.resourceARN(arn)).policy());
        call("DeleteResourcePolicy", () -> kinesis.deleteResourcePolicy(r -> r.resourceARN(arn)));

        // Paginators
        for (String name : List.of("PageA", "PageB", "PageC")) {
            kinesis.createStream(r -> r.streamName(name).shardCount(1));
        }
        call("paginator ListStreams", () -> {
            List<Object> found = new ArrayList<>();
            if (async == null) {
                kinesis.listStreamsPaginator(r -> r.limit(1)).streamNames().forEach(found::add);
            } else {
                async.listStreamsPaginator(r -> r.limit(1)).streamNames().subscribe(found::add).join();
            }
            return found;
        });
        kinesis.registerStreamConsumer(r -> r.streamARN(arn).consumerName("others"));
        call("paginator ListStreamConsumers", () -> {
            List<Object> found = new ArrayList<>();
            if (async == null) {
                kinesis.listStreamConsumersPaginator(r -> r.streamARN(arn).maxResults(1))
                        .forEach(page -> page.consumers().forEach(each -> found.add(each.consumerName())));
            } else {
                async.listStreamConsumersPaginator(r -> r.streamARN(arn).maxResults(1))
                        .subscribe(page -> page.consumers().forEach(each -> found.add(each.consumerName()))).join();
            }
            return found;
        });

        // Changes
        change("IncreaseStreamRetentionPeriod", () -> kinesis.increaseStreamRetentionPeriod(r -> r.streamName(NAME).retentionPeriodHours(48)));
        change("DecreaseStreamRetentionPeriod", () -> kinesis.decreaseStreamRetentionPeriod(r -> r.streamName(NAME).retentionPeriodHours(24)));
        change("EnableEnhancedMonitoring",
                () -> kinesis.enableEnhancedMonitoring(r -> r.streamName(NAME).shardLevelMetrics(MetricsName.INCOMING_BYTES)),
                done -> List.of(done.currentShardLevelMetricsAsStrings(), done.desiredShardLevelMetricsAsStrings()));
        change("DisableEnhancedMonitoring",
                () -> kinesis.disableEnhancedMonitoring(r -> r.streamName(NAME).shardLevelMetrics(MetricsName.ALL)),
                done -> List.of(done.currentShardLevelMetricsAsStrings(), done.desiredShardLevelMetricsAsStrings()));
        change("StartStreamEncryption", () -> kinesis.startStreamEncryption(r -> r.streamName(NAME).encryptionType(EncryptionType.KMS).keyId("alias/aws/kinesis")));
        change("StopStreamEncryption", () -> kinesis.stopStreamEncryption(r -> r.streamName(NAME).encryptionType(EncryptionType.KMS).keyId("alias/aws/kinesis")));
        change("SplitShard", () -> kinesis.splitShard(r -> r.streamName(NAME).shardToSplit(first).newStartingHashKey("7")));
        change("MergeShards", () -> kinesis.mergeShards(r -> r.streamName(NAME).shardToMerge("shardId-000000000002").adjacentShardToMerge("shardId-000000000003")));
        change("UpdateShardCount",
                () -> kinesis.updateShardCount(r -> r.streamName(NAME).targetShardCount(4).scalingType(ScalingType.UNIFORM_SCALING)),
                done -> List.of(done.currentShardCount(), done.targetShardCount()));
        change("UpdateMaxRecordSize", () -> kinesis.updateMaxRecordSize(r -> r.streamARN(arn).maxRecordSizeInKiB(2048)));
        change("UpdateStreamMode", () -> kinesis.updateStreamMode(r -> r.streamARN(arn).streamModeDetails(d -> d.streamMode(StreamMode.ON_DEMAND))));
        change("UpdateStreamWarmThroughput", () -> kinesis.updateStreamWarmThroughput(r -> r.streamARN(arn).warmThroughputMiBps(100)),
                done -> done.warmThroughput().targetMiBps());
        change("UpdateStreamRecordDistributionStrategy", () -> kinesis.updateStreamRecordDistributionStrategy(
                r -> r.streamARN(arn).recordDistributionStrategy("AUTO")));
        call("DescribeAccountSettings", () -> kinesis.describeAccountSettings(r -> {}).minimumThroughputBillingCommitment().statusAsString());
        call("UpdateAccountSettings", () -> kinesis.updateAccountSettings(r -> r.minimumThroughputBillingCommitment(c -> c.status("ENABLED")))
                .minimumThroughputBillingCommitment().statusAsString());

        // Errors. A stream with the name of an error refuses every record with that error.
        for (String name : List.of("AccessDeniedException", "InternalFailureException", "KMSAccessDeniedException", "KMSDisabledException",
                "KMSInvalidStateException", "KMSNotFoundException", "KMSOptInRequired", "KMSThrottlingException",
                "ProvisionedThroughputExceededException")) {
            refused("exception " + name, () -> put(name));
        }
        refused("exception DryRunOperationException", () -> kinesis.putRecord(r -> r.streamName(NAME).partitionKey("a").data(BYTE).dryRun(true)));
        refused("exception ResourceNotFoundException", () -> put("nowhere"));
        refused("exception ResourceInUseException", () -> kinesis.createStream(r -> r.streamName(NAME).shardCount(1)));
        refused("exception LimitExceededException", () -> kinesis.createStream(r -> r.streamName("large").shardCount(100_000)));
        refused("exception InvalidArgumentException", () -> read("AAAA"));
        refused("exception ValidationException", () -> kinesis.splitShard(r -> r.streamName(NAME).shardToSplit(second).newStartingHashKey("7")));
        String iterator = iterator(first, ShardIteratorType.TRIM_HORIZON, null);
        String token = kinesis.listShards(r -> r.streamName(NAME).maxResults(1)).nextToken();
        advance(600);
        refused("exception ExpiredIteratorException", () -> read(iterator));
        refused("exception ExpiredNextTokenException", () -> kinesis.listShards(r -> r.nextToken(token)));

        // The end
        call("DeregisterStreamConsumer", () -> kinesis.deregisterStreamConsumer(r -> r.consumerARN(reader)));
        call("DeleteStream", () -> kinesis.deleteStream(r -> r.streamName(NAME).enforceConsumerDeletion(true)));
        call("waiter StreamNotExists", () -> async == null
                ? kinesis.waiter().waitUntilStreamNotExists(described, quick).matched().response().orElse(null)
                : async.waiter().waitUntilStreamNotExists(described, quick).join().matched().response().orElse(null));
    }
}
