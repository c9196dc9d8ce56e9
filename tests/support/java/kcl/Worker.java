import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.KinesisClientUtil;
import software.amazon.kinesis.coordinator.CoordinatorConfig;
import software.amazon.kinesis.coordinator.QuickScheduler;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.coordinator.WorkerStateChangeListener;
import software.amazon.kinesis.common.StreamIdentifier;
import software.amazon.kinesis.leases.LeaseManagementConfig;
import software.amazon.kinesis.lifecycle.LifecycleConfig;
import software.amazon.kinesis.lifecycle.TaskExecutionListener;
import software.amazon.kinesis.lifecycle.TaskOutcome;
import software.amazon.kinesis.lifecycle.events.TaskExecutionListenerInput;
import software.amazon.kinesis.metrics.MetricsConfig;
import software.amazon.kinesis.metrics.NullMetricsFactory;
import software.amazon.kinesis.processor.ShardRecordProcessor;
import software.amazon.kinesis.processor.ShardRecordProcessorFactory;
import software.amazon.kinesis.retrieval.RetrievalConfig;
import software.amazon.kinesis.retrieval.fanout.FanOutConfig;
import software.amazon.kinesis.retrieval.polling.PollingConfig;

/**
 * One worker of the KCL. Arguments are name=value; a name with a dot is a property of the KCL's configuration.
 *
 * <p>It prints events as JSON lines, does the commands on its standard input, and ends at once when that ends.
 */
public final class Worker {
    private final Map<String, String> options = new LinkedHashMap<>();
    private final Behaviour behaviour;
    private final List<Processor> processors = new CopyOnWriteArrayList<>();
    private final Scheduler scheduler;

    public static void main(String[] arguments) throws Exception {
        Worker worker = new Worker(arguments);
        Thread commands = new Thread(worker::obey, "commands");
        commands.setDaemon(true);
        commands.start();
        worker.scheduler.run();
        Events.print("stopped");
        Runtime.getRuntime().halt(0); // threads of the clients would keep it alive
    }

    private Worker(String[] arguments) throws ReflectiveOperationException {
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            options.put(parts[0], parts[1]);
        }
        behaviour = new Behaviour(options);
        scheduler = makeScheduler();
    }

    private Scheduler makeScheduler() throws ReflectiveOperationException {
        // As the KCL's documentation says: HTTP/2, with prior knowledge on an endpoint without TLS.
        KinesisAsyncClient kinesis =
                connect(KinesisClientUtil.adjustKinesisClientBuilder(KinesisAsyncClient.builder()), options.get("kinesis"));
        ConfigsBuilder configs = new ConfigsBuilder(
                Streams.of(options), options.get("application"), kinesis,
                connect(DynamoDbAsyncClient.builder(), options.get("dynamodb")),
                connect(CloudWatchAsyncClient.builder(), options.get("cloudwatch")),
                options.get("worker"), new Processors());
        CoordinatorConfig coordinator = configs.coordinatorConfig().workerStateChangeListener(new States());
        LeaseManagementConfig leases = configs.leaseManagementConfig();
        LifecycleConfig lifecycle = configs.lifecycleConfig().taskExecutionListener(new Failures());
        MetricsConfig metrics = configs.metricsConfig().metricsFactory(new NullMetricsFactory());
        RetrievalConfig retrieval = configs.retrievalConfig();
        PollingConfig polling = new PollingConfig(kinesis);
        FanOutConfig fanOut = new FanOutConfig(kinesis).applicationName(options.get("application"));
        if (!options.get("stream").contains(":")) {
            polling.streamName(options.get("stream"));
            fanOut.streamName(options.get("stream"));
        }
        if (options.containsKey("metric")) {
            Class<?> fixed = Class.forName("FixedMetric"); // KCL 3 only
            fixed.getMethod("use", LeaseManagementConfig.class, String.class).invoke(null, leases, options.get("metric"));
        }
        Map<String, Object> roots = Map.of(
                "coordinator", coordinator, "leaseManagement", leases, "lifecycle", lifecycle,
                "retrieval", retrieval, "polling", polling, "fanOut", fanOut);
        for (Map.Entry<String, String> option : options.entrySet()) {
            if (option.getKey().contains(".")) {
                Settings.set(roots, option.getKey(), option.getValue());
            }
        }
        retrieval.retrievalSpecificConfig(options.get("retrieval").equals("fanOut") ? fanOut : polling);
        return options.get("firstSync").equals("quick")
                ? new QuickScheduler(configs.checkpointConfig(), coordinator, leases, lifecycle, metrics, configs.processorConfig(), retrieval)
                : new Scheduler(configs.checkpointConfig(), coordinator, leases, lifecycle, metrics, configs.processorConfig(), retrieval);
    }

    private <B extends AwsClientBuilder<B, C>, C> C connect(B builder, String endpoint) {
        return builder.endpointOverride(URI.create(endpoint))
                .region(Region.of(options.get("region")))
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret")))
                .build();
    }

    private void obey() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ", 3);
                obey(words[0], words.length > 1 ? words[1] : "", words.length > 2 ? words[2] : "");
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(1); // the test has ended
    }

    private void obey(String command, String shard, String state) {
        switch (command) {
            case "checkpoint":
                processors.stream().filter(each -> each.isOf(shard)).forEach(Processor::checkpoint);
                break;
            case "prepare":
                processors.stream().filter(each -> each.isOf(shard)).forEach(each -> each.prepare(state));
                break;
            case "pause":
                behaviour.pause();
                break;
            case "resume":
                behaviour.resume();
                break;
            case "graceful":
                scheduler.startGracefulShutdown();
                break;
            case "shutdown":
                scheduler.shutdown();
                break;
            default:
                throw new IllegalArgumentException(command);
        }
        Events.print("obeyed", "command", command);
    }

    private final class Processors implements ShardRecordProcessorFactory {
        @Override
        public ShardRecordProcessor shardRecordProcessor() {
            return add(new Processor(behaviour, options.get("stream")));
        }

        @Override
        public ShardRecordProcessor shardRecordProcessor(StreamIdentifier stream) {
            return add(new Processor(behaviour, stream.streamName()));
        }

        private Processor add(Processor processor) {
            processors.add(processor);
            return processor;
        }
    }

    private static final class States implements WorkerStateChangeListener {
        @Override
        public void onWorkerStateChange(WorkerState state) {
            Events.print(state == WorkerState.STARTED ? "started" : "state", "state", state);
        }

        @Override
        public void onAllInitializationAttemptsFailed(Throwable error) {
            Events.print("failed", "error", error);
        }
    }

    private static final class Failures implements TaskExecutionListener {
        @Override
        public void beforeTaskExecution(TaskExecutionListenerInput input) {}

        @Override
        public void afterTaskExecution(TaskExecutionListenerInput input) {
            if (input.taskOutcome() == TaskOutcome.FAILURE) {
                Events.print("taskFailed", "shard", input.shardInfo().shardId(), "task", input.taskType());
            }
        }
    }
}
