"""Finds saved offsets: in a checkpoint directory of Spark, in a file, in a text or in the standard input."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from kinesis_cli.checkpoints import (
    batches_in,
    is_offset_log,
    is_ours,
    offsets_of,
    open_folder,
    parse_offset,
    read_offsets,
)
from kinesis_cli.ending import CommandError, UsageError
from kinesis_cli.file_errors import reading
from kinesis_cli.shard_ids import full_shard_id

if TYPE_CHECKING:
    from kinesis_core.model import Offset, ShardOffset

_STDIN = "-"


@frozen
class SavedOffsets:
    """The offsets of one batch, one for each source of the query that is ours, and where they were found. Or one offset."""

    where: str
    offsets: Sequence[Offset]

    def only(self, stream: str | None, shards: Collection[str]) -> SavedOffsets:
        """
        Return them with this stream only, and with these shards only, which are named by their ids or numbers.

        Raises:
            UsageError: They have no such stream, or no such shard.
        """
        names = {name for offset in self.offsets for name in offset.streams}
        if stream is not None and stream not in names:
            raise UsageError(f"{self.where} has no stream {stream}. It has: {', '.join(sorted(names))}.")
        ids = set(map(full_shard_id, shards))
        chosen = [_chosen(offset, stream, ids) for offset in self.offsets]
        known = {
            shard_id for offset in chosen for found in offset.streams.values() for shard_id in found.shards
        }
        for shard_id in sorted(ids - known):
            raise UsageError(f"{self.where} has no shard {shard_id}.")
        return evolve(self, offsets=[offset for offset in chosen if offset.streams])


def _chosen(offset: Offset, stream: str | None, ids: Collection[str]) -> Offset:
    """Return *offset* with the stream *stream*, unless that is None, and with the shards *ids*, unless there are none."""
    streams = {name: found for name, found in offset.streams.items() if stream in (None, name)}
    if ids:
        streams = {name: evolve(found, shards=_pick(found.shards, ids)) for name, found in streams.items()}
        streams = {name: found for name, found in streams.items() if found.shards}
    return evolve(offset, streams=streams)


def _pick(shards: Mapping[str, ShardOffset], ids: Collection[str]) -> dict[str, ShardOffset]:
    return {shard_id: shard for shard_id, shard in shards.items() if shard_id in ids}


def read_saved(source: str, batch: int | None) -> SavedOffsets:
    """
    Return the offsets of our source in *source*.

    It is a checkpoint directory, of which the offset of *batch* is read, or else that of the last planned batch. Or it is a file,
    the text of an offset, or `-`. A file is JSON, or one of Spark's offset log.

    Raises:
        CommandError: It cannot be read, or has no offset of our source.
        UsageError: It has no batches, and *batch* names one.
    """
    text = _text(source)
    if text is None:
        return _in_checkpoint(source, batch)
    if batch is not None:
        raise UsageError(
            "--batch names a batch of a checkpoint directory, and this is one offset. Leave it out."
        )
    where = "The standard input" if source == _STDIN else "The text" if text is source else source
    texts = [offset for _, offset in read_offsets(text, where).sources] if is_offset_log(text) else [text]
    return _parsed(where, texts)


def _text(source: str) -> str | None:
    """Return the text of one offset; None if *source* is a folder."""
    if source == _STDIN:
        with reading("The standard input"):
            return sys.stdin.buffer.read().decode(errors="replace")
    if source.lstrip().startswith("{"):
        return source
    if not Path(source).is_file():
        return None
    with reading(source):
        return Path(source).read_text(encoding="utf-8", errors="replace")


def _in_checkpoint(location: str, batch: int | None) -> SavedOffsets:
    folder = open_folder(location)
    batches, current = batches_in(folder)
    newest = current if batches.planned is None else batches.planned
    if batch is not None and str(batch) not in (folder.names("offsets") or ()):
        raise CommandError(
            f"{location} has no batch {batch}. The newest one is {newest}, and Spark removes old ones."
        )
    chosen = newest if batch is None else batch
    is_committed = batches.committed is not None and chosen <= batches.committed
    where = f"{location}, batch {chosen} ({'committed' if is_committed else 'planned'})"
    return _parsed(where, [offset for _, offset in offsets_of(folder, chosen).sources])


def _parsed(where: str, texts: Sequence[str]) -> SavedOffsets:
    """Return the offsets in *texts*. Those of other sources are left out."""
    documents = [parse_offset(text) for text in texts]
    found = [_offset(where, document) for document in documents if is_ours(document)]
    if not found:
        raise CommandError(f"{where} has no offset of a Kinesis source of this project.")
    return SavedOffsets(where, found)


def _offset(where: str, document: Any) -> Offset:
    from kinesis_core import OffsetError
    from kinesis_core.model import Offset

    try:
        offset: Offset = Offset.from_json(document)
    except OffsetError as error:
        raise CommandError(f"{where}: {error.what}") from error
    return offset
