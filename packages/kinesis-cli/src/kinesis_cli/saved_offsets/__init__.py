"""The offsets that our source has saved: in checkpoint directories, files and texts, for people to read."""

from kinesis_cli.saved_offsets.reading import SavedOffsets, read_saved
from kinesis_cli.saved_offsets.showing import show_saved

__all__ = ["SavedOffsets", "read_saved", "show_saved"]
