"""A local Amazon Kinesis Data Streams over HTTP, for tests, demos and benchmarks."""

from kinesis_emulator.clocks import ManualClock
from kinesis_emulator.emulator import Emulator
from kinesis_emulator.errors import AwsError
from kinesis_emulator.faults import EventFault, Fault, FaultScript, RandomFaults, Step
from kinesis_emulator.limits import Limits
from kinesis_emulator.process import EmulatorProcess
from kinesis_emulator.requests import HttpVersion, Request
from kinesis_emulator.server import OpenConnection
from kinesis_emulator.service import Calls
from kinesis_emulator.settings import Settings
from kinesis_emulator.shards import StoredRecord
from kinesis_emulator.store import DistributionStrategy, EncryptionType
from kinesis_emulator.version import __version__
from kinesis_emulator.wire_formats import WireFormat

__all__ = [
    "AwsError",
    "Calls",
    "DistributionStrategy",
    "Emulator",
    "EmulatorProcess",
    "EncryptionType",
    "EventFault",
    "Fault",
    "FaultScript",
    "HttpVersion",
    "Limits",
    "ManualClock",
    "OpenConnection",
    "RandomFaults",
    "Request",
    "Settings",
    "Step",
    "StoredRecord",
    "WireFormat",
    "__version__",
]
