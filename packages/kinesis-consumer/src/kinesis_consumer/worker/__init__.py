"""One worker of a group: its steps, how it gets leases, and the threads that run it."""

from kinesis_consumer.worker.arrivals import Arrivals
from kinesis_consumer.worker.callbacks import Callbacks, LeaseCallback, MetricCallback
from kinesis_consumer.worker.coordinator import Coordinator
from kinesis_consumer.worker.leases import LeaseHolder
from kinesis_consumer.worker.streams import Source
from kinesis_consumer.worker.threads import LONGEST_WAIT_S, WorkerThreads
from kinesis_consumer.worker.worker import Worker

__all__ = [
    "Arrivals",
    "Callbacks",
    "Coordinator",
    "LONGEST_WAIT_S",
    "LeaseCallback",
    "LeaseHolder",
    "MetricCallback",
    "Source",
    "Worker",
    "WorkerThreads",
]
