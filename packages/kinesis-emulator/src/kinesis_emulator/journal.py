"""
A file with one line for each change of a stream. Acknowledged changes survive a `kill -9`.

Each line is written before its change is made and acknowledged. The operating system gets it at once, but it is not
forced to the disk: it survives the process, and not a power failure. When much of the file is about records that are
gone, `snapshot` writes the file again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kinesis_emulator.consumers import Consumer

FILE = "streams.journal"
_HEAD = b"kinesis-emulator 1\n"
_LEAST_BYTES = 8 * 1024 * 1024
_STREAM_FACTS = (
    *("name", "region", "account_id", "created_ms", "mode", "max_record_kib", "encryption", "strategy"),
    "retention_hours",
)
Write = Callable[[bytes], object]
"""Writes one line."""


def facts_of(stream: object) -> dict[str, Any]:
    """Return the fields of a `Stream` that the journal keeps, by name."""
    return {name: getattr(stream, name) for name in _STREAM_FACTS}


class Journal:
    """
    The journal file in *folder*. Both are created if they do not exist.

    Args:
        least_bytes: The file is written again when it grows by this beyond twice its size after the last rewrite.

    Raises:
        ValueError: The file is not a journal, or it has another version.
    """

    def __init__(self, folder: Path, least_bytes: int = _LEAST_BYTES) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        self._lock = threading.Lock()
        is_new = not self.path.exists()
        if not is_new:
            self._check_head()
        self._file = self.path.open("ab", buffering=0)
        if is_new:
            self._file.write(_HEAD)
        self._least_bytes = least_bytes
        self._bytes = self.path.stat().st_size
        self._bytes_rewritten = 0
        self._last_stream = 0

    @property
    def is_due(self) -> bool:
        """Whether the file has grown enough to be written again."""
        return self._bytes > self._least_bytes + 2 * self._bytes_rewritten

    def _check_head(self) -> None:
        with self.path.open("rb") as written:
            if written.readline() != _HEAD:
                raise ValueError(f"{self.path} is not a journal that this version of the emulator can read.")

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file. A line that a kill cut short was never acknowledged, and is removed."""
        with self.path.open("rb") as written:
            whole = len(written.readline())
            for line in written:
                if line.endswith(b"\n"):
                    whole += len(line)
                    yield line
        self._file.truncate(whole)

    def log_of(self, stream_id: int | None = None) -> StreamLog:
        """Return the log of the stream with that id, or of a new stream."""
        with self._lock:
            number = self._last_stream + 1 if stream_id is None else stream_id
            self._last_stream = max(self._last_stream, number)
        return StreamLog(self.write, number)

    def write(self, line: bytes) -> None:
        with self._lock:
            if self._file.write(line) != len(line):
                raise OSError(f"{self.path} took only a part of a line; is the disk full?")
            self._bytes += len(line)

    def rewrite(self, fill: Callable[[Write, int], object]) -> None:
        """
        Replace all lines by those that *fill* writes. *fill* gets the highest stream id so far.

        After a kill either the old or the new file is complete. The caller ensures that no other change is written
        meanwhile.
        """
        fresh = self.path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(_HEAD)
            fill(file.write, self._last_stream)
        with self._lock:
            self._file.close()
            fresh.replace(self.path)
            self._file = self.path.open("ab", buffering=0)
            self._bytes = self._bytes_rewritten = self.path.stat().st_size

    def close(self) -> None:
        self._file.close()


class StreamLog:
    """Writes the changes of one stream. The caller holds the stream's lock."""

    def __init__(self, write: Write, stream_id: int) -> None:
        self._write_line = write
        self.stream_id = stream_id

    def created(self, facts: Mapping[str, Any], shards: int, opened_s: int) -> None:
        self._write("created", facts=facts, shards=shards, opened_s=opened_s)

    def deleted(self) -> None:
        self._write("deleted")

    def put(self, shard_index: int, size: int, arrived_ms: int, fragment: bytes) -> None:
        """Write a record. This is the only line that is not JSON as a whole, because there are so many of them."""
        self._write_line(b"P %d %d %d %d %b\n" % (self.stream_id, shard_index, size, arrived_ms, fragment))

    def resharded(
        self, hash_ranges: Sequence[tuple[int, int]], parents: list[int], opened_s: int, now_ms: int
    ) -> None:
        ranges = [list(hash_range) for hash_range in hash_ranges]
        self._write("resharded", ranges=ranges, parents=parents, opened_s=opened_s, now_ms=now_ms)

    def retained(self, hours: int, now_ms: int) -> None:
        self._write("retained", hours=hours, now_ms=now_ms)

    def trimmed(self, shard_index: int, record_index: int) -> None:
        self._write("trimmed", shard=shard_index, place=record_index)

    def freed(self, shard_index: int, record_index: int, peak_ms: int) -> None:
        """Write that all records before *record_index* are gone. *peak_ms* is their highest arrival time."""
        self._write("freed", shard=shard_index, place=record_index, peak_ms=peak_ms)

    def history(self, opened_s: int) -> None:
        """Write what deleted streams have used up: stream ids, and the seconds in which shards were opened."""
        self._write("history", opened_s=opened_s)

    def sized(self, max_record_kib: int) -> None:
        self._write("sized", max_record_kib=max_record_kib)

    def distributed(self, strategy: str) -> None:
        self._write("distributed", strategy=strategy)

    def registered(self, consumer: Consumer) -> None:
        self._write(
            "registered", name=consumer.name, created_s=consumer.created_s, active_ms=consumer.active_ms
        )

    def deregistered(self, name: str, gone_ms: int) -> None:
        self._write("deregistered", name=name, gone_ms=gone_ms)

    def _write(self, what: str, **facts: Any) -> None:
        entry = {"stream": self.stream_id, "what": what, **facts}
        self._write_line(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
