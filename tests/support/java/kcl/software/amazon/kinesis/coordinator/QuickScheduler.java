package software.amazon.kinesis.coordinator;

import software.amazon.kinesis.checkpoint.CheckpointConfig;
import software.amazon.kinesis.leases.LeaseManagementConfig;
import software.amazon.kinesis.leases.exceptions.DependencyException;
import software.amazon.kinesis.leases.exceptions.InvalidStateException;
import software.amazon.kinesis.leases.exceptions.ProvisionedThroughputException;
import software.amazon.kinesis.lifecycle.LifecycleConfig;
import software.amazon.kinesis.metrics.MetricsConfig;
import software.amazon.kinesis.processor.ProcessorConfig;
import software.amazon.kinesis.retrieval.RetrievalConfig;

/**
 * A worker that creates the first leases at once, if there are none.
 *
 * <p>The KCL waits for 1 to 30 s by chance, which no setting changes. This is in its package to replace that method.
 */
public final class QuickScheduler extends Scheduler {
    public QuickScheduler(
            CheckpointConfig checkpoints, CoordinatorConfig coordinator, LeaseManagementConfig leases,
            LifecycleConfig lifecycle, MetricsConfig metrics, ProcessorConfig processors, RetrievalConfig retrieval) {
        super(checkpoints, coordinator, leases, lifecycle, metrics, processors, retrieval);
    }

    @Override
    boolean shouldInitiateLeaseSync()
            throws DependencyException, ProvisionedThroughputException, InvalidStateException {
        return leaseRefresher().isLeaseTableEmpty();
    }
}
