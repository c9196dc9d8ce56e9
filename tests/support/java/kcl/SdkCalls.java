import java.net.URI;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;
import software.amazon.awssdk.services.kinesis.model.GetRecordsResponse;
import software.amazon.awssdk.services.kinesis.model.GetShardIteratorRequest;
import software.amazon.awssdk.services.kinesis.model.KinesisException;
import software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry;
import software.amazon.awssdk.services.kinesis.model.PutRecordsResponse;
import software.amazon.awssdk.services.kinesis.model.PutRecordsResultEntry;
import software.amazon.awssdk.services.kinesis.model.Record;
import software.amazon.awssdk.services.kinesis.model.Shard;
import software.amazon.awssdk.services.kinesis.model.ShardIteratorType;
import software.amazon.awssdk.services.kinesis.model.StreamDescriptionSummary;
import software.amazon.awssdk.services.kinesis.model.StreamStatus;

/** Calls of the AWS SDK on a stream with one shard: the endpoint, the region and the stream are the arguments. */
public final class SdkCalls {
    private static final String SHARD = "shardId-000000000000";
    private final KinesisAsyncClient kinesis;
    private final String stream;

    public static void main(String[] arguments) throws InterruptedException {
        KinesisAsyncClient kinesis = KinesisAsyncClient.builder()
                .endpointOverride(URI.create(arguments[0]))
                .region(Region.of(arguments[1]))
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret")))
                .build();
        SdkCalls calls = new SdkCalls(kinesis, arguments[2]);
        calls.put();
        calls.read();
        calls.describe();
        calls.fail();
        calls.reshard();
        Events.print("done");
        Runtime.getRuntime().halt(0);
    }

    private SdkCalls(KinesisAsyncClient kinesis, String stream) {
        this.kinesis = kinesis;
        this.stream = stream;
    }

    private void put() {
        byte[] all = new byte[256];
        for (int i = 0; i < 256; i++) {
            all[i] = (byte) i;
        }
        kinesis.putRecord(r -> r.streamName(stream).partitionKey("one").data(SdkBytes.fromByteArray(all))).join();
        PutRecordsResponse response = kinesis.putRecords(r -> r.streamName(stream).records(
                PutRecordsRequestEntry.builder().partitionKey("\u00e9").data(SdkBytes.fromUtf8String("two")).build(),
                PutRecordsRequestEntry.builder().partitionKey("x").explicitHashKey("7").data(SdkBytes.fromUtf8String("")).build()
        )).join();
        List<String> codes = new ArrayList<>();
        for (PutRecordsResultEntry result : response.records()) {
            codes.add(result.errorCode() == null ? result.shardId() : result.errorCode());
        }
        Events.print("put", "failed", response.failedRecordCount(), "results", codes);
    }

    private void read() {
        List<Record> records = recordsFrom(r -> r.shardIteratorType(ShardIteratorType.TRIM_HORIZON));
        for (Record record : records) {
            Events.print("record", "data", Base64.getEncoder().encodeToString(record.data().asByteArray()),
                    "key", record.partitionKey(), "arrivedMs", record.approximateArrivalTimestamp().toEpochMilli(),
                    "number", record.sequenceNumber());
        }
        Instant last = records.get(2).approximateArrivalTimestamp();
        Events.print("read", "atTime", recordsFrom(r -> r.shardIteratorType(ShardIteratorType.AT_TIMESTAMP).timestamp(last)).size(),
                "afterTwo", recordsFrom(r -> r.shardIteratorType(ShardIteratorType.AFTER_SEQUENCE_NUMBER)
                        .startingSequenceNumber(records.get(1).sequenceNumber())).size());
    }

    private List<Record> recordsFrom(java.util.function.Consumer<GetShardIteratorRequest.Builder> start) {
        String iterator = kinesis.getShardIterator(r -> start.accept(r.streamName(stream).shardId(SHARD))).join().shardIterator();
        GetRecordsResponse page = kinesis.getRecords(r -> r.shardIterator(iterator).limit(10)).join();
        return page.records();
    }

    private void describe() {
        Events.print("described", "createdMs", summary().streamCreationTimestamp().toEpochMilli(),
                "streams", kinesis.listStreams().join().streamNames());
    }

    private StreamDescriptionSummary summary() {
        return kinesis.describeStreamSummary(r -> r.streamName(stream)).join().streamDescriptionSummary();
    }

    private void fail() {
        refused(() -> kinesis.describeStreamSummary(r -> r.streamName("nowhere")));
        refused(() -> kinesis.getRecords(r -> r.shardIterator("AAAA")));
        refused(() -> kinesis.putRecord(r -> r.streamName(stream).partitionKey("").data(SdkBytes.fromUtf8String("x"))));
    }

    private void refused(Supplier<CompletableFuture<?>> call) {
        try {
            call.get().join();
        } catch (CompletionException error) {
            KinesisException cause = (KinesisException) error.getCause();
            Events.print("refused", "code", cause.awsErrorDetails().errorCode(), "status", cause.statusCode(),
                    "kind", cause.getClass().getSimpleName(), "message", cause.awsErrorDetails().errorMessage());
        }
    }

    private void reshard() throws InterruptedException {
        kinesis.splitShard(r -> r.streamName(stream).shardToSplit(SHARD).newStartingHashKey("5")).join();
        while (summary().streamStatus() != StreamStatus.ACTIVE) {
            Thread.sleep(100); // until then only the parent is listed
        }
        List<String> shards = new ArrayList<>();
        for (Shard shard : kinesis.listShards(r -> r.streamName(stream)).join().shards()) {
            shards.add(shard.shardId().substring(19) + " of " + shard.parentShardId() + " from " + shard.hashKeyRange().startingHashKey());
        }
        Events.print("resharded", "shards", shards);
    }
}
