"""The checkpoint directories of Spark's streaming queries: files on this machine and elsewhere, and the offset log in them."""

from kinesis_cli.checkpoints.folders import CheckpointFolder, open_folder
from kinesis_cli.checkpoints.offset_log import Batches, BatchOffsets, find_batches, read_offsets

__all__ = ["BatchOffsets", "Batches", "CheckpointFolder", "find_batches", "open_folder", "read_offsets"]
