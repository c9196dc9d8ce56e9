"""One worker of a group, without threads: each method makes one step, and says when the next one is due."""

from __future__ import annotations

import os

from attrs import define, field

from kinesis_consumer.delivery import Batch, Pace, ShardReader
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import life, open_batch
from kinesis_consumer.shards import NotYet, create_children, unfinished_parents
from kinesis_consumer.worker.callbacks import BYTES_COMMITTED, LAG_MS, RECORDS_COMMITTED
from kinesis_consumer.worker.held_shards import HeldShards
from kinesis_consumer.worker.leases import LeaseHolder
from kinesis_consumer.worker.line import Line
from kinesis_core import ServiceError
from kinesis_core.budget import NoRoomError
from kinesis_core.clock import Clock
from kinesis_core.leases import FINISHED, commit_time
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

LAG_S = 10.0
"""How often the lag of a shard is reported while no page of it is read."""
LOOK_S = 1.0
"""How often all shards are looked at. One that has changed is looked at at once."""


@define(eq=False)
class Worker:
    """
    Reads the shards of its leases, and hands out batches.

    Its steps may run in several threads: `due_readers` in one, `advance` in many with one shard each, `take` and `commit` in the
    user's.
    """

    leases: LeaseHolder
    _line: Line = field(factory=Line, init=False)
    """Shards that could be read if there were room."""
    _looked_s: float = field(default=float("-inf"), init=False)
    """When all shards were looked at."""
    _lags_s: float = field(default=float("-inf"), init=False)
    """When the lags of all shards were looked at."""

    def __attrs_post_init__(self) -> None:
        self.leases.commit = self.commit

    @property
    def clock(self) -> Clock:
        return self.leases.clock

    @property
    def _shards(self) -> HeldShards:
        return self.leases.shards

    def advance(self, reader: ShardReader) -> None:
        """
        Make the next step with one shard: read a page, hand out a batch, finish the shard.

        Raises:
            KinesisError: Reading the shard failed, and a retry would not help.
        """
        if not isinstance(reader.held.state, life.Held):
            return
        try:
            self._advance(reader)
        except LeaseLostError:
            self.leases.end(reader)
        except ServiceError as error:
            if not error.retryable:
                raise
            now_s = self.clock.now_s()
            failures = reader.go_on(lambda pace: pace.fail(now_s)).failures
            if failures.bit_count() == 1:  # less and less often: an outage has many shards
                facts = {"code": error.code, "reason": error, "failures": failures}
                log.warning("shard.failed", lease=reader.key, **facts)
        else:
            reader.go_on(Pace.succeed)  # only now: a page may come while the store fails
        if not self._shards.reads(reader):  # the lease was released or lost in the meantime
            reader.close()
        self._shards.touch([reader.key])

    def due_readers(self) -> list[ShardReader]:
        """Return the readers for which `advance` has something to do. Each is returned once: `advance` it, and it is looked at again."""
        now_s = self.clock.now_s()
        if now_s >= self._looked_s + LOOK_S:
            self._looked_s = now_s
            self._shards.touch(reader.key for reader in self._shards.readers())
        keys = dict.fromkeys((*self._called(), *self._shards.take_changed(now_s)))
        return [
            reader
            for key in keys
            if (reader := self._shards.reader_of(key)) is not None and self._is_ready(reader, now_s)
        ]

    def _called(self) -> list[str]:
        """Return the first shards of the line for which there is room together. Those that want none any more leave it."""
        taken_bytes, left = 0, list[str]()

        def take(key: str) -> bool:
            nonlocal taken_bytes
            reader = self._shards.reader_of(key)
            if reader is None or not isinstance(reader.held.state, life.Held) or not reader.has_room:
                left.append(key)
                return True
            has_room = reader.finds_room(taken_bytes)
            taken_bytes += reader.refused_bytes
            return has_room

        called = self._line.call(take)
        for key in left:
            self._line.leave(key)
        return called

    def next_due_s(self) -> float:
        """Return when `due_readers` may have another one, if nothing changes before."""
        return min(self._shards.next_s(), self._looked_s + LOOK_S)

    def _is_ready(self, reader: ShardReader, now_s: float) -> bool:
        """Return whether `advance` has something to do. If it only waits for a time, or for room, that is noted."""
        if not isinstance(reader.held.state, life.Held):
            return False
        if reader.pace.due_s > now_s:
            self._shards.put_off(reader.key, reader.pace.due_s)
            return False
        is_ready = reader.is_finished or reader.has_work or self._may_fetch(reader)
        if not is_ready and reader.has_room:
            self._line.wait(reader.key)
        return is_ready

    def lag(self) -> dict[str, dict[str, int]]:
        """Return the lag of each shard in milliseconds, by stream: see `ConsumerGroup.lag`."""
        lags: dict[str, dict[str, int]] = {}
        for reader in self._shards.readers():
            lag_ms = self._lag_ms(reader)
            if lag_ms is not None:
                lags.setdefault(reader.stream, {})[reader.shard_id] = lag_ms
        return lags

    def report_lags(self) -> None:
        """Report the lags of shards whose last page is old. It checks them once a second, however often it is called."""
        now_s = self.clock.now_s()
        if now_s < self._lags_s + LOOK_S:
            return
        self._lags_s = now_s
        for reader in self._shards.readers():
            if reader.has_begun and now_s - reader.pace.measured_s >= LAG_S:
                self._measure_lag(reader)

    def _may_fetch(self, reader: ShardReader) -> bool:
        """
        Return whether another page of this shard may be in memory.

        While shards wait for room, no other one takes it: small pages would keep a large one from ever being read.
        """
        finds_room = reader.is_replaying or (self._line.may_go(reader.key) and reader.finds_room())
        return reader.has_room and finds_room

    def take(self) -> Batch | None:
        """Return the next batch for the user; None if there is none now."""
        while (reader := self._shards.next_ready()) is not None:
            if (batch := reader.take()) is not None:
                return batch
        return None

    def commit(self, reader: ShardReader, batch: Batch) -> None:
        """
        Commit *batch* of *reader*, and hand out the next one.

        Raises:
            LeaseLostError: The lease is lost. The batch is not committed, or may be.
            ServiceError: The store refuses the write, and a retry would not help.
        """
        if batch.is_committed:
            return
        if self.leases.process != os.getpid():
            raise RuntimeError(
                "Commit a batch in the process that opened its ConsumerGroup, not in one that was forked from it."
            )
        if not self._shards.reads(reader):
            raise _lost(batch, "its lease is lost", batch.may_be_committed)
        try:
            if not reader.write_commit(batch):
                return
        except LeaseLostError as error:
            self.leases.end(reader)
            if error.may_be_committed:
                log.warning("batch.unconfirmed", batch=str(batch.id), reason=reader.held.reason)
            reason = reader.held.reason or "its lease is lost"
            raise _lost(batch, reason, error.may_be_committed) from error
        log.info("batch.committed", batch=str(batch.id), records=batch.record_count, bytes=batch.size_bytes)
        if isinstance(reader.hand, life.Ready):
            self._shards.put_ready(reader)
        elif reader.has_work:
            reader.go_on(Pace.hurry)  # a page came while the commit was written
        self._shards.look_at(reader.key)
        of_what = {"stream": batch.stream, "shard": batch.shard_id}
        self.leases.callbacks.metric(RECORDS_COMMITTED, batch.record_count, of_what)
        self.leases.callbacks.metric(BYTES_COMMITTED, batch.size_bytes, of_what)

    def _advance(self, reader: ShardReader) -> None:
        if not reader.has_begun:
            parents = unfinished_parents(reader.held.lease, self.leases.find)
            if parents:
                self._wait(reader, f"its parents are not read to their end: {', '.join(parents)}")
                return
            reader.go_on(Pace.begin)
        if self._may_fetch(reader):
            try:
                reader.fetch()
            except NoRoomError:
                self._line.wait(reader.key)
            else:
                self._line.leave(reader.key)
                self._measure_lag(reader)
        if reader.fix_next():
            self._shards.put_ready(reader)
        if reader.is_finished:
            self._finish(reader)

    def _wait(self, reader: ShardReader, reason: str) -> None:
        now_s = self.clock.now_s()
        pace = reader.go_on(lambda pace: pace.wait(now_s))
        if pace.logged_s == now_s:
            waited_s = round(pace.waited_s(now_s))
            log.info("shard.waiting", lease=reader.key, reason=reason, waited_s=waited_s)

    def _measure_lag(self, reader: ShardReader) -> None:
        lag_ms, now_s = self._lag_ms(reader), self.clock.now_s()
        if lag_ms is not None:
            reader.go_on(lambda pace: pace.measure(now_s))
            of_what = {"stream": reader.stream, "shard": reader.shard_id}
            self.leases.callbacks.metric(LAG_MS, lag_ms, of_what)

    def _lag_ms(self, reader: ShardReader) -> int | None:
        """
        Return the lag of the last page, and its age while no further one can be read.

        A shard that waits for its next poll has no more lag than its last page. None before the first page, and after the last one.
        """
        lag_ms = reader.source.feed.lag_ms(reader.shard_id)
        if lag_ms is None or reader.buffer.is_ended:
            return None
        is_read_on = self._may_fetch(reader) and not reader.held.is_handing_over
        if is_read_on and not reader.pace.failures:
            return lag_ms
        return lag_ms + round((self.clock.now_s() - reader.reached.fetched_s) * 1000)

    def _finish(self, reader: ShardReader) -> None:
        """Make the leases of the children, then mark the shard as finished."""
        held = reader.held
        if held.is_handing_over or open_batch(held.lease) is not None:
            return
        api = self.leases.sources[held.lease.stream_id].api
        children = create_children(self.leases.table, held.lease, api)
        if isinstance(children, NotYet):
            self._wait(reader, f"it has ended, and {children.reason}")
            return
        held.checkpoint(FINISHED, None, commit_time(FINISHED, api.now_ms()))
        self._shards.remove(reader, is_finished=True)
        log.info("shard.ended", lease=held.key, worker=self.leases.name)
        self.leases.callbacks.shard_ended(reader.stream, reader.shard_id)
        self._shards.wake()


def _lost(batch: Batch, reason: str, may_be_committed: bool) -> LeaseLostError:
    fate = (
        f"may be committed: the store did not respond, and then the lease was lost ({reason}). It is delivered again if it is "
        "not committed, and never again if it is"
        if may_be_committed
        else f"is not committed, and is delivered again: {reason}"
    )
    return LeaseLostError(
        f"Batch {batch.id} {fate}. Continue with the next batch.",
        batch.shard_id,
        batch.stream,
        may_be_committed,
    )
