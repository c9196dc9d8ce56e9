import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ProcessRecordsInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.processor.RecordProcessorCheckpointer;
import software.amazon.kinesis.processor.ShardRecordProcessor;
import software.amazon.kinesis.retrieval.KinesisClientRecord;
import software.amazon.kinesis.retrieval.kpl.ExtendedSequenceNumber;

/** Prints what the KCL delivers for one shard, and checkpoints when the test wants it. */
final class Processor implements ShardRecordProcessor {
    private final Behaviour behaviour;
    private final String stream;
    private String shard;
    private RecordProcessorCheckpointer checkpointer;
    private KinesisClientRecord last;

    Processor(Behaviour behaviour, String stream) {
        this.behaviour = behaviour;
        this.stream = stream;
    }

    @Override
    public void initialize(InitializationInput input) {
        shard = input.shardId();
        ExtendedSequenceNumber pending = input.pendingCheckpointSequenceNumber();
        byte[] state = input.pendingCheckpointState();
        Events.print(
                "initialized", "stream", stream, "shard", shard,
                "checkpoint", pair(input.extendedSequenceNumber()),
                "pending", pending == null ? null : pair(pending),
                "pendingState", state == null ? null : new String(state, StandardCharsets.UTF_8));
    }

    @Override
    public void processRecords(ProcessRecordsInput input) {
        List<KinesisClientRecord> records = input.records();
        if (records.isEmpty()) {
            return;
        }
        behaviour.awaitResume();
        int count = behaviour.countUntilStop(records);
        boolean isStop = count > 0;
        records = isStop ? records.subList(0, count) : records;
        synchronized (this) { // a test that has seen the records can tell to checkpoint them
            if (behaviour.onlyCounts()) {
                Events.print("counted", "shard", shard, "count", records.size());
            } else {
                printRecords(records, input.millisBehindLatest());
            }
            last = records.get(records.size() - 1);
            checkpointer = input.checkpointer();
        }
        if (isStop) {
            checkpoint();
            behaviour.stop(shard);
        } else if (behaviour.checkpointsBatches()) {
            checkpoint();
        }
    }

    @Override
    public void leaseLost(LeaseLostInput input) {
        forget();
        Events.print("leaseLost", "stream", stream, "shard", shard);
    }

    @Override
    public void shardEnded(ShardEndedInput input) {
        behaviour.awaitResume();
        forget();
        Events.print("shardEnded", "stream", stream, "shard", shard);
        try {
            input.checkpointer().checkpoint(); // the KCL insists on it
            Events.print("checkpointed", "stream", stream, "shard", shard, "checkpoint", List.of("SHARD_END", 0));
        } catch (Exception e) {
            refused(e);
        }
    }

    @Override
    public void shutdownRequested(ShutdownRequestedInput input) {
        Events.print("shutdownRequested", "stream", stream, "shard", shard);
        synchronized (this) {
            checkpointer = input.checkpointer();
        }
        if (behaviour.checkpointsOnShutdown()) {
            checkpoint();
        }
    }

    /** Checkpoints the last record that was processed, if there is one. */
    synchronized void checkpoint() {
        if (last == null || checkpointer == null) {
            return;
        }
        try {
            checkpointer.checkpoint(last.sequenceNumber(), last.subSequenceNumber());
            Events.print("checkpointed", "stream", stream, "shard", shard, "checkpoint", pair(last));
        } catch (Exception e) {
            refused(e);
        }
    }

    /** Does the first half of a checkpoint of the last record that was processed. */
    synchronized void prepare(String state) {
        if (last == null || checkpointer == null) {
            return;
        }
        try {
            checkpointer.prepareCheckpoint(
                    last.sequenceNumber(), last.subSequenceNumber(), state.getBytes(StandardCharsets.UTF_8));
            Events.print("prepared", "stream", stream, "shard", shard, "pending", pair(last));
        } catch (Exception e) {
            refused(e);
        }
    }

    boolean isOf(String wanted) {
        return wanted.isEmpty() || wanted.equals(shard);
    }

    private synchronized void forget() {
        checkpointer = null;
    }

    private void refused(Exception error) {
        Events.print(
                "checkpointRefused", "stream", stream, "shard", shard,
                "error", error.getClass().getSimpleName(), "message", error.getMessage());
    }

    private void printRecords(List<KinesisClientRecord> records, Long millisBehind) {
        List<Object> printed = new ArrayList<>();
        for (KinesisClientRecord record : records) {
            String data = StandardCharsets.UTF_8.decode(record.data().duplicate()).toString();
            printed.add(List.of(record.sequenceNumber(), record.subSequenceNumber(), record.partitionKey(), data));
        }
        Events.print("records", "stream", stream, "shard", shard, "millisBehind", millisBehind, "records", printed);
    }

    private static List<Object> pair(ExtendedSequenceNumber number) {
        return List.of(number.sequenceNumber(), number.subSequenceNumber());
    }

    private static List<Object> pair(KinesisClientRecord record) {
        return List.of(record.sequenceNumber(), record.subSequenceNumber());
    }
}
