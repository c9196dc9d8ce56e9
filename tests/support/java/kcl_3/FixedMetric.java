import java.util.List;
import software.amazon.kinesis.leases.LeaseManagementConfig;
import software.amazon.kinesis.worker.metric.OperatingRange;
import software.amazon.kinesis.worker.metric.WorkerMetric;
import software.amazon.kinesis.worker.metric.WorkerMetricType;

/** The load of a worker, in percent of its CPU, as the test says: the KCL's own figure depends on the machine. */
public final class FixedMetric implements WorkerMetric {
    private final double percent;

    private FixedMetric(double percent) {
        this.percent = percent;
    }

    public static void use(LeaseManagementConfig config, String percent) {
        config.workerUtilizationAwareAssignmentConfig()
                .workerMetricList(List.of(new FixedMetric(Double.parseDouble(percent))));
    }

    @Override
    public String getShortName() {
        return getWorkerMetricType().getShortName();
    }

    @Override
    public WorkerMetricValue capture() {
        return WorkerMetricValue.builder().value(percent).build();
    }

    @Override
    public OperatingRange getOperatingRange() {
        return OperatingRange.builder().maxUtilization(100).build();
    }

    @Override
    public WorkerMetricType getWorkerMetricType() {
        return WorkerMetricType.CPU;
    }
}
