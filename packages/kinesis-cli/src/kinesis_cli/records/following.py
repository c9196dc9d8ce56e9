"""The records of a stream between two points in time, or from one on for ever."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappush, heappushpop
from itertools import chain
from typing import TYPE_CHECKING, Any

from attrs import frozen

from kinesis_cli.ending import UsageError
from kinesis_cli.moments import is_to_come, parse_end, parse_start, refuse_future
from kinesis_cli.output import note
from kinesis_cli.records.choosing import Choice, Chosen

if TYPE_CHECKING:
    from kinesis_core import AtTimestamp, Batch, EndingPosition, StartingPosition, Stream, UserRecord

_LOOK_BACK_MS = (10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000)
"""How far the search for the last records goes back, step by step. The last step is the whole stream."""
_NEAR_MS = 3_600_000
"""Each step starts at least so long after the oldest records: these may expire while later ones are read."""


@frozen(kw_only=True)
class Span:
    """
    Which time of a stream is read.

    Attributes:
        last: How many of the last records are shown first. None: all since *since*.
        follow: Whether to wait for new records at the end.
    """

    last: int | None = None
    since: StartingPosition | None = None
    until: EndingPosition | None = None
    follow: bool = True

    @classmethod
    def parse(cls, last: int | None, since: str | None, until: str | None, follow: bool, now_ms: int) -> Span:
        """
        Return the span that these options name.

        Raises:
            UsageError: An option has a wrong value, nothing can be in the span, or it ends in the future without being awaited.
        """
        if last is not None and last < 0:
            raise UsageError(f"-n is {last}. Use 0 or more records.")
        end = None if until is None else parse_end(until, "--until", now_ms)
        if not follow:
            refuse_future(end, until, now_ms, "`kinesis tail` waits for it, without --no-follow.")
        begin = None if since is None else parse_start(since, "--since", now_ms)
        span = cls(last=last, since=begin, until=end, follow=follow)
        if last is None and since is None and not span.waits_at(now_ms):
            option = f"--until {until}" if follow else "--no-follow"
            raise UsageError(f"{option} shows nothing without --since or -n. Add one of them.")
        return span

    def waits_at(self, now_ms: int) -> bool:
        """Return whether records that come after *now_ms* are in the span."""
        return self.follow and (self.until is None or is_to_come(self.until, now_ms))


def record_lists(stream: Stream, span: Span, choice: Choice) -> Iterator[list[UserRecord]]:
    """
    Yield the wanted records in lists, by arrival time as far as Kinesis' times are exact, and without waiting for more.

    The last records of a span that has ended are all that is yielded, however many come in the meantime. When all chosen shards
    have ended, so does this.

    Raises:
        UsageError: The stream has not all of the chosen shards.
    """
    now_ms = stream.now_ms()
    chosen = Chosen.parse(choice.shards, stream) if choice.shards else None
    start: Any = "LATEST" if span.last is not None else span.since or "LATEST"
    if span.last:
        records, start = _last_records(stream, span, span.last, choice, chosen, now_ms)
        yield records
    if span.last is not None and not span.waits_at(now_ms):
        return
    for batch in _batches(stream, start, span, now_ms, in_two=chosen is not None):
        part = batch.of_shards(chosen.shard_ids) if chosen else batch
        for records in part.record_lists(by_arrival=True):
            if wanted := choice.of(records):
                yield wanted
        if chosen is not None and chosen.have_ended(batch.offset):
            note("The shards have ended. Their children, and all other shards, were not read.")
            return


def _batches(stream: Stream, start: Any, span: Span, now_ms: int, *, in_two: bool) -> Iterable[Batch]:
    """Return the batches. With *in_two* the first one has all that is there, so that its offset names all that is not finished."""
    from kinesis_core import AtTimestamp

    if not span.waits_at(now_ms):
        return [stream.read(start, span.until or "LATEST")]
    until = span.until if isinstance(span.until, AtTimestamp) else None
    return _in_two(stream, start, until) if in_two else stream.follow(start, until)


def _in_two(stream: Stream, start: Any, until: AtTimestamp | None) -> Iterator[Batch]:
    first = stream.read(start)
    yield first
    yield from stream.follow(first.offset, until)


def _last_records(
    stream: Stream, span: Span, last: int, choice: Choice, chosen: Chosen | None, now_ms: int
) -> tuple[list[UserRecord], dict[str, Any]]:
    """
    Return the *last* wanted records before now, by arrival time over all shards, and the offset after them.

    The search goes back step by step, and reads no record twice.
    """
    found: list[UserRecord] = []
    offset: dict[str, Any] = {}
    for start, end in _steps_back(stream, span, now_ms):
        batch = stream.read(start, end)
        offset = offset or batch.offset  # of the newest step
        part = batch.of_shards(chosen.shard_ids) if chosen else batch
        wanted = map(choice.of, part.record_lists(by_arrival=True))
        count = last - len(found)
        found = [*(_last_in_order if part.is_merged else _last_by_time)(wanted, count), *found]
        if len(found) == last:
            break
    return found, offset


def _steps_back(stream: Stream, span: Span, now_ms: int) -> Iterator[tuple[StartingPosition, EndingPosition]]:
    """Yield spans of time, each before the one before it. None of them starts at a time that has expired, but one of the user."""
    from kinesis_core import AtTimestamp, Latest, TrimHorizon

    end: EndingPosition = Latest()
    if isinstance(span.until, AtTimestamp) and not is_to_come(span.until, now_ms):
        end = span.until
    if span.since is None:
        last_ms = end.epoch_ms if isinstance(end, AtTimestamp) else now_ms
        oldest_ms = stream.certain_from_ms() + _NEAR_MS
        for back_ms in _LOOK_BACK_MS:
            start = AtTimestamp(max(0, last_ms - back_ms))
            if start.epoch_ms < oldest_ms:
                break
            yield start, end
            end = start
    yield span.since or TrimHorizon(), end


def _last_in_order(lists: Iterable[Sequence[UserRecord]], count: int) -> Iterable[UserRecord]:
    return deque(chain.from_iterable(lists), maxlen=count)


def _last_by_time(lists: Iterable[Sequence[UserRecord]], count: int) -> Iterable[UserRecord]:
    """Return the last records of *lists*, which come shard after shard. Those of one shard stay in their order."""
    kept: list[tuple[int, int, UserRecord]] = []
    latest: dict[str, int] = {}
    for number, record in enumerate(chain.from_iterable(lists)):
        time_ms = max(latest.get(record.shard_id, 0), record.arrived_ms or 0)
        latest[record.shard_id] = time_ms
        (heappush if len(kept) < count else heappushpop)(kept, (time_ms, number, record))
    return [record for _, _, record in sorted(kept)]
