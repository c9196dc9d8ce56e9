import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import software.amazon.kinesis.retrieval.KinesisClientRecord;

/** When the processors of a worker checkpoint, pause and stop. */
final class Behaviour {
    private final String checkpoint;
    private final boolean haltsAtStop;
    private final int stopAfter;
    private final boolean counting;
    private int processed;
    private boolean paused;
    private boolean stopped;

    Behaviour(Map<String, String> options) {
        checkpoint = options.get("checkpoint");
        stopAfter = Integer.parseInt(options.get("stopAfter"));
        haltsAtStop = options.get("stopHow").equals("halt");
        counting = Boolean.parseBoolean(options.get("counting"));
        paused = Boolean.parseBoolean(options.get("paused"));
    }

    boolean checkpointsBatches() {
        return checkpoint.equals("batch");
    }

    boolean onlyCounts() {
        return counting;
    }

    boolean checkpointsOnShutdown() {
        return !checkpoint.equals("never");
    }

    synchronized void pause() {
        paused = true;
    }

    synchronized void resume() {
        paused = false;
        notifyAll();
    }

    synchronized void awaitResume() {
        try {
            while (paused) {
                wait();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the KCL gives the thread up
        }
    }

    /**
     * Returns how many of the records to process before the worker stops, or 0 if it goes on after them: it stops
     * inside an aggregate, once it has processed as many records as the test wants.
     */
    synchronized int countUntilStop(List<KinesisClientRecord> records) {
        for (int i = 0; i < records.size(); i++) {
            processed++;
            boolean isInside = i + 1 < records.size()
                    && records.get(i).sequenceNumber().equals(records.get(i + 1).sequenceNumber());
            if (stopAfter > 0 && !stopped && processed >= stopAfter && isInside) {
                stopped = true;
                return i + 1;
            }
        }
        return 0;
    }

    /** Ends the program at once, or keeps this shard's thread for ever while its lease is renewed. */
    void stop(String shard) {
        Events.print("halted", "shard", shard);
        if (haltsAtStop) {
            Runtime.getRuntime().halt(0);
        }
        try {
            TimeUnit.DAYS.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
