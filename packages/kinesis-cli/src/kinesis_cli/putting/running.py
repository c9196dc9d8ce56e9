"""Reads and puts at the wanted pace until there are no more lines, and says what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from attrs import define

from kinesis_cli.ending import CommandError, IncompleteError, Status
from kinesis_cli.output import ProgressLine, show_count, show_number
from kinesis_cli.putting.lines import LineRows
from kinesis_cli.putting.writing import LineCounts, RowWriter, name_places, show_counts
from kinesis_cli.stopping import StoppedError, Stopping
from kinesis_cli.wording import in_words_of_commands
from kinesis_core import Producer, PutError, Totals

_PARTS = 10
"""Of a second's records: so even is the rate."""


@define
class PutPace:
    """At most *rate* records a second. Time that passes without records gives no credit."""

    rate: float
    _due_s: float = 0.0

    @property
    def part(self) -> int:
        """Records to send at a time."""
        return max(1, int(self.rate / _PARTS))

    def wait_s(self, records: int, now_s: float) -> float:
        """Return how long to wait before *records* more records are sent. It counts them."""
        start_s = max(self._due_s, now_s)
        self._due_s = start_s + records / self.rate
        return start_s - now_s


def put_rows(
    rows: Iterator[LineRows],
    writer: RowWriter,
    producer: Producer,
    progress: ProgressLine,
    stopping: Stopping,
    pace: PutPace | None = None,
    *,
    tells_packing: bool = False,
    as_json: bool = False,
) -> Status | None:
    """
    Put all *rows*, close *producer*, and return the exit status. The last line on the standard error has the counts.

    With *tells_packing* it also says that records were aggregated. *as_json* replaces the line by an object on the standard output.

    Raises:
        CommandError: Records could not be written, or a file could not be read. What was put before is flushed.
    """
    failure: CommandError | None = None
    try:
        try:
            for part in _paced(rows, pace, stopping):
                writer.write(part)
                progress.show(writer.counts.put, writer.counts.put_bytes)
        except StoppedError:
            pass
        except CommandError as error:  # of a file
            failure = error
        totals = producer.flush()
    except PutError as error:
        totals = producer.close()
        show_counts(writer.counts, producer.stream, totals, as_json=as_json)
        raise _not_written(error, writer.counts, totals.user_records) from error
    producer.close()
    if failure is not None and not (totals.user_records or writer.counts.not_written):
        raise failure
    summary = writer.counts.summary(producer.stream, totals.user_records, totals.resent + totals.misplaced)
    stopped = _stopped_at(writer.counts) if stopping.status else ""
    text = f"{summary}{stopped}{_packed(totals) if tells_packing else ''}"
    show_counts(writer.counts, producer.stream, totals, text, as_json=as_json)
    if failure is not None:
        raise IncompleteError(f"{failure} The records that were read before are written.") from failure
    return stopping.status or (Status.INCOMPLETE if writer.counts.not_written else None)


def _paced(rows: Iterator[LineRows], pace: PutPace | None, stopping: Stopping) -> Iterator[LineRows]:
    if pace is None:
        yield from rows
        return
    for each in rows:
        yield each.without_data()
        for part in each.parts(pace.part):
            with stopping.waiting():
                time.sleep(pace.wait_s(len(part.data), time.monotonic()))
            yield part


def _packed(totals: Totals) -> str:
    """Return how records were packed: who reads them with another tool has to unpack them."""
    if totals.records >= totals.user_records:
        return ""
    return f", aggregated into {show_number(totals.records, 'record')} of Kinesis (--no-aggregate writes plain records)"


def _stopped_at(counts: LineCounts) -> str:
    return f", stopped after {name_places([counts.last])}" if counts.last else ", stopped"


def _not_written(error: PutError, counts: LineCounts, written: int) -> CommandError:
    """Return the error for a producer that has failed after *written* records were written."""
    kind = IncompleteError if written else CommandError
    where = f" Reading stopped after {name_places([counts.last])}." if counts.last else ""
    return kind(
        f"{in_words_of_commands(error)} {show_count(written)} records were written, and {show_count(counts.put - written)} may be missing."
        f"{where}"
    )
