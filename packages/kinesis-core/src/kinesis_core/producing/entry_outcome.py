"""What an answer of PutRecords says about each parcel of its request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from kinesis_core.model import PutResponse, PutResult
from kinesis_core.producing.shard_batch import ShardBatch


@frozen
class EntryOutcome:
    """A parcel may be written in part."""

    written: ShardBatch | None
    refused: ShardBatch | None = None
    """With the reason on its label."""
    elsewhere: str | None = None
    """A shard that it came to, if that is another than it was made for, or may be another's by now."""


def entry_outcomes(request: Sequence[ShardBatch], response: PutResponse) -> Iterator[EntryOutcome]:
    """Yield the fate of each parcel. An answer without results says that all were written."""
    start = 0
    for batch in request:
        stop = start + len(batch.entries)
        yield _entry_outcome(batch, response.results[start:stop])
        start = stop


def _entry_outcome(batch: ShardBatch, results: Sequence[PutResult]) -> EntryOutcome:
    first = next((result for result in results if result.error_code is not None), None)
    if first is None:
        return EntryOutcome(batch, elsewhere=_elsewhere(batch, results))
    written = [place for place, result in enumerate(results) if result.error_code is None]
    refused = [place for place, result in enumerate(results) if result.error_code is not None]
    state = batch.state.again(first.error_code or "", first.error_message or "", is_unsure=False)
    return EntryOutcome(batch.pick(written, batch.state) if written else None, batch.pick(refused, state))


def _elsewhere(batch: ShardBatch, results: Sequence[PutResult]) -> str | None:
    shard_ids = (result.shard_id for result in results)
    is_known = not (batch.is_aggregate and batch.queue.is_gone)
    return next((shard_id for shard_id in shard_ids if shard_id != batch.shard_id or not is_known), None)
