"""The checkpoint directories of Spark's streaming queries: files on this machine and elsewhere, and the offset log in them."""

from kinesis_cli.checkpoints.folders import CheckpointFolder, open_folder
from kinesis_cli.checkpoints.offset_log import (
    Batches,
    BatchOffsets,
    batches_in,
    is_offset_log,
    is_ours,
    offsets_of,
    parse_offset,
    read_offsets,
)

__all__ = [
    "BatchOffsets",
    "Batches",
    "CheckpointFolder",
    "batches_in",
    "is_offset_log",
    "is_ours",
    "offsets_of",
    "open_folder",
    "parse_offset",
    "read_offsets",
]
