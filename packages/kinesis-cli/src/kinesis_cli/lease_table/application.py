"""An application: its lease table, and the streams that it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define, field

from kinesis_cli.ending import CommandError, UsageError
from kinesis_cli.lease_stores import LeaseStore
from kinesis_cli.lease_table.activity import Watched, watch
from kinesis_cli.lease_table.applying import confirm_and_apply
from kinesis_cli.lease_table.changes import release
from kinesis_cli.lease_table.guarding import check_release, check_reset
from kinesis_cli.lease_table.resets import ALL, Reset, plan_resets
from kinesis_cli.lease_table.snapshot import Snapshot
from kinesis_cli.output import note, show_time
from kinesis_cli.wording import in_words_of_commands
from kinesis_core import InvalidRequestError, StreamNotFoundError, TableNotFoundError
from kinesis_core.aws import Connection, StreamApi, StreamRef, stream_client
from kinesis_core.clock import SteadyClock, SystemClock
from kinesis_core.leases import (
    OLDEST,
    Lease,
    LeaseCheckpoint,
    check_number,
    identify_stream,
    last_before,
    recreation,
)
from kinesis_core.shards import certain_from_ms


@define
class ManagedApplication:
    """One application. It calls Kinesis only for a reset: where a position is a time, and for the streams that leases name."""

    connect: Callable[[], Connection]
    """Returns the connection to the account. It is called only before a call to AWS."""
    table: LeaseStore
    stream: str | None
    """Only its leases. A table of one stream that a KCL has made does not name it."""
    _apis: dict[str, StreamApi] = field(factory=dict, init=False)
    _looked_up: set[tuple[str, int]] = field(factory=set, init=False)
    """Streams, and the times that are known to have expired or not."""

    def watch(self, for_s: float) -> Watched:
        """
        Return the leases and the workers, after it was watched for at most *for_s* whether these run.

        Raises:
            CommandError: There is no such table, or the file has no leases of the application.
            ServiceError: The store refuses, or cannot be reached.
        """
        return watch(self._look, for_s, SteadyClock(), SystemClock())

    def reset(self, resets: Sequence[Reset], watched: Watched, *, force: bool, yes: bool) -> None:
        """
        Make the application continue from other positions.

        Raises:
            CommandError: A worker runs and *force* is not set, there is no such lease, the stream was created again, or the answer
                is no.
            IncompleteError: Some leases stayed as they are: somebody else has changed them, or they are malformed.
        """
        check_reset(watched.workers, self.table.name, force=force)
        self._verify_streams(watched.snapshot.leases)
        changes = plan_resets(resets, watched.snapshot, self._last_before)
        malformed = watched.snapshot.malformed if any(each.shard == ALL for each in resets) else ()
        confirm_and_apply(self.table, changes, "Reset", yes=yes, malformed=malformed)

    def release(self, worker: str, watched: Watched, *, force: bool, yes: bool) -> None:
        """
        Make the leases of *worker* free. The errors are those of `reset`.
        """
        check_release(watched.workers, worker, self.table.name, force=force)
        changes = [release(lease) for lease in watched.snapshot.leases if lease.actual_owner == worker]
        confirm_and_apply(self.table, changes, "Release", yes=yes)

    def _look(self) -> Snapshot:
        try:
            return Snapshot.read(self.table.scan()).of_stream(self.stream)
        except TableNotFoundError as error:
            raise CommandError(
                f"DynamoDB in {self.connect().region} has no table {self.table.name}. A lease table has the name of "
                "its application, unless that sets another one. Check the name, --region and the account. For leases in a file of SQLite give --leases FILE."
            ) from error

    def _last_before(self, lease: Lease, until_ms: int) -> LeaseCheckpoint | None:
        """Return the checkpoint of the last record before *until_ms*. None if the shard is gone, with a note."""
        name = self._stream_of(lease)
        api = self._api(name)
        try:
            _check_position(api, lease, name)
            found = last_before(api, lease.shard_id, until_ms, SystemClock())
        except StreamNotFoundError:
            if not lease.is_finished:
                raise
            note(f"Shard {lease.shard_id} is gone and its lease is finished: the lease stays as it is.")
            return None
        if found == OLDEST and (name, until_ms) not in self._looked_up:
            self._looked_up.add((name, until_ms))
            self._note_expired(name, until_ms)
        return found

    def _note_expired(self, name: str, until_ms: int) -> None:
        """Say it if the oldest records of a stream may be no longer those that arrived at a time."""
        api = self._api(name)
        summary = api.describe()
        left_ms = certain_from_ms(api.now_ms(), summary.retention_hours)
        if max(until_ms, summary.created_ms) < left_ms:
            note(
                f"Records of {name} since {show_time(until_ms)} have expired, or may have: the retention is "
                f"{summary.retention_hours} h. Its shards are read from the oldest record left."
            )

    def _verify_streams(self, leases: Sequence[Lease]) -> None:
        """
        Check that the streams which *leases* name exist. Leases of a stream that was created again do not match the shards of the
        new stream.

        Raises:
            CommandError: One was deleted and created again.
        """
        for name in sorted({lease.stream.split(":")[1] for lease in leases if lease.stream}):
            summary = self._api(name).describe()
            now = identify_stream(summary.arn, summary.created_ms)
            if reason := recreation(leases, now):
                raise CommandError(
                    f"{self.table.name} {reason}. Delete these leases, or the table. Then the application "
                    "starts at its initial position. Nothing was "
                    "changed."
                )

    def _api(self, name: str) -> StreamApi:
        if name not in self._apis:
            self._apis[name] = stream_client(self.connect(), StreamRef.parse(name))
        return self._apis[name]

    def _stream_of(self, lease: Lease) -> str:
        if lease.stream is not None:
            return lease.stream.split(":")[1]
        if self.stream is None:
            raise UsageError("A time needs --stream: this lease table does not name it.")
        return self.stream


def _check_position(api: StreamApi, lease: Lease, stream: str) -> None:
    """
    Check that the position of *lease* is one of *stream*. A lease that does not name its stream may be of another one.

    Raises:
        CommandError: Kinesis refuses the position.
    """
    if lease.stream is not None or not lease.checkpoint.is_number:
        return
    try:
        check_number(api, lease.shard_id, int(lease.checkpoint.number), SystemClock())
    except InvalidRequestError as error:
        raise CommandError(
            f"Kinesis refuses the position of shard {lease.shard_id} in stream {stream}: it is none of that stream. "
            f"Check --stream. ({in_words_of_commands(error)})"
        ) from error
