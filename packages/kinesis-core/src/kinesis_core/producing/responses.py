"""Handles the responses to requests: written batches are counted, refused ones are sent again, or the producer fails."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence

from attrs import define, evolve

from kinesis_core.aws import is_retryable, log_retry
from kinesis_core.errors import PutError, ServiceError, StreamNotReadyError, ThrottledError
from kinesis_core.model import PutResponse, PutResult
from kinesis_core.producing.accumulator import MAY_BE_MISSING, RecordAccumulator
from kinesis_core.producing.shard_queue import ShardBatch, ShardQueue
from kinesis_credentials import Advice

THROTTLED = "ProvisionedThroughputExceededException"
_NEVER_SENT = frozenset({"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError"})

Misrouted = tuple[ShardBatch, str]
"""A batch, and a shard that a record of it went to, which is not the shard of the batch."""
_MISPLACED = (
    "Kinesis puts them into a shard that does not own their keys, according to ListShards, and "
    "DescribeStreamSummary does not report the RecordDistributionStrategy AUTO, which would explain it.",
    Advice.STOP_AGGREGATING,
)
_TOO_SLOW = ("A shard accepts 1 MiB and 1,000 records a second from all its producers.", Advice.SLOW_DOWN)
_HASH_DIGITS = 16


@define(eq=False)
class ResponseHandler:
    """Decides for each batch of a request: it is written, it goes back to its queue, or the producer fails."""

    accumulator: RecordAccumulator

    def on_response(
        self, request: Sequence[ShardBatch], response: PutResponse, now_s: float
    ) -> list[Misrouted]:
        """
        Handle the response to a request. Returns the batches that went to another shard than their own.

        Plain records count as written in any shard. Aggregates wait for `settle_misrouted`.
        """
        misrouted: list[Misrouted] = []
        refused: list[ShardBatch] = []
        start = 0
        for batch in request:
            batch.queue.complete(batch)
            results = response.results[start : start + len(batch.entries)]
            start += len(batch.entries)
            written, rest = _split(batch, results)
            other_shard = None if rest else _other_shard(batch, results)
            if other_shard and self._is_unexpected(batch, other_shard):
                misrouted.append((batch, other_shard))
            if written and not (other_shard and batch.is_aggregate):
                self.accumulator.mark_written(written)
            if rest:
                refused.append(rest)
        self._adjust(request, refused, now_s)
        self._retry(refused, [batch for batch in refused if not is_retryable(batch.state.reason)], now_s)
        return misrouted

    def _is_unexpected(self, batch: ShardBatch, shard_id: str) -> bool:
        """Return whether *shard_id* may mean a change. Where Kinesis chooses, plain records go to any known shard."""
        router = self.accumulator.router
        return batch.is_aggregate or not router.is_auto or shard_id not in router.shards.ranges

    def on_not_sent(self, request: Sequence[ShardBatch]) -> None:
        """Put back a request that is not sent, because the shards of its records changed after it was taken."""
        self.accumulator.counts.totals["requests"] -= 1
        for batch in reversed(request):
            batch.queue.complete(batch)
            if self.accumulator.failure is None:
                self.accumulator.put_back(batch)

    def on_request_failed(
        self, request: Sequence[ShardBatch], error: ServiceError, now_s: float, *, may_pass: bool = False
    ) -> None:
        """Handle a request that failed as a whole. With *may_pass* it is sent again even if *error* is not retryable."""
        is_throttled = isinstance(error, ThrottledError)
        is_refused = is_throttled or isinstance(error, StreamNotReadyError)
        is_unsure = error.retryable and not is_refused and error.code not in _NEVER_SENT
        for batch in request:
            batch.queue.complete(batch)
            batch.state = batch.state.after_failure(error.code, _reasons(error), is_unsure=is_unsure)
        self._adjust(request, request, now_s, is_throttled=is_throttled)
        self._retry(request, () if error.retryable or may_pass else request, now_s)

    def _adjust(
        self,
        request: Sequence[ShardBatch],
        refused: Sequence[ShardBatch],
        now_s: float,
        *,
        is_throttled: bool = False,
    ) -> None:
        """Adjust the rate and the patience of each shard of a request, and count what was refused."""
        totals, rng = self.accumulator.counts.totals, self.accumulator.rng
        throttled = {batch.queue for batch in refused if is_throttled or batch.state.reason == THROTTLED}
        failed = {batch.queue for batch in refused} - throttled
        for queue, part in _by_queue(request, refused).items():
            if part.records:
                queue.patience.succeeded()
                queue.throttled.clear()
            if queue in throttled:
                queue.window.throttled(part.records, part.size_bytes, part.refused, now_s, rng)
                queue.patience.failed(now_s, is_throttled=True)
                queue.throttled.refused(now_s)
            elif queue in failed:
                queue.window.failed(now_s, rng)
                queue.patience.failed(now_s)
            else:
                queue.window.accepted(part.records, part.size_bytes, rng)
        for batch in refused:
            totals["throttled" if batch.queue in throttled else "failed"] += len(batch.entries)

    def _retry(self, refused: Sequence[ShardBatch], lost: Sequence[ShardBatch], now_s: float) -> None:
        """Put *refused* back, or fail if some are *lost*, because their error is not retryable, or patience is over."""
        if self.accumulator.failure is not None or not refused:
            return
        if lost:
            self._fail(lost, "Kinesis refused them")
            return
        late = [batch for batch in refused if batch.queue.patience.is_over]
        if late:
            self._fail(late, str(late[0].queue.patience))
            return
        self._log_retry(refused, min(batch.queue.window.rests_until_s for batch in refused) - now_s)
        for batch in reversed(refused):  # so that the oldest stay first
            self.accumulator.put_back(batch)

    def _fail(self, lost: Sequence[ShardBatch], why: str) -> None:
        """Fail because *lost*, a part of what is held, cannot be written."""
        others = self.accumulator.held_records - sum(batch.user_records for batch in lost)
        self.accumulator.fail(put_error(self.accumulator.stream, why, lost, others))

    def _log_retry(self, refused: Sequence[ShardBatch], wait_s: float) -> None:
        """Log one line for *refused*, all of one request, the first of which is sent again after *wait_s*."""
        shards = {batch.shard_id for batch in refused}
        reason, _ = Counter(batch.state.reason for batch in refused).most_common(1)[0]
        log_retry(
            "PutRecords",
            reason,
            max(batch.state.attempts for batch in refused),
            wait_s,
            stream=self.accumulator.stream,
            **({"shard": shards.pop()} if len(shards) == 1 else {"shards": len(shards)}),
            records=sum(len(batch.entries) for batch in refused),
        )

    # When the stream is resharded

    def unknown_shards(self, misrouted: Sequence[Misrouted]) -> list[str]:
        """Return the shards that these aggregates went to and that the shard map does not have."""
        return sorted({shard_id for _, shard_id in misrouted} - self.accumulator.router.shards.ranges.keys())

    def is_explained(self, misrouted: Sequence[Misrouted]) -> bool:
        """Return whether a reshard explains why these records went to other shards, or Kinesis chooses the shards."""
        router = self.accumulator.router
        return router.is_auto or all(
            shard_id in router.shards.ranges and batch.queue.is_gone for batch, shard_id in misrouted
        )

    def settle_misrouted(self, misrouted: Sequence[Misrouted]) -> None:
        """
        Decide about aggregates that went to another shard. They are written if that shard owns all their keys.

        Otherwise all their user records are sent again, because the KCL drops such an aggregate as a whole. If no
        reason is known, they are sent without aggregation: another aggregate could be misplaced too, and consumers
        accept plain records from any shard.
        """
        accumulator, misplaced = self.accumulator, []
        for batch, shard_id in misrouted:
            if accumulator.failure is not None or not accumulator.router.misplaced(batch.rows(), shard_id):
                accumulator.mark_written(batch)
            else:
                accumulator.counts.totals["misplaced"] += batch.user_records
                state = batch.state.after_failure("Misplaced", _MISPLACED, is_unsure=False)
                batch.state = evolve(state, may_be_written=True)  # consumers other than the KCL deliver it
                accumulator.reroute(batch, is_plain=not self.is_explained([(batch, shard_id)]))
                misplaced.append(batch)
        if misplaced:
            self._log_retry(misplaced, 0.0)

    def fail_unlisted(self, lost: Sequence[ShardBatch], error: ServiceError, *, are_sent: bool) -> None:
        """Fail because *error* hides which shards these batches belong to. They may be in the stream if they *are sent*."""
        if self.accumulator.failure is not None:
            return
        for batch in lost:
            batch.state = batch.state.after_failure(error.code, _reasons(error), is_unsure=are_sent)
        self._fail(lost, "the shards that they belong to cannot be listed")


def _reasons(error: ServiceError) -> tuple[Advice | str, ...]:
    """Return what the error of the producer says of *error*: also which sources of credentials were tried."""
    tried = error.where.get("tried")
    return (error.what, *error.advice, *((f"[tried={tried}]",) if tried else ()))


def _split(batch: ShardBatch, results: Sequence[PutResult]) -> tuple[ShardBatch | None, ShardBatch | None]:
    """Return the written and the refused records of *batch*. Without *results* all are written."""
    first = next((result for result in results if result.error_code is not None), None)
    if first is None:
        return batch, None
    written = [index for index, result in enumerate(results) if result.error_code is None]
    refused = [index for index, result in enumerate(results) if result.error_code is not None]
    state = batch.state.after_failure(first.error_code or "", (first.error_message or "",), is_unsure=False)
    return batch.pick(written, batch.state) if written else None, batch.pick(refused, state)


def _other_shard(batch: ShardBatch, results: Sequence[PutResult]) -> str | None:
    """Return a shard that a record went to, if it is not that of *batch*, or may belong to other hash keys by now."""
    shard_ids = (result.shard_id for result in results)
    is_known = not (batch.is_aggregate and batch.queue.is_gone)
    return next((shard_id for shard_id in shard_ids if shard_id != batch.shard_id or not is_known), None)


@define
class _Part:
    """How much of a request one shard accepted and refused."""

    records: int = 0
    size_bytes: int = 0
    refused: int = 0
    """Records that it refused."""


def _by_queue(request: Sequence[ShardBatch], refused: Sequence[ShardBatch]) -> dict[ShardQueue, _Part]:
    """Return what the shards of a request accepted and refused."""
    parts: defaultdict[ShardQueue, _Part] = defaultdict(_Part)
    for batch in request:
        parts[batch.queue].records += len(batch.entries)
        parts[batch.queue].size_bytes += batch.size_bytes
    for batch in refused:
        parts[batch.queue].records -= len(batch.entries)
        parts[batch.queue].size_bytes -= batch.size_bytes
        parts[batch.queue].refused += len(batch.entries)
    return parts


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
        _TOO_SLOW if first.state.reason == THROTTLED else (*first.state.detail, *MAY_BE_MISSING),
        stream=stream,
    )
