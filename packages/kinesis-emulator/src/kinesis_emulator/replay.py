"""Restores streams from a journal."""

from __future__ import annotations

import json
from typing import Any

from kinesis_emulator.consumers import Consumer
from kinesis_emulator.journal import Journal
from kinesis_emulator.store import Store, Stream, even_ranges


def replay(journal: Journal, *, keep_trimmed: bool) -> Store:
    """Return a store with the journal's streams. It writes its changes to the journal."""
    restored = _Replay(keep_trimmed)
    for line in journal.lines():
        if line.startswith(b"P "):
            restored.put(line)
        else:
            restored.change(json.loads(line))
    for stream_id, stream in restored.streams.items():
        stream.log = journal.log_of(stream_id)
    journal.log_of(restored.last_stream_id)
    return Store(journal, restored.streams.values(), restored.last_opened_s)


class _Replay:
    """The streams after the lines read so far, by their ids in the journal."""

    def __init__(self, keep_trimmed: bool) -> None:
        self.streams: dict[int, Stream] = {}
        self.last_stream_id = 0
        self.last_opened_s = 0
        self._keep_trimmed = keep_trimmed

    def put(self, line: bytes) -> None:
        _, stream_id, shard, size, arrived_ms, fragment = line.rstrip(b"\n").split(b" ", 5)
        stream = self.streams.get(int(stream_id))
        if stream is not None:  # else it was deleted while the record was put
            with stream.lock:
                stream.shards[int(shard)].append(fragment, int(size), int(arrived_ms))

    def change(self, entry: dict[str, Any]) -> None:
        stream_id = entry["stream"]
        self.last_opened_s = max(self.last_opened_s, entry.get("opened_s", 0))
        self.last_stream_id = max(self.last_stream_id, stream_id)
        if entry["what"] == "created":
            stream = self.streams[stream_id] = Stream(**entry["facts"])
            stream.open_shards_in(even_ranges(entry["shards"]), (), entry["opened_s"], stream.created_ms)
        elif entry["what"] == "deleted":
            self.streams.pop(stream_id, None)
        elif stream_id in self.streams:
            with self.streams[stream_id].lock:
                self._change(self.streams[stream_id], entry)

    def _change(self, stream: Stream, entry: dict[str, Any]) -> None:
        match entry:
            case {"what": "resharded", "ranges": ranges, "parents": parents}:
                closed = tuple(stream.shards[index] for index in parents)
                hash_ranges = [(start, end) for start, end in ranges]
                stream.open_shards_in(hash_ranges, closed, entry["opened_s"], entry["now_ms"])
            case {"what": "retained", "hours": hours, "now_ms": now_ms}:
                stream.retain(hours, now_ms, keep=self._keep_trimmed)
            case {"what": "freed", "shard": index, "place": record_index, "peak_ms": peak_ms}:
                stream.shards[index].start_at(record_index, peak_ms)
            case {"what": "trimmed", "shard": index, "place": record_index}:
                stream.shards[index].trim_to(record_index, keep=self._keep_trimmed)
            case {"what": "sized", "max_record_kib": size}:
                stream.resize_records(size)
            case {"what": "distributed", "strategy": strategy}:
                stream.distribute(strategy)
            case {"what": "registered", "name": name, "created_s": created_s, "active_ms": active_ms}:
                stream.consumers.restore(Consumer(name, stream.arn, created_s, active_ms))
            case {"what": "deregistered", "name": name, "gone_ms": gone_ms}:
                stream.consumers.restore_end(name, gone_ms)
            case _:
                raise ValueError(f"The journal has a line of an unknown kind: {entry['what']}.")
