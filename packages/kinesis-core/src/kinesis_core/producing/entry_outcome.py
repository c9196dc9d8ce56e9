"""What an answer of PutRecords says about each parcel of its request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from kinesis_core.model import PutAnswer, PutResult
from kinesis_core.producing.shard_batch import Parcel


@frozen
class Fate:
    """A parcel may be written in part."""

    written: Parcel | None
    refused: Parcel | None = None
    """With the reason on its label."""
    elsewhere: str | None = None
    """A shard that it came to, if that is another than it was made for, or may be another's by now."""


def fates(request: Sequence[Parcel], answer: PutAnswer) -> Iterator[Fate]:
    """Yield the fate of each parcel. An answer without results says that all were written."""
    start = 0
    for parcel in request:
        stop = start + len(parcel.entries)
        yield _fate(parcel, answer.results[start:stop])
        start = stop


def _fate(parcel: Parcel, results: Sequence[PutResult]) -> Fate:
    first = next((result for result in results if result.error_code is not None), None)
    if first is None:
        return Fate(parcel, elsewhere=_elsewhere(parcel, results))
    written = [place for place, result in enumerate(results) if result.error_code is None]
    refused = [place for place, result in enumerate(results) if result.error_code is not None]
    label = parcel.label.again(first.error_code or "", first.error_message or "", is_unsure=False)
    return Fate(parcel.pick(written, parcel.label) if written else None, parcel.pick(refused, label))


def _elsewhere(parcel: Parcel, results: Sequence[PutResult]) -> str | None:
    landed = (result.shard_id for result in results)
    is_known = not (parcel.is_aggregate and parcel.lane.is_gone)
    return next((shard_id for shard_id in landed if shard_id != parcel.shard_id or not is_known), None)
