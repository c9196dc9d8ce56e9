"""A Kinesis for benchmarks. Its responses are made before the first call, so that its own work hardly counts."""

from kinesis_emulator.canned.process import CannedKinesis
from kinesis_emulator.canned.stream import CannedStream

__all__ = [
    "CannedKinesis",
    "CannedStream",
]
