import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.common.StreamConfig;
import software.amazon.kinesis.common.StreamIdentifier;
import software.amazon.kinesis.processor.FormerStreamsLeasesDeletionStrategy;
import software.amazon.kinesis.processor.FormerStreamsLeasesDeletionStrategy.NoLeaseDeletionStrategy;
import software.amazon.kinesis.processor.MultiStreamTracker;
import software.amazon.kinesis.processor.SingleStreamTracker;
import software.amazon.kinesis.processor.StreamTracker;

/** The streams of an application: one by its name, or several as account:name:epoch, with commas between them. */
final class Streams implements MultiStreamTracker {
    private final List<StreamConfig> streams = new ArrayList<>();

    static StreamTracker of(Map<String, String> options) {
        InitialPositionInStreamExtended position = position(options.get("position"));
        String names = options.get("stream");
        return names.contains(":")
                ? new Streams(names.split(","), position)
                : new SingleStreamTracker(StreamIdentifier.singleStreamInstance(names), position);
    }

    private Streams(String[] identifiers, InitialPositionInStreamExtended position) {
        for (String identifier : identifiers) {
            streams.add(new StreamConfig(StreamIdentifier.multiStreamInstance(identifier), position));
        }
    }

    private static InitialPositionInStreamExtended position(String text) {
        String[] parts = text.split(":"); // AT_TIMESTAMP:<epoch in ms>
        return parts.length > 1
                ? InitialPositionInStreamExtended.newInitialPositionAtTimestamp(new Date(Long.parseLong(parts[1])))
                : InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.valueOf(text));
    }

    @Override
    public List<StreamConfig> streamConfigList() {
        return streams;
    }

    @Override
    public FormerStreamsLeasesDeletionStrategy formerStreamsLeasesDeletionStrategy() {
        return new NoLeaseDeletionStrategy();
    }
}
