"""What is said when records could not be written."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from kinesis_core.errors import PutError
from kinesis_core.producing.shard_batch import ShardBatch

NOT_SENT = "NotSentInTime"
THROTTLED = "ProvisionedThroughputExceededException"
_HASH_DIGITS = 16
_TOO_SLOW = (
    "Give the stream more shards, write from fewer places at once, or raise recordTtlMs (record_ttl_s)."
)


def put_error(stream: str, why: str, lost: Sequence[ShardBatch], given_up: int) -> PutError:
    """Return the error for *lost*; so many other user records were *given_up* with them."""
    counts: Counter[str] = Counter()
    for batch in lost:
        counts[batch.state.reason or NOT_SENT] += batch.user_records
    first = lost[0]
    key = first.rows().keys[0]
    key_sha256 = hashlib.sha256(key.encode()).hexdigest()[:_HASH_DIGITS] if key else ""
    codes = ", ".join(f"{code} {count}" for code, count in counts.most_common())
    others = f" {given_up} more were given up with them." if given_up else ""
    message = (
        f"{sum(counts.values())} user records could not be written: {why}: {codes}.{others} {_advice(first)} "
        f"[stream={stream} shard={first.shard_id} key_sha256={key_sha256}]"
    )
    return PutError(message, counts, first.shard_id, key_sha256)


def recreated(stream: str, written: int) -> PutError:
    """Return the error for a stream that was made anew after so many user records *written* since the last flush."""
    return PutError(
        f"The stream was deleted and made anew while it was written to. {written} user records written since the last "
        "flush went to the deleted stream, or to shards of the new one that do not own their keys. Write them again. "
        f"[stream={stream}]",
        {"StreamRecreated": written},
    )


def _advice(batch: ShardBatch) -> str:
    if batch.state.reason in (THROTTLED, ""):
        return _TOO_SLOW
    return batch.state.detail
