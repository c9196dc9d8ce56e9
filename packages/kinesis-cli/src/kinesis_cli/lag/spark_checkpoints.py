"""
Positions in the checkpoint directory of a streaming query: of our source, or of the awslabs, qubole or roncemer connector.

Our source's offset of batch N says where batch N ends. Theirs says where it begins. Where it ends is in files of their own, or in a
table of DynamoDB, which is not read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from kinesis_cli.checkpoints import (
    Batches,
    BatchOffsets,
    CheckpointFolder,
    batches_in,
    is_ours,
    offsets_of,
    parse_offset,
)
from kinesis_cli.ending import CommandError
from kinesis_cli.lag.readings import Position, Reading

if TYPE_CHECKING:
    from kinesis_core import ForeignCheckpoint
    from kinesis_core.model import Offset, StreamOffset

SPARK, AWSLABS, QUBOLE = "spark", "awslabs", "qubole"
_AWSLABS_ONLY = '"subSequenceNumber"'
"""The connector of qubole, and its copy by roncemer, do not count user records."""
_END_FOLDERS = ("shard-source", "shard-commit")
"""Where the awslabs connector and those of qubole and roncemer write the end of a batch."""


def read_checkpoint(folder: CheckpointFolder, stream: str, arn: str) -> list[Reading]:
    """
    Return the positions of a query in *stream*, a name: one for each of its sources that reads it.

    Raises:
        CommandError: It is not a checkpoint directory, it cannot be read, or it has no position in the stream.
    """
    batches, current = batches_in(folder)
    newest = offsets_of(folder, current)
    found: list[Reading] = []
    others: set[str] = set()
    for source, text in newest.sources:
        streams = _streams(folder, batches, newest, source, text)
        mine = [name for name in streams if _is_same(name, stream, arn)]
        others |= set(streams) - set(mine)
        found += [streams[name] for name in mine]
    if not found:
        raise CommandError(_no_position(folder.location, stream, others))
    committed_ms = _committed_ms(folder, batches)
    return _named_apart([evolve(reading, committed_ms=committed_ms) for reading in found])


def _committed_ms(folder: CheckpointFolder, batches: Batches) -> int | None:
    """Return when the last batch was committed, which is when its file was written: Spark writes no time into it."""
    return None if batches.committed is None else folder.written_ms(f"commits/{batches.committed}")


def _named_apart(found: Sequence[Reading]) -> list[Reading]:
    if len(found) == 1:
        return list(found)
    return [
        evolve(reading, reader=f"{reading.reader} ({i} of {len(found)})")
        for i, reading in enumerate(found, 1)
    ]


def _no_position(location: str, stream: str, others: Iterable[str]) -> str:
    names = ", ".join(sorted(others))
    if not names:
        return f"{location} has no offset of a Kinesis source. Give --checkpoint the directory of a query that reads {stream}."
    return f"{location} has no position in {stream}. It has positions in: {names}."


def _is_same(name: str, stream: str, arn: str) -> bool:
    """Return whether *name*, a name or ARN in a checkpoint, is *stream*. A checkpoint without a name (`?`) is believed."""
    return name in ("?", arn) or (name == stream)


def _streams(
    folder: CheckpointFolder, batches: Batches, offsets: BatchOffsets, source: int, text: str
) -> dict[str, Reading]:
    """Return the positions of one source by stream. A source of something else than Kinesis has none."""
    document = parse_offset(text)
    if not isinstance(document, dict):
        return {}
    if is_ours(document):
        return dict(_ours(folder.location, batches, document))
    if any(isinstance(value, dict) and "iteratorType" in value for value in document.values()):
        return _theirs(folder, batches, offsets, source, text)
    return {}


def _ours(location: str, batches: Batches, document: Mapping[str, Any]) -> Iterator[tuple[str, Reading]]:
    from kinesis_core.model import Offset

    offset: Offset = Offset.from_json(document)
    is_new = batches.committed is None
    notes = (
        ("It has committed no batch yet: the lag is that of the start of its first batch.",) if is_new else ()
    )
    for name, stream in offset.streams.items():
        positions = {shard: _position(stream, shard, is_start=is_new) for shard in stream.shards}
        yield (
            name,
            Reading(
                reader=location,
                kind=SPARK,
                positions=positions,
                created_ms=stream.created_ms,
                batch=batches.committed,
                planned=batches.planned,
                notes=notes,
            ),
        )


def _position(stream: StreamOffset, shard_id: str, *, is_start: bool) -> Position:
    """Return the position at the end of a batch, or with *is_start* at its first record."""
    from kinesis_core import At
    from kinesis_core.model import MIN_RETENTION_HOURS

    offset = stream.started(shard_id)
    if is_start and offset.first is not None:
        start = At(offset.first, offset.first_skip)
        return Position(start, str(start))
    # If a record that was read is gone, the retention was shorter than its age, whatever anybody saw of it.
    kept_hours = MIN_RETENTION_HOURS if offset.names_seen_record else stream.kept_hours
    return Position(offset.cut, str(offset.cut), offset.arrived_ms, kept_hours=kept_hours)


def _theirs(
    folder: CheckpointFolder, batches: Batches, offsets: BatchOffsets, source: int, text: str
) -> dict[str, Reading]:
    started, notes = text, []
    ends = [] if batches.committed is None else _ends(folder, source, batches.committed)
    if not ends and batches.committed is not None:
        offsets, started, note = _without_ends(folder, batches, offsets, source, text)
        notes.append(note)
    found = _parse(folder.location, "\n".join([offsets.metadata, started, *ends]))
    positions = {shard: Position(cut, str(cut)) for shard, cut in found.cuts.items()}
    reading = Reading(
        reader=folder.location,
        kind=AWSLABS if _AWSLABS_ONLY in text else QUBOLE,
        positions=positions,
        batch=batches.committed,
        planned=batches.planned,
        notes=tuple(notes),
    )
    return {found.stream or "?": reading}


def _ends(folder: CheckpointFolder, source: int, batch: int) -> list[str]:
    """Return the files that say where *batch* ends in each shard."""
    for name in _END_FOLDERS:
        path = f"sources/{source}/{name}/{batch}"
        files = [file for file in folder.names(path) or [] if file.startswith("shardId-")]
        if files:
            return [folder.read(f"{path}/{file}") for file in sorted(files)]
    return []


def _without_ends(
    folder: CheckpointFolder, batches: Batches, offsets: BatchOffsets, source: int, text: str
) -> tuple[BatchOffsets, str, str]:
    """Return what says best where the committed batch ends, when its own files are elsewhere: where the next one begins."""
    if batches.planned == (batches.committed or 0) + 1:
        following = offsets_of(folder, batches.planned)
        for index, line in following.sources:
            if index == source:
                return following, line, f"Its position is where batch {batches.planned} begins."
    note = (
        f"Where batch {batches.committed} ends is not in the checkpoint directory: the connector has written it to a table of DynamoDB "
        "or to another directory. The lag is that of the start of that batch."
    )
    return offsets, text, note


def _parse(location: str, text: str) -> ForeignCheckpoint:
    from kinesis_core import ForeignCheckpoint
    from kinesis_core.options import BadValueError, starting_position

    try:
        found = starting_position().parse(text)
    except BadValueError as error:
        raise CommandError(
            f"{location} has a damaged position of the connector. {error.hint}".rstrip()
        ) from error
    if not isinstance(found, ForeignCheckpoint):
        raise CommandError(
            f"{location} has positions of several streams in one source, which is not supported."
        )
    return found
