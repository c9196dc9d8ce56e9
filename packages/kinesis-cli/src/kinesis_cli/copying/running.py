"""Copies batch after batch, writes the records, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from attrs import define, field

from kinesis_cli.copying.parts import CopyPart
from kinesis_cli.copying.state import StateFile
from kinesis_cli.ending import CommandError, IncompleteError, Status
from kinesis_cli.file_errors import FileError
from kinesis_cli.output import ProgressLine, show_count, show_number
from kinesis_cli.putting import PutCounts, PutsColumns, show_counts
from kinesis_cli.stopping import StoppedError, Stopping
from kinesis_cli.wording import in_words_of_commands
from kinesis_core import DataLossError, KinesisError, OptionError, Producer, PutError, Totals, UserRecord

_SHOWN = 10
"""Records with their own note. The others are counted."""


@define
class CopyWriter:
    """Puts records with their keys, and counts them."""

    producer: PutsColumns
    note: Callable[[str], None]
    """Shows a line to the user."""
    counts: PutCounts = field(factory=PutCounts)

    def write(self, records: Sequence[UserRecord]) -> None:
        """
        Put *records*. Those that cannot be written are counted and named, never shown.

        Raises:
            PutError: Earlier records could not be written.
        """
        hash_keys = [record.explicit_hash_key for record in records]
        self.counts.put_all(
            self.producer,
            [record.data for record in records],
            [record.partition_key for record in records],
            hash_keys if any(hash_keys) else None,
            lambda index, reason: self._refuse(records[index], reason),
        )

    def _refuse(self, record: UserRecord, reason: str) -> None:
        self.counts.not_written += 1
        if self.counts.not_written <= _SHOWN:
            self.note(f"record {record.sequence_number} of {record.shard_id} {reason}")


T = TypeVar("T")


@define
class _Outcome:
    """What has happened so far."""

    totals: Totals = field(factory=Totals)
    failure: KinesisError | FileError | None = None


def copy_parts(
    parts: Iterator[CopyPart],
    writer: CopyWriter,
    producer: Producer,
    progress: ProgressLine,
    stopping: Stopping,
    file: StateFile | None = None,
    *,
    as_json: bool = False,
) -> Status | None:
    """
    Write the records of all *parts*, close *producer*, and return the exit status. After each part *file* is saved.

    The last line on the standard error has the counts. *as_json* replaces it by an object on the standard output.

    Raises:
        OptionError: The copy begins after its end, or in the future.
        CommandError: Records could not be read or written. What was read before is written, unless writing fails.
    """
    outcome = _Outcome()
    try:
        try:
            for part in _stoppable(parts, stopping):
                for records in _stoppable(part.batch.record_lists(), stopping):
                    writer.write(records)
                    progress.show(writer.counts.put, writer.counts.put_bytes)
                outcome.totals += producer.flush()
                if file is not None:
                    file.save(part.batch.offset, part.reached_ms)
        except StoppedError:
            pass
        except PutError:
            raise
        except (KinesisError, FileError) as error:
            outcome.failure = error
        outcome.totals += producer.flush()
    except PutError as error:
        outcome.totals += producer.close()
        show_counts(writer.counts, producer.stream, outcome.totals, as_json=as_json)
        raise _not_written(error, writer, outcome.totals) from error
    producer.close()
    if isinstance(outcome.failure, OptionError) and not outcome.totals.user_records:
        raise outcome.failure
    text = _summary(writer, outcome.totals, producer.stream) + (", stopped" if stopping.status else "")
    show_counts(writer.counts, producer.stream, outcome.totals, text, as_json=as_json)
    if outcome.failure is not None:
        kind = IncompleteError if isinstance(outcome.failure, DataLossError) else _kind(outcome.totals)
        raise kind(
            f"{in_words_of_commands(outcome.failure)} The records that were read before are written."
        ) from outcome.failure
    return stopping.status or (Status.INCOMPLETE if writer.counts.not_written else None)


def _stoppable(items: Iterator[T], stopping: Stopping) -> Iterator[T]:
    """Yield *items*. A signal breaks off the wait for the next one."""
    while True:
        with stopping.waiting():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def _summary(writer: CopyWriter, totals: Totals, stream: str) -> str:
    parts = [f"{show_number(totals.user_records, 'record')} copied to {stream}"]
    if writer.counts.not_written:
        parts.append(f"{show_count(writer.counts.not_written)} not written")
    if again := totals.resent + totals.misplaced:
        parts.append(f"{show_count(again)} sent again, which may be in the stream twice")
    return ", ".join(parts)


def _kind(totals: Totals) -> type[CommandError]:
    return IncompleteError if totals.user_records else CommandError


def _not_written(error: PutError, writer: CopyWriter, totals: Totals) -> CommandError:
    """Return the error for a producer that has failed."""
    missing = writer.counts.put - totals.user_records
    return _kind(totals)(
        f"{in_words_of_commands(error)} {show_number(totals.user_records, 'record')} copied, and {show_count(missing)} may be missing."
    )
