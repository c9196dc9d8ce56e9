"""
Everything that changes streams, line by line in a file: what was acknowledged outlives a `kill -9`.

Each line is written before its change is made and before anybody hears of it. A line is handed to the operating
system at once but not forced to the disk, so it outlives the process and not a power failure. When much of the file
is of records that are gone, it is written anew, as `snapshot` has it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinesis_emulator.consumers import Consumer
    from kinesis_emulator.store import Stream

FILE = "streams.journal"
_HEAD = b"kinesis-emulator 1\n"
_LEAST_BYTES = 8 * 1024 * 1024
Write = Callable[[bytes], object]
"""Takes a line."""


class Journal:
    """
    The file in *folder*, both made when they are not there.

    Args:
        least_bytes: How much it may grow beyond twice what it held when it was last written anew.

    Raises:
        ValueError: The file is not a journal, or one of another version.
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
        self._bytes_anew = 0
        self._last_stream = 0

    @property
    def is_due(self) -> bool:
        """Whether it has grown so much that it pays to write it anew."""
        return self._bytes > self._least_bytes + 2 * self._bytes_anew

    def _check_head(self) -> None:
        with self.path.open("rb") as written:
            if written.readline() != _HEAD:
                raise ValueError(f"{self.path} is not a journal that this version of the emulator can read.")

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that are there; one that a kill cut short was never acknowledged, and is dropped."""
        with self.path.open("rb") as written:
            whole = len(written.readline())
            for line in written:
                if line.endswith(b"\n"):
                    whole += len(line)
                    yield line
        self._file.truncate(whole)

    def log_of(self, stream_id: int | None = None) -> StreamLog:
        """Return the log of a stream: of the one with that id, or of a new one."""
        with self._lock:
            number = self._last_stream + 1 if stream_id is None else stream_id
            self._last_stream = max(self._last_stream, number)
        return StreamLog(self.write, number)

    def write(self, line: bytes) -> None:
        with self._lock:
            if self._file.write(line) != len(line):
                raise OSError(f"{self.path} took only a part of a line; is the disk full?")
            self._bytes += len(line)

    def write_anew(self, fill: Callable[[Write, int], object]) -> None:
        """
        Replace all lines by those that *fill* writes, given the highest id of a stream. A kill leaves the old or the new.

        The caller sees to it that meanwhile nothing is written that is to stay.
        """
        fresh = self.path.with_suffix(".anew")
        with fresh.open("wb") as file:
            file.write(_HEAD)
            fill(file.write, self._last_stream)
        with self._lock:
            self._file.close()
            fresh.replace(self.path)
            self._file = self.path.open("ab", buffering=0)
            self._bytes = self._bytes_anew = self.path.stat().st_size

    def close(self) -> None:
        self._file.close()


class StreamLog:
    """Writes what happens to one stream; the caller holds the stream's lock."""

    def __init__(self, write: Write, stream_id: int) -> None:
        self._write_line = write
        self.stream_id = stream_id

    def created(self, stream: Stream, shards: int, opened_s: int) -> None:
        facts = {
            "name": stream.name,
            "region": stream.region,
            "account_id": stream.account_id,
            "created_ms": stream.created_ms,
            "mode": stream.mode,
            "max_record_kib": stream.max_record_kib,
            "encryption": stream.encryption,
            "strategy": stream.strategy,
            "retention_hours": stream.retention_hours,
        }
        self._write("created", facts=facts, shards=shards, opened_s=opened_s)

    def deleted(self) -> None:
        self._write("deleted")

    def put(self, shard_index: int, size: int, arrived_ms: int, fragment: bytes) -> None:
        """The one line that is not JSON as a whole: there are many of it."""
        self._write_line(b"P %d %d %d %d %b\n" % (self.stream_id, shard_index, size, arrived_ms, fragment))

    def resharded(
        self, hash_ranges: Sequence[tuple[int, int]], parents: list[int], opened_s: int, now_ms: int
    ) -> None:
        ranges = [list(hash_range) for hash_range in hash_ranges]
        self._write("resharded", ranges=ranges, parents=parents, opened_s=opened_s, now_ms=now_ms)

    def retained(self, hours: int, now_ms: int) -> None:
        self._write("retained", hours=hours, now_ms=now_ms)

    def trimmed(self, shard_index: int, place: int) -> None:
        self._write("trimmed", shard=shard_index, place=place)

    def freed(self, shard_index: int, place: int, peak_ms: int) -> None:
        """All records before *place* are gone, of which the last to arrive did so at *peak_ms*."""
        self._write("freed", shard=shard_index, place=place, peak_ms=peak_ms)

    def history(self, opened_s: int) -> None:
        """What has been used up by streams that are gone: ids of streams, and seconds that shards were opened in."""
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
