"""What a worker did, in an append-only file of its own. It survives that the worker is killed at any moment."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from kinesis_consumer import Batch
from kinesis_core import UserRecord

Position = tuple[int, int]
"""Sequence and sub-sequence number. With the shard, it names one user record."""


def position_of(record: UserRecord) -> Position:
    return int(record.sequence_number), record.sub_sequence_number or 0


@define
class Journal:
    """Writes lines, each with one call, so that none is lost with its process."""

    path: Path
    _file: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._file = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def delivered(self, batch: Batch) -> bool:
        """
        Note the records of a batch, before anything is done with them. Returns False if the batch is no longer ours.

        The time is taken before that question: so at this time no other worker could have the batch.
        """
        now_s = time.monotonic()
        records = [[*position_of(record), int(record.data)] for record in batch.records()]
        if not batch.is_ours:
            return False
        self._write("delivered", batch, now_s, records)
        return True

    def committing(self, batch: Batch) -> None:
        self._write("committing", batch, time.monotonic())

    def committed(self, batch: Batch) -> None:
        self._write("committed", batch, time.monotonic())

    def lost(self, batch: Batch) -> None:
        self._write("lost", batch, time.monotonic())

    def unconfirmed(self, batch: Batch) -> None:
        self._write("unconfirmed", batch, time.monotonic())

    def _write(self, what: str, batch: Batch, now_s: float, records: Any = None) -> None:
        line = json.dumps([what, now_s, batch.shard_id, str(batch.id), records])
        os.write(self._file, line.encode() + b"\n")


@frozen
class Delivery:
    """One time that one worker had one batch."""

    worker: str
    shard_id: str
    batch_id: str
    at_s: float
    records: tuple[Position, ...]
    numbers: tuple[int, ...]
    """What the producer wrote into the records."""
    committing_s: float | None = None
    outcome: str = "dropped"
    """dropped, lost, committed, or that nobody knows: committing (it was killed), or unconfirmed (it was told so)."""


@define
class _Open:
    first: list[Any]
    committing_s: float | None = None
    outcome: str = "dropped"


def read_journal(path: Path) -> list[Delivery]:
    """Return what is in the file of a worker; its name is that of the file."""
    opened: list[_Open] = []
    latest: dict[str, _Open] = {}
    for line in _lines(path):
        what, at_s, _, batch_id, _ = entry = json.loads(line)
        if what == "delivered":
            latest[batch_id] = _Open(entry)
            opened.append(latest[batch_id])
            continue
        latest[batch_id].outcome = what
        if what == "committing":
            latest[batch_id].committing_s = at_s
    return [_delivery(path.stem, each) for each in opened]


def _lines(path: Path) -> Iterable[bytes]:
    """Return the complete lines. A kill may have cut the last one off."""
    return path.read_bytes().split(b"\n")[:-1]


def _delivery(worker: str, found: _Open) -> Delivery:
    _, at_s, shard_id, batch_id, records = found.first
    return Delivery(
        worker,
        shard_id,
        batch_id,
        at_s,
        tuple((number, sub) for number, sub, _ in records),
        tuple(content for _, _, content in records),
        found.committing_s,
        found.outcome,
    )
