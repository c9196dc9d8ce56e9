"""
The errors of consumer groups, besides those of `kinesis_core`.

    KinesisError
    ├── LeaseLostError              the lease was lost before the commit, or nobody knows
    ├── HandlerError                a handler failed for good
    ├── WorkerNameInUseError        another process has the name of this worker
    └── GroupStateError             the table has what this worker cannot work with
"""

from __future__ import annotations

from kinesis_core import KinesisError


class LeaseLostError(KinesisError):
    """
    The lease of the shard is lost: another worker has it, or it could not be renewed in time.

    Go on with the next batch. If `may_be_committed` is false, this batch is not committed, and is delivered again. If it is true, nobody
    knows: the commit was sent and got no response, and a look afterwards did not decide it. The batch is delivered again only if it is
    not committed. So undo what was done for a batch only if `may_be_committed` is false.

    Attributes:
        shard_id: The shard.
        stream: The stream, as in `Batch.stream`.
        may_be_committed: Whether the batch may be committed nevertheless.
    """

    def __init__(
        self, what: str, shard_id: str = "", stream: str = "", may_be_committed: bool = False
    ) -> None:
        super().__init__(what)
        self.where |= {"stream": stream, "shard": shard_id} if stream else {}
        self.shard_id = shard_id
        self.stream = stream
        self.may_be_committed = may_be_committed


class HandlerError(KinesisError):
    """
    A handler failed for a batch, also when it was tried again. The batch is not committed, unless the handler did that itself, and its
    lease is released.

    Correct the handler or the record that it fails for. Then start again: a batch that is not committed is delivered again. The exception of the handler
    is the cause (`__cause__`). The message has only its type, because its text may hold data of records.

    Attributes:
        stream: The stream, as in `Batch.stream`.
        shard_id: The shard.
        batch_id: The id of the batch, as text.
        attempts: How often the handler was called for the batch or record that it failed for.
    """

    def __init__(
        self, what: str, stream: str = "", shard_id: str = "", batch_id: str = "", attempts: int = 0
    ) -> None:
        super().__init__(what, stream=stream, shard=shard_id, batch=batch_id)
        self.stream = stream
        self.shard_id = shard_id
        self.batch_id = batch_id
        self.attempts = attempts


class GroupStateError(KinesisError):
    """
    The table of leases has what this worker cannot work with: leases of other streams than its own, workers of a KCL before 3.5, or a
    state of a newer version.

    Do what the message says.
    """


class WorkerNameInUseError(KinesisError):
    """
    Another process of the group runs with the name of this worker. Both would deliver and commit the same batches.

    Give each process a name of its own, or none. A process that was killed is no obstacle: its name is free once its leases expire.
    """
