"""
Reads the checkpoints of the awslabs and qubole connectors as a starting position.

The checkpoint directory of a query contains these files about batch N, as the connectors number it:

    offsets/...               Spark's offset log: where batch N starts in each shard
    sources/0/shard-source/N  where batch N ends, one file per shard (awslabs; or a table in DynamoDB)
    sources/0/shard-commit/N  the same (qubole, roncemer)

A user pastes the file of the offset log and the files of the shards one after the other, in any order. The file of a
shard takes precedence over the offset log. The files of the shards, or a map of shards, may also be pasted alone.

Sources: https://github.com/awslabs/spark-sql-kinesis-connector (KinesisV2SourceOffset, KinesisV2PartitionReader,
HDFSMetadataCommitter), https://github.com/qubole/kinesis-sql (KinesisSourceOffset, KinesisSourceRDD).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from kinesis_core.model import (
    LAST_EPOCH_MS,
    After,
    At,
    AtTimestamp,
    Cut,
    ForeignCheckpoint,
    Latest,
    PerStream,
    ShardEnd,
    TrimHorizon,
)
from kinesis_core.options.option import BadValueError
from kinesis_credentials.base import shorten

LATEST_MARGIN_MS = 5000
"""How long before the batch LATEST starts. The old query has read no record of that shard, so no record is read twice."""
_SUB_SEQUENCE_NUMBER = re.compile(r"-1|[0-9]{1,9}")
_SPARKS_OWN = {"batchWatermarkMs", "nextBatchWatermarkMs"}
"""Names that occur only in Spark's own lines: the second line of a file of the offset log, and a commit."""

_MILLISECONDS = re.compile(r"[0-9]{1,16}")
_NUMBER = re.compile(r"[0-9]{1,129}")

Document = dict[str, Any]
Cuts = dict[str, Cut | Latest]


def is_checkpoint(document: Document) -> bool:
    """Return whether *document* is part of another connector's checkpoint, or of Spark's log of it."""
    values = document.values()
    return (
        "metadata" in document
        or "iteratorType" in document
        or bool(_SPARKS_OWN & set(document))
        or any(isinstance(value, dict) and "iteratorType" in value for value in values)
    )


def read_checkpoint(documents: list[Document], by_hand: Cuts) -> ForeignCheckpoint | PerStream:
    """
    Return the position that the connector had reached when it wrote *documents*.

    Args:
        by_hand: Cuts that the user has added, by shard. They take precedence.

    Raises:
        BadValueError: The documents contradict each other or are incomplete. The hint says how.
    """
    pasted = _Pasted()
    for document in documents:
        pasted.add(document)
    return pasted.position(by_hand)


@define
class _Pasted:
    """Everything that the user pasted, by kind of file."""

    started: dict[str | None, Cuts] = field(factory=dict)
    """Where a batch starts, by stream."""
    ended: Cuts = field(factory=dict)
    """Where the batch ends."""
    planned_ms: int | None = None
    """When Spark planned the batch."""

    def add(self, document: Document) -> None:
        if _SPARKS_OWN & set(document):
            self._add_sparks_own(document)
        elif "iteratorType" in document:
            self._add_ended(document)
        else:
            self._add_started(document)

    def _add_sparks_own(self, document: Document) -> None:
        planned_ms = document.get("batchTimestampMs")
        if type(planned_ms) is int and 0 < planned_ms <= LAST_EPOCH_MS:
            self.planned_ms = min(planned_ms, self.planned_ms or planned_ms)

    def _add_ended(self, document: Document) -> None:
        shard_id = document.get("shardId")
        if not isinstance(shard_id, str):
            raise BadValueError("A position in the checkpoint has no 'shardId'.")
        if shard_id in self.ended:
            raise BadValueError(
                f"{shorten(shard_id)} occurs twice. Paste the files of one batch and one stream only."
            )
        self.ended[shard_id] = _read_cut(shard_id, document)

    def _add_started(self, document: Document) -> None:
        metadata = document.get("metadata", {})
        stream = metadata.get("streamName") if isinstance(metadata, dict) else None
        stream = stream if isinstance(stream, str) and stream else None
        if stream in self.started:
            raise BadValueError(
                "The text has offsets of two batches of one stream. Paste only the offsets of the last committed batch."
            )
        shards = {shard_id: value for shard_id, value in document.items() if shard_id != "metadata"}
        self.started[stream] = {shard_id: _read_cut(shard_id, value) for shard_id, value in shards.items()}

    def position(self, by_hand: Cuts) -> ForeignCheckpoint | PerStream:
        streams = self.started or {None: {}}
        if len(streams) > 1 and (self.ended or by_hand):
            names = ", ".join(sorted(str(stream) for stream in streams))
            raise BadValueError(
                f"The text has offsets of several streams ({names}), so the stream of the other shards is unknown. "
                "Paste the files of one stream only."
            )
        positions = {
            stream: ForeignCheckpoint(self._settled({**cuts, **self.ended, **by_hand}), stream)
            for stream, cuts in streams.items()
        }
        if len(positions) == 1:
            return next(iter(positions.values()))
        return PerStream({str(stream): position for stream, position in positions.items()})

    def _settled(self, cuts: Cuts) -> Cuts:
        """Return *cuts* with LATEST replaced by the time when the old query last planned, if that is known."""
        if not cuts:
            raise BadValueError("The checkpoint has no shards: the query that wrote it has read nothing.")
        if self.planned_ms is None:
            return cuts
        tip = AtTimestamp(max(0, self.planned_ms - LATEST_MARGIN_MS))
        return {shard_id: tip if isinstance(cut, Latest) else cut for shard_id, cut in cuts.items()}


def _read_cut(shard_id: str, value: Any) -> Cut | Latest:
    try:
        return _cut_of(value)
    except (BadValueError, KeyError, TypeError, ValueError, AttributeError) as error:
        hint = f" {error.hint}" if isinstance(error, BadValueError) else ""
        raise BadValueError(
            f"The position of {shorten(shard_id)} in the checkpoint is not valid.{hint}"
        ) from None


def _cut_of(value: Mapping[str, Any]) -> Cut | Latest:
    at = value.get("iteratorPosition", "")
    match value["iteratorType"].upper():
        case "TRIM_HORIZON":
            return TrimHorizon()
        case "LATEST":
            return Latest()
        case "SHARD_END":
            return ShardEnd()
        case "AT_TIMESTAMP":
            return AtTimestamp(_read_milliseconds(str(at)))
        case "AFTER_SEQUENCE_NUMBER":
            number, read = read_number(str(at)), _user_records_read(value)
            is_whole = read == 0 or str(value.get("isLast")).lower() == "true"
            return After(number) if is_whole else At(number, read)
        case "AT_SEQUENCE_NUMBER":
            return At(read_number(str(at)), _user_records_read(value))
    raise BadValueError("Its iteratorType is not a type of Kinesis.")


def read_number(text: str) -> int:
    """
    Return the sequence number *text*.

    Raises:
        BadValueError: The text is not a sequence number.
    """
    if not _NUMBER.fullmatch(text):
        raise BadValueError("A sequence number is 1 to 129 digits.")
    return int(text)


def _read_milliseconds(text: str) -> int:
    if not _MILLISECONDS.fullmatch(text) or int(text) > LAST_EPOCH_MS:
        raise BadValueError("Its iteratorPosition is not a time in milliseconds since the epoch.")
    return int(text)


def _user_records_read(value: Mapping[str, Any]) -> int:
    """Return how many user records of the record were read. The sub-sequence number is that of the last one; -1 means 0."""
    last = str(value.get("subSequenceNumber", -1))
    if not _SUB_SEQUENCE_NUMBER.fullmatch(last):
        raise BadValueError("Its subSequenceNumber is not valid.")
    return int(last) + 1
