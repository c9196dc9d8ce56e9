"""The errors for records that could not be written."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from kinesis_core.errors import PutError
from kinesis_core.producing.shard_queue import ShardBatch
from kinesis_core.threads import OUT_OF_MEMORY
from kinesis_credentials import Advice

THROTTLED = "ProvisionedThroughputExceededException"
_HASH_DIGITS = 16
_TOO_SLOW = ("A shard accepts 1 MiB and 1,000 records a second from all its producers.", Advice.SLOW_DOWN)
_MAY_BE_MISSING = ("Records since the last flush may be missing.", Advice.WRITE_AGAIN)


def put_error(stream: str, why: str, lost: Sequence[ShardBatch], other: int) -> PutError:
    """
    Return the error for *lost*, with the number of *other* user records that the producer drops.

    It does not say of a record that may be in the stream that it is not.
    """
    counts: Counter[str] = Counter()
    for batch in lost:
        counts[batch.state.reason] += batch.user_records
    first = lost[0]
    key = first.rows().keys[0]
    key_sha256 = hashlib.sha256(key.encode()).hexdigest()[:_HASH_DIGITS] if key else ""
    codes = ", ".join(f"{code} {count}" for code, count in counts.most_common())
    unsure = sum(batch.user_records for batch in lost if batch.state.may_be_written)
    what = "are not confirmed as written to" if unsure else "could not be written to"
    maybe = (
        f" {unsure} of them may be in the stream: it is unknown whether earlier requests wrote them."
        if unsure
        else ""
    )
    others = (
        f" {other} more user records may not be in the stream either, because the producer stops."
        if other
        else ""
    )
    return PutError(
        f"{sum(counts.values())} user records {what} stream {stream}: {why}: {codes}.{maybe}{others}",
        counts,
        first.shard_id,
        key_sha256,
        _TOO_SLOW if first.state.reason == THROTTLED else (*first.state.detail, *_MAY_BE_MISSING),
        stream=stream,
    )


def recreated(stream: str, written: int) -> PutError:
    """Return the error for a recreated stream, after so many user records were *written* since the last flush."""
    return PutError(
        f"Stream {stream} was deleted and recreated while it was written to. {written} user records written since the "
        "last flush went to the deleted stream, or to shards of the new stream that do not own their keys.",
        {"StreamRecreated": written},
        advice=Advice.WRITE_AGAIN,
        stream=stream,
    )


def internal_error(stream: str, error: BaseException, held: int) -> PutError:
    """Return the error for an exception that no code of the producer handles, with so many user records *held*."""
    code = type(error).__name__
    if isinstance(error, MemoryError):
        why, report = f": {OUT_OF_MEMORY.lower()}", ""
    else:
        what = f"{code}: {error}" if str(error) else code
        why, report = f" on an internal error ({what}).", "Please report this with the log."
    failure = PutError(
        f"Writing to stream {stream} stopped{why}",
        {code: held},
        advice=(*_MAY_BE_MISSING, report),
        stream=stream,
    )
    failure.__cause__ = error
    return failure
