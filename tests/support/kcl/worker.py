"""One worker of the KCL in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from attrs import define, frozen

from support.java_programs import KCL_2, KCL_3
from support.kcl.group_worker import GroupWorker, WorkerOptions, as_text
from support.kcl.java_process import FAST, SMALL, start_java, trust

Version = Literal["2.7.2", "3.5.1"]
VERSIONS: tuple[Version, ...] = ("2.7.2", "3.5.1")
Setting = str | int | float | bool
PROGRAMS = {program.version: program for program in (KCL_2, KCL_3)}
_NOWHERE = "http://127.0.0.1:1"

QUICK: Mapping[str, Setting] = {
    "leaseManagement.failoverTimeMillis": 2000,
    "leaseManagement.shardSyncIntervalMillis": 100,
    "leaseManagement.leasesRecoveryAuditorExecutionFrequencyMillis": 1000,
    "leaseManagement.listShardsBackoffTimeInMillis": 100,
    "leaseManagement.listShardsCacheAllowedAgeInSeconds": 1,
    "leaseManagement.leaseCleanupConfig.leaseCleanupIntervalMillis": 500,
    "leaseManagement.leaseCleanupConfig.completedLeaseCleanupIntervalMillis": 500,
    "leaseManagement.leaseCleanupConfig.garbageLeaseCleanupIntervalMillis": 1000,
    "coordinator.parentShardPollIntervalMillis": 200,
    "coordinator.shardConsumerDispatchPollIntervalMillis": 100,
    "coordinator.schedulerInitializationBackoffTimeMillis": 200,
    "lifecycle.taskBackoffTimeMillis": 100,
    "polling.idleTimeBetweenReadsInMillis": 200,
}
"""Short times for tests. What the KCL has no setting for stays as it is."""
_UTILIZATION = "leaseManagement.workerUtilizationAwareAssignmentConfig"
QUICK_3: Mapping[str, Setting] = {
    **QUICK,
    "leaseManagement.leaseAssignmentIntervalMillis": 500,
    "leaseManagement.dynamoDbLockBasedLeaderLeaseDurationInMillis": 3000,
    "leaseManagement.dynamoDbLockBasedLeaderHeartbeatPeriodInMillis": 500,
    "leaseManagement.gracefulLeaseHandoffConfig.gracefulLeaseHandoffTimeoutMillis": 5000,
    f"{_UTILIZATION}.workerMetricsReporterFreqInMillis": 2000,
    f"{_UTILIZATION}.inMemoryWorkerMetricsCaptureFrequencyMillis": 200,
    f"{_UTILIZATION}.varianceBalancingFrequency": 1,
}
"""The same for KCL 3, with what only that has."""
DEFAULTS: Mapping[str, Setting] = {}
"""The KCL's own times."""


def quick(version: Version, **more: Setting) -> dict[str, Setting]:
    """Return the short times for a version. *more* are properties of `leaseManagement`."""
    settings = QUICK_3 if version == "3.5.1" else QUICK
    return {**settings, **{f"leaseManagement.{name}": value for name, value in more.items()}}


BY_NUMBER: Mapping[str, Setting] = {
    **QUICK_3,
    "leaseManagement.leaseAssignmentStrategy": "LEASE_COUNT_BASED",
    "leaseManagement.leaseAssignmentIntervalMillis": 1500,
    f"{_UTILIZATION}.workerMetricsReporterFreqInMillis": 6000,
}
"""
Times with which a leader of KCL 3 gives all workers equally many leases: for tests in which nobody has much to do.

It counts a lease for its present owner until it is handed over. If it decides again before that, it moves more than it should. It
believes reports for two of its own periods, and the workers of this project report each ten seconds.
"""


@frozen(kw_only=True)
class KclOptions(WorkerOptions):
    version: Version
    stop_after: int = 0
    """Checkpoint and stop inside an aggregate, after at least this number of user records; 0 to go on."""
    stop_how: Literal["halt", "hang"] = "halt"
    """End the program at that record, without a word to others; or keep the thread of the shard, and its lease."""
    retrieval: Literal["polling", "fanOut"] = "polling"
    first_sync: Literal["quick", "default"] = "quick"
    """Whether the first leases are created at once, or after the 1 to 30 s that the KCL waits by chance."""
    metric: float | None = None
    """
    The load that the worker reports, in percent of its CPU; only KCL 3. Without it the worker reports none. A leader then
    goes by the throughput of the leases, and moves nothing while the stream is idle.
    """
    settings: Mapping[str, Setting] | None = None
    """Properties of the KCL's configuration, such as `coordinator.clientVersionConfig`; `quick(version)` by default."""
    log_level: str = "warn"
    is_counting: bool = False
    """Print only how many records came, so that printing costs nothing."""
    is_cbor: bool = True
    """Whether it speaks CBOR to Kinesis, as it does by default. Otherwise it speaks JSON, as this project does."""
    is_fast: bool = False
    """Whether the JVM makes fast code, as in production, instead of a quick start."""
    authority: Path | None = None
    """The certificate that it must trust, in PEM, if the Kinesis speaks TLS."""
    loaded: Path | None = None
    """Where the JVM archives the classes that it has loaded, when it ends."""

    def all_arguments(self) -> tuple[str, ...]:
        given: dict[str, object] = {
            "cloudwatch": _NOWHERE,
            "stopAfter": self.stop_after,
            "stopHow": self.stop_how,
            "retrieval": self.retrieval,
            "counting": self.is_counting,
            "firstSync": self.first_sync,
            **({} if self.metric is None else {"metric": self.metric}),
            **(quick(self.version) if self.settings is None else self.settings),
        }
        return self.arguments(**given)


@define(eq=False)
class KclWorker(GroupWorker):
    """A running worker of the KCL."""

    @classmethod
    def start(cls, options: KclOptions, log: Path) -> KclWorker:
        """
        Start a worker, and return at once.

        Raises:
            WitnessUnavailableError: This version cannot be installed here.
        """
        properties = (
            f"aws.cborEnabled={as_text(options.is_cbor)}",
            f"org.slf4j.simpleLogger.defaultLogLevel={options.log_level}",
            "org.slf4j.simpleLogger.showDateTime=true",
            "org.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
            *(() if options.authority is None else trust(options.authority, log.parent)),
        )
        installed = PROGRAMS[options.version].install()
        flags = FAST if options.is_fast else SMALL
        if options.loaded is not None:
            flags = (*flags, f"-XX:ArchiveClassesAtExit={options.loaded}")
        return cls(
            options.worker, start_java(installed, "Worker", options.all_arguments(), log, properties, flags)
        )
