"""What is to be done about the answers to requests: note what is written, and send the rest again, or give up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import define

from kinesis_core.aws import is_retryable, log_retry
from kinesis_core.errors import ServiceError, ThrottledError
from kinesis_core.model import PutResponse
from kinesis_core.producing.accumulator import RecordAccumulator
from kinesis_core.producing.entry_outcome import entry_outcomes
from kinesis_core.producing.failures import THROTTLED
from kinesis_core.producing.shard_batch import ShardBatch

_NEVER_SENT = frozenset({"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError"})

Misrouted = tuple[ShardBatch, str]
"""A parcel, and a shard that it came to, which is another than it was made for."""
_MISPLACED = (
    "Kinesis puts them into a shard that does not own their keys, by its own list of shards. If the stream's "
    "RecordDistributionStrategy is AUTO and botocore is too old to know that, update it, or set aggregationEnabled=false."
)


@define(eq=False)
class ResponseHandler:
    """Gives every parcel of a request its end: it is written, back in the outbox, or lost with everybody told."""

    accumulator: RecordAccumulator

    def on_response(
        self, request: Sequence[ShardBatch], response: PutResponse, now_s: float
    ) -> list[Misrouted]:
        """
        Note the answer to a request. Returns what came to another shard than it was made for: aggregates wait for
        `place`, plain records are written wherever they are.
        """
        misrouted: list[Misrouted] = []
        refused: list[ShardBatch] = []
        for batch, outcome in zip(request, entry_outcomes(request, response), strict=True):
            batch.queue.completed(batch)
            if outcome.elsewhere is not None and self._matters(batch, outcome.elsewhere):
                misrouted.append((batch, outcome.elsewhere))
            if outcome.written is not None and not (outcome.elsewhere and batch.is_aggregate):
                self.accumulator.note_written(outcome.written)
            if outcome.refused is not None:
                refused.append(outcome.refused)
        self._adjust_windows(request, refused, now_s)
        self._send_again(refused, [p for p in refused if not is_retryable(p.state.reason)], now_s)
        return misrouted

    def _matters(self, batch: ShardBatch, shard_id: str) -> bool:
        """Return whether it is news that *parcel* came to the shard: where Kinesis chooses, plain records come anywhere."""
        router = self.accumulator.router
        return batch.is_aggregate or not router.is_auto or shard_id not in router.shards.ranges

    def on_not_sent(self, request: Sequence[ShardBatch]) -> None:
        """Note that a request is not sent: where its records belong has changed since it was taken."""
        self.accumulator.counts.tally["requests"] -= 1
        for batch in reversed(request):
            batch.queue.completed(batch)
            if self.accumulator.failure is None:
                self.accumulator.put_back(batch)

    def on_request_failed(
        self, request: Sequence[ShardBatch], error: ServiceError, now_s: float, *, may_pass: bool = False
    ) -> None:
        """Note that a request failed as a whole. It *may_pass* next time though the error is not of that kind."""
        is_throttled = isinstance(error, ThrottledError)
        is_unsure = error.retryable and not is_throttled and error.code not in _NEVER_SENT
        for batch in request:
            batch.queue.completed(batch)
            batch.state = batch.state.again(error.code, str(error), is_unsure=is_unsure)
        self._adjust_windows(request, request, now_s, is_throttled=is_throttled)
        self._send_again(request, () if error.retryable or may_pass else request, now_s)

    def _adjust_windows(
        self,
        request: Sequence[ShardBatch],
        refused: Sequence[ShardBatch],
        now_s: float,
        *,
        is_throttled: bool = False,
    ) -> None:
        """Let each shard of a request go faster or slower."""
        tally, rng = self.accumulator.counts.tally, self.accumulator.rng
        throttled = {
            batch.queue: None for batch in refused if is_throttled or batch.state.reason == THROTTLED
        }
        failed = {batch.queue: None for batch in refused if batch.queue not in throttled}
        for queue in throttled:
            queue.window.throttled(now_s, rng)
        for queue in failed:
            queue.window.failed(now_s, rng)
        for batch in request:
            if batch.queue not in throttled and batch.queue not in failed:
                batch.queue.window.accepted(len(batch.entries), batch.size_bytes)
        for batch in refused:
            tally["throttled" if batch.queue in throttled else "failed"] += len(batch.entries)

    def _send_again(self, refused: Sequence[ShardBatch], lost: Sequence[ShardBatch], now_s: float) -> None:
        if self.accumulator.failure is not None or not refused:
            return
        if lost:
            self.accumulator.give_up_batches(lost, "Kinesis refused them")
            return
        self._log_retry(refused, min(batch.queue.window.rests_until_s for batch in refused) - now_s)
        for batch in reversed(refused):  # those that waited longest stay in front
            self.accumulator.put_back(batch)

    def _log_retry(self, refused: Sequence[ShardBatch], wait_s: float) -> None:
        """Log in one line that these, of one request, are sent again, the first of them after *wait_s*."""
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
        """Return the shards that these aggregates came to and the shard map does not have."""
        return sorted({shard_id for _, shard_id in misrouted} - self.accumulator.router.shards.ranges.keys())

    def knows_why(self, misrouted: Sequence[Misrouted]) -> bool:
        """Return whether it is known why these records came to other shards: a reshard, or Kinesis chooses."""
        router = self.accumulator.router
        return router.is_auto or all(
            shard_id in router.shards.ranges and batch.queue.is_gone for batch, shard_id in misrouted
        )

    def settle_misrouted(self, misrouted: Sequence[Misrouted]) -> None:
        """
        Decide on aggregates that came to another shard: they are written if all their user records belong there.

        If one does not, all are sent again: the KCL drops the whole of such an aggregate. Where nobody knows why,
        another aggregate would fare no better; plain records are at home wherever they come.
        """
        accumulator, misplaced = self.accumulator, []
        for batch, shard_id in misrouted:
            if accumulator.failure is not None or not accumulator.router.misplaced(batch.rows(), shard_id):
                accumulator.note_written(batch)
            else:
                accumulator.counts.tally["misplaced"] += batch.user_records
                batch.state = batch.state.again("Misplaced", _MISPLACED, is_unsure=False)
                accumulator.reroute(batch, is_plain=not self.knows_why([(batch, shard_id)]))
                misplaced.append(batch)
        if misplaced:
            self._log_retry(misplaced, 0.0)

    def give_up_misrouted(self, misrouted: Sequence[Misrouted], error: ServiceError) -> None:
        """Give up: where these aggregates belong cannot be found out."""
        if self.accumulator.failure is not None:
            return
        for batch, _ in misrouted:
            batch.state = batch.state.again(error.code, str(error), is_unsure=False)
        lost = [batch for batch, _ in misrouted]
        self.accumulator.give_up_batches(lost, "the shards that they belong to cannot be listed")
