"""Chooses records by key, by a program of jq over their payload, and by shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import compress
from typing import TYPE_CHECKING, Annotated, Any

from attrs import define, field, frozen
from cyclopts import Parameter

from kinesis_cli.completing import completed, consumer_names, shard_ids
from kinesis_cli.ending import UsageError
from kinesis_cli.output import show_bytes, show_number
from kinesis_cli.records.programs import Program
from kinesis_cli.shard_ids import full_shard_id

if TYPE_CHECKING:
    from kinesis_core import Stream, UserRecord
    from kinesis_core.model import Shard


@define
class Chosen:
    """Chosen shards, and the stream's shards when reading began."""

    shard_ids: frozenset[str]
    shards: Mapping[str, Shard]
    _seen: set[str] = field(factory=set, init=False)

    @staticmethod
    def parse(texts: Iterable[str], stream: Stream) -> Chosen:
        """
        Return the shards of *stream* that *texts* name: whole ids, or the numbers in them.

        Raises:
            UsageError: The stream has no such shard.
        """
        shards = {shard.shard_id: shard for shard in stream.shards()}
        ids = set(map(full_shard_id, texts))
        for shard_id in sorted(ids - set(shards)):
            raise UsageError(
                f"Stream {stream.name} has no shard {shard_id}. It has {len(shards)}: 'kinesis shards {stream.name}' lists them."
            )
        return Chosen(frozenset(ids), shards)

    def have_ended(self, offset: Mapping[str, Any]) -> bool:
        """Return whether all of them are read to their end at *offset*, which comes after those that were given before."""
        from kinesis_core.model import Offset

        (stream,) = Offset.from_json(offset).streams.values()
        self._seen |= set(stream.shards)
        unfinished = set(stream.shards) - stream.finished()
        return not any(self._is_to_come(shard_id, unfinished) for shard_id in self.shard_ids)

    def _is_to_come(self, shard_id: str, unfinished: set[str]) -> bool:
        """An offset has no shard that is finished, or that waits for its ancestors."""
        from kinesis_core.model import ancestors

        if shard_id in unfinished:
            return True
        if shard_id in self._seen:
            return False
        return self.shards[shard_id].is_open or bool(unfinished & ancestors([shard_id], self.shards))


@Parameter(name="*")
@frozen(kw_only=True)
class Wanted:
    """The options of every command that shows or writes some of a stream's records."""

    key: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = ()
    "Only records with this partition key. May be repeated."
    shard: Annotated[tuple[str, ...], Parameter(negative="", show_default=False), completed(shard_ids)] = ()
    "Only records of this shard: its id, or its number. May be repeated."
    where: str | None = None
    "Only records for whose payload this program of jq is true, such as `'.total > 9'`."
    efo: Annotated[str | None, completed(consumer_names)] = None
    "Read by enhanced fan-out, as this consumer. It is registered if it does not exist, and removed at the end."
    consumer_tags: str | None = None
    "The tags of this consumer, if it is registered: `team=orders,stage=test`. One that exists keeps its own."


ALL = Wanted()


@define
class Choice:
    """Which records are wanted."""

    keys: frozenset[str] = frozenset()
    """No record has another key. If it is empty, all keys are wanted."""
    where: Program | None = None
    shards: tuple[str, ...] = ()
    """Ids or numbers. If it is empty, all shards are read."""

    @classmethod
    def parse(cls, wanted: Wanted) -> Choice:
        """
        Return the choice of the records that the options want.

        Raises:
            UsageError: `--where` is not a program of jq.
        """
        where = None if wanted.where is None else Program.parse(wanted.where, "--where")
        return cls(frozenset(wanted.key), where, wanted.shard)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run *where* in this block, in which records can be chosen."""
        with self.where or nullcontext():
            yield

    @property
    def notes(self) -> list[str]:
        """What to tell of the records to which *where* could not be applied. Nothing of their payloads is in it."""
        if self.where is None:
            return []
        not_json, failed = self.where.not_json, self.where.failed
        notes = []
        if not_json:
            notes.append(f"Left out, because not JSON: {show_number(not_json, 'record')}.")
        if failed:
            notes.append(
                f"Left out, because --where failed: {show_number(failed, 'record')}. To see why, run jq on what '-o raw' writes."
            )
        return notes

    def of(self, records: list[UserRecord]) -> list[UserRecord]:
        """Return those of *records* that are wanted."""
        if self.keys:
            records = [record for record in records if record.partition_key in self.keys]
        if self.where is not None and records:
            records = list(compress(records, self.where.are_true([record.data for record in records])))
        return records


@define
class RecordCounts:
    """How many records there were, and how large their payloads."""

    records: int = 0
    size_bytes: int = 0

    def add(self, records: Sequence[UserRecord]) -> None:
        self.records += len(records)
        self.size_bytes += sum(len(record.data) for record in records)

    def __str__(self) -> str:
        return f"{show_number(self.records, 'record')} ({show_bytes(self.size_bytes)})"
