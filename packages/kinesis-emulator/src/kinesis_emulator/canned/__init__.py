"""A Kinesis for benchmarks: it answers what was written beforehand, so that its own work hardly shows up."""

from kinesis_emulator.canned.process import CannedKinesis
from kinesis_emulator.canned.stream import CannedStream

__all__ = [
    "CannedKinesis",
    "CannedStream",
]
