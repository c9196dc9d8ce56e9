"""The outcome of each batch of a request, read from the PutRecords response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from kinesis_core.model import PutResponse, PutResult
from kinesis_core.producing.shard_queue import ShardBatch


@frozen
class EntryOutcome:
    """What happened to one batch. Some of its records may be written and others refused."""

    written: ShardBatch | None
    refused: ShardBatch | None = None
    """Its send state has the reason."""
    other_shard: str | None = None
    """A shard that a record went to, if it is not the shard of the batch, or may belong to other hash keys by now."""


def entry_outcomes(request: Sequence[ShardBatch], response: PutResponse) -> Iterator[EntryOutcome]:
    """Yield the outcome of each batch. A response without results means that all records were written."""
    start = 0
    for batch in request:
        stop = start + len(batch.entries)
        yield _entry_outcome(batch, response.results[start:stop])
        start = stop


def _entry_outcome(batch: ShardBatch, results: Sequence[PutResult]) -> EntryOutcome:
    first = next((result for result in results if result.error_code is not None), None)
    if first is None:
        return EntryOutcome(batch, other_shard=_other_shard(batch, results))
    written = [index for index, result in enumerate(results) if result.error_code is None]
    refused = [index for index, result in enumerate(results) if result.error_code is not None]
    state = batch.state.after_failure(first.error_code or "", first.error_message or "", is_unsure=False)
    return EntryOutcome(batch.pick(written, batch.state) if written else None, batch.pick(refused, state))


def _other_shard(batch: ShardBatch, results: Sequence[PutResult]) -> str | None:
    shard_ids = (result.shard_id for result in results)
    is_known = not (batch.is_aggregate and batch.queue.is_gone)
    return next((shard_id for shard_id in shard_ids if shard_id != batch.shard_id or not is_known), None)
