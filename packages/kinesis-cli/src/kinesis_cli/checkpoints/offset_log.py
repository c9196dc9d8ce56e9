"""
Spark's logs of a streaming query: `offsets/N` for each planned batch, and `commits/N` for each finished one.

A file of the offset log is a version, a line about the batch, and a line for each source: its offset, or `-` for none. In version 2
each offset has the id of its source and a colon before it.

Source: OffsetSeqLog in github.com/apache/spark
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen

from kinesis_cli.checkpoints.folders import CheckpointFolder
from kinesis_cli.ending import CommandError

_SOURCE_ID = re.compile(r"\A[^{}\s:\"]+:(?=\{|-)")
_VERSIONS = {"v1", "v2"}
_NONE = "-"


@frozen
class Batches:
    """The batches that a checkpoint directory has files of."""

    committed: int | None
    """The last committed batch; None before the first one."""
    planned: int | None
    """The batch after it, if it is planned."""

    @property
    def newest(self) -> int | None:
        """The batch whose file says where the query is: the committed one, or the first one that is planned."""
        return self.planned if self.committed is None else self.committed


@frozen
class BatchOffsets:
    """One file of the offset log."""

    metadata: str
    """The line about the batch, JSON."""
    sources: Sequence[tuple[int, str]]
    """The index of each source that has an offset, and the offset: JSON."""


def batches_in(folder: CheckpointFolder) -> tuple[Batches, int]:
    """
    Return the batches of a checkpoint directory, and the one whose file says where the query is.

    Raises:
        CommandError: It is not a checkpoint directory, it cannot be read, or it has no batch.
    """
    offsets = folder.names("offsets")
    if offsets is None:
        raise CommandError(_no_checkpoint(folder))
    batches = find_batches(offsets, folder.names("commits") or [])
    if batches.newest is None:
        raise CommandError(
            f"{folder.location} has no batch yet: the query has planned none. Wait for its first batch."
        )
    return batches, batches.newest


def _no_checkpoint(folder: CheckpointFolder) -> str:
    if folder.names("") is None:
        return f"There is no folder {folder.location}. Check the path, and the bucket of a URL."
    return f"{folder.location} has no folder 'offsets', so it is not a checkpoint directory of a Spark query. Correct the path."


def offsets_of(folder: CheckpointFolder, batch: int) -> BatchOffsets:
    """Return what the file of *batch* says. Raises as `read_offsets`, and if it cannot be read."""
    return read_offsets(folder.read(f"offsets/{batch}"), f"{folder.location.rstrip('/')}/offsets/{batch}")


def find_batches(offsets: Iterable[str], commits: Iterable[str]) -> Batches:
    """Return the batches, given the names of the files in the two folders. Other files, such as checksums, are ignored."""
    planned, committed = _numbers(offsets), _numbers(commits)
    last = max(planned & committed, default=None)
    later = [number for number in planned if last is None or number > last]
    return Batches(last, min(later, default=None))


def is_offset_log(text: str) -> bool:
    """Return whether *text* begins as a file of the offset log does, and not as JSON."""
    return text.partition("\n")[0].strip() in _VERSIONS


def read_offsets(text: str, where: str) -> BatchOffsets:
    """
    Return what the file *where* of the offset log says.

    Raises:
        CommandError: It has another version, or is cut off.
    """
    version, *lines = text.splitlines() or [""]
    if version.strip() not in _VERSIONS:
        raise CommandError(
            f"{where} begins with '{version[:20]}', and not with v1 or v2: it is not a file of Spark's offset log, or of a newer Spark."
        )
    if not lines:
        raise CommandError(f"{where} is cut off: it has one line. Restore the checkpoint directory.")
    metadata, *offsets = lines
    return BatchOffsets(
        metadata, [(i, _SOURCE_ID.sub("", o, count=1)) for i, o in enumerate(offsets) if _has_offset(o)]
    )


def parse_offset(text: str) -> Any:
    """Return the JSON *text* of an offset; None if it is something else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_ours(document: Any) -> bool:
    """Return whether *document*, parsed JSON, has the form of an offset of our source, of any version."""
    return isinstance(document, dict) and "streams" in document and "version" in document


def _has_offset(line: str) -> bool:
    return line.rpartition(":")[2].strip() not in ("", _NONE)


def _numbers(names: Iterable[str]) -> set[int]:
    return {int(name) for name in names if name.isascii() and name.isdigit()}
