"""
The errors of consumer groups, besides those of `kinesis_core`.

    KinesisError
    ├── LeaseLostError              another worker has the shard now
    ├── HandlerError                a handler failed for good
    └── GroupStateError             the table has what this worker cannot work with
"""

from __future__ import annotations

from kinesis_core import KinesisError


class LeaseLostError(KinesisError):
    """
    The lease of the shard is lost: another worker has it, or it could not be renewed in time.

    Drop the batch. It is not committed, and the worker that has the shard now delivers it again. Only if the store failed while it
    wrote the commit, and until the lease was lost, the batch may be committed.

    Attributes:
        shard_id: The shard.
        stream: The stream, as in `Batch.stream`.
    """

    def __init__(self, message: str, shard_id: str = "", stream: str = "") -> None:
        super().__init__(message, shard_id, stream)
        self.shard_id = shard_id
        self.stream = stream

    def __str__(self) -> str:
        return str(self.args[0])


class HandlerError(KinesisError):
    """
    A handler failed for a batch, also when it was tried again. The batch is not committed, and its lease is released.

    Correct the handler or the record that it fails for. Then start again: the batch is delivered again. The exception of the handler
    is the cause (`__cause__`). The message has only its type, because its text may hold data of records.

    Attributes:
        stream: The stream, as in `Batch.stream`.
        shard_id: The shard.
        batch_id: The id of the batch, as text.
        attempts: How often the handler was called for the batch or record that it failed for.
    """

    def __init__(
        self, message: str, stream: str = "", shard_id: str = "", batch_id: str = "", attempts: int = 0
    ) -> None:
        super().__init__(message, stream, shard_id, batch_id, attempts)
        self.stream = stream
        self.shard_id = shard_id
        self.batch_id = batch_id
        self.attempts = attempts

    def __str__(self) -> str:
        return str(self.args[0])


class GroupStateError(KinesisError):
    """
    The table of leases has what this worker cannot work with: leases of other streams than its own, or a state of a newer version.

    Do what the message says.
    """
