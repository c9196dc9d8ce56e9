import com.google.common.util.concurrent.ListenableFuture;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.kinesis.producer.KinesisProducer;
import software.amazon.kinesis.producer.KinesisProducerConfiguration;
import software.amazon.kinesis.producer.UserRecordFailedException;
import software.amazon.kinesis.producer.UserRecordResult;

/** A producer of the KPL. Lines on its standard input are two numbers: it puts those from one to before the other, and tells how that ended. */
public final class KplPut {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            options.put(parts[0], parts[1]);
        }
        URI kinesis = URI.create(options.get("kinesis"));
        KinesisProducerConfiguration configuration = new KinesisProducerConfiguration()
                .setKinesisEndpoint(kinesis.getHost())
                .setKinesisPort(kinesis.getPort())
                .setStsEndpoint(kinesis.getHost()) // it asks for the account, and goes on without it
                .setStsPort(kinesis.getPort())
                .setCaCertFile(options.get("authority"))
                .setTempDirectory(options.get("folder"))
                .setConnectTimeout(60_000) // a machine that stands still makes no call fail, and no record expire
                .setRequestTimeout(60_000)
                .setRecordTtl(300_000)
                .setMetricsLevel("none")
                .setRegion(options.get("region"))
                .setCredentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret")));
        KinesisProducer producer = new KinesisProducer(configuration);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] numbers = line.split(" ");
            put(producer, options.get("stream"), Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]));
        }
        producer.destroy();
        Runtime.getRuntime().halt(0);
    }

    private static void put(KinesisProducer producer, String stream, int first, int stop) throws Exception {
        List<ListenableFuture<UserRecordResult>> results = new ArrayList<>();
        for (int number = first; number < stop; number++) {
            ByteBuffer data = ByteBuffer.wrap(Integer.toString(number).getBytes(StandardCharsets.UTF_8));
            results.add(producer.addUserRecord(stream, "key-" + number % 20, data));
        }
        int succeeded = 0;
        int attempts = 0;
        for (ListenableFuture<UserRecordResult> future : results) {
            UserRecordResult result;
            try {
                result = future.get();
            } catch (java.util.concurrent.ExecutionException error) {
                result = ((UserRecordFailedException) error.getCause()).getResult();
            }
            succeeded += result.isSuccessful() ? 1 : 0;
            attempts += result.getAttempts().size();
        }
        Events.print("results", "succeeded", succeeded, "attempts", attempts);
        Events.print("put");
    }

    private KplPut() {}
}
