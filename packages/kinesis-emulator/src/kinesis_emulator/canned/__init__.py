"""A Kinesis for benchmarks: it answers what was written beforehand, so that its own work hardly shows up."""

from kinesis_emulator.canned.process import PreparedKinesis
from kinesis_emulator.canned.stream import PreparedStream

__all__ = ["PreparedKinesis", "PreparedStream"]
