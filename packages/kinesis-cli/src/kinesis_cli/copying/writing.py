"""Puts records of one stream into another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define

from kinesis_cli.putting import PutsColumns, put_valid
from kinesis_core import UserRecord

_SHOWN = 10
"""Records with a note of their own. The others are counted."""


@define
class RecordWriter:
    """Puts records with their keys, and counts them."""

    producer: PutsColumns
    note: Callable[[str], None]
    """Shows a line to the user."""
    put: int = 0
    """Records that were given to the producer."""
    put_bytes: int = 0
    not_written: int = 0

    def write(self, records: Sequence[UserRecord]) -> None:
        """
        Put *records*. Those that cannot be written are counted and named, never shown.

        Raises:
            PutError: Earlier records could not be written.
        """
        data = [record.data for record in records]
        keys = [record.partition_key for record in records]
        hash_keys = [record.explicit_hash_key for record in records]
        before = self.not_written
        try:
            put_valid(
                self.producer,
                data,
                keys,
                hash_keys if any(hash_keys) else None,
                lambda index, reason: self._refuse(records[index], reason),
            )
        finally:  # after an error some may be written, and some not
            self.put += len(records) - (self.not_written - before)
            self.put_bytes += sum(map(len, data))

    def _refuse(self, record: UserRecord, reason: str) -> None:
        self.not_written += 1
        if self.not_written <= _SHOWN:
            self.note(f"record {record.sequence_number} of {record.shard_id} {reason}")
