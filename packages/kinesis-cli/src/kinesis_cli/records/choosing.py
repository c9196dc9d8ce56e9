"""Chooses records by key, by an expression of jq over their payload, and by shard."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from attrs import define, field, frozen
from cyclopts import Parameter

from kinesis_cli.ending import UsageError
from kinesis_cli.output import show_bytes

if TYPE_CHECKING:
    from kinesis_core import ListedShard, UserRecord

_DIGITS = 12
"""A shard id has at least so many."""


@Parameter(name="*")
@frozen(kw_only=True)
class Wanted:
    """The options of every command that shows or writes some of a stream's records."""

    key: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = ()
    "Only records with this partition key. May be repeated."
    shard: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = ()
    "Only records of this shard: its id, or its number. May be repeated."
    where: str | None = None
    "Only records for whose payload this program of jq is true, such as `'.total > 9'`."
    efo: str | None = None
    "Read by enhanced fan-out, as this consumer. It is registered if it does not exist, and removed at the end."


ALL = Wanted()


@define
class Choice:
    """
    Which records are wanted.

    Attributes:
        skipped: The records that *where* could not be applied to, because their payload is not JSON.
    """

    keys: frozenset[str]
    where: Any = None
    """A compiled program of jq."""
    skipped: int = field(default=0, init=False)

    @classmethod
    def parse(cls, keys: Iterable[str], where: str | None) -> Choice:
        """
        Return the choice of records with one of *keys*, if there are any, for which *where* is true, if given.

        Raises:
            UsageError: *where* is not a program of jq.
        """
        return cls(frozenset(keys), None if where is None else compile_jq(where, "--where"))

    @property
    def is_all(self) -> bool:
        """Whether every record is wanted."""
        return not self.keys and self.where is None

    @property
    def skipped_note(self) -> str:
        """What to tell of the records that *where* could not be applied to."""
        if self.skipped == 1:
            return "--where was not applied to 1 record: its payload is not JSON that the program takes."
        return f"--where was not applied to {self.skipped:,} records: their payloads are not JSON that the program takes."

    def of(self, records: list[UserRecord]) -> list[UserRecord]:
        """Return those of *records* that are wanted."""
        if self.keys:
            records = [record for record in records if record.partition_key in self.keys]
        if self.where is not None:
            records = [record for record in records if self._is_true(record.data)]
        return records

    def _is_true(self, data: bytes) -> bool:
        try:
            results = iter(self.where.input_text(data.decode()))
            return any(result is not None and result is not False for result in results)
        except ValueError:  # not JSON, or of a type that the program cannot take
            self.skipped += 1
            return False


@define
class Counts:
    """How many records there were, and how large their payloads."""

    records: int = 0
    size_bytes: int = 0

    def add(self, records: Sequence[UserRecord]) -> None:
        self.records += len(records)
        self.size_bytes += sum(len(record.data) for record in records)

    def __str__(self) -> str:
        what = f"{self.records:,} record{'s' * (self.records != 1)}"
        return f"{what} ({show_bytes(self.size_bytes)})"


def compile_jq(program: str, option: str) -> Any:
    """
    Return the compiled program of jq.

    Raises:
        UsageError: It is not one. The message names *option*.
    """
    import jq

    try:
        return jq.compile(program)
    except ValueError as error:
        reason = str(error).partition("\n")[0].removeprefix("jq: ")
        raise UsageError(
            f"{option} accepts a program of jq, such as '.total > 9'; got '{program}': {reason}"
        ) from error


def parse_shards(texts: Sequence[str], shards: Collection[ListedShard], stream: str) -> frozenset[str]:
    """
    Return the ids of the shards that *texts* name: whole ids, or the numbers in them.

    Raises:
        UsageError: The stream has no such shard.
    """
    known = {shard.shard_id for shard in shards}
    ids = {f"shardId-{int(text):0{_DIGITS}d}" if text.isdecimal() else text for text in texts}
    for shard_id in sorted(ids - known):
        raise UsageError(
            f"Stream {stream} has no shard {shard_id}. It has {len(known)}: 'kinesis shards {stream}' lists them."
        )
    return frozenset(ids)
