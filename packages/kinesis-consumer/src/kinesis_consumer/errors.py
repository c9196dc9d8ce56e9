"""
The errors of consumer groups, in addition to the errors of `kinesis_core`.

    KinesisError
    ├── LeaseLostError              the lease was lost before the commit, or this is unknown
    ├── HandlerError                a handler failed in all attempts
    ├── WorkerNameInUseError        another process has the name of this worker
    └── GroupStateError             this worker cannot use the leases in the store
"""

from __future__ import annotations

from kinesis_core import KinesisError


class LeaseLostError(KinesisError):
    """
    This worker lost the lease of the shard: another worker has it, or it was not renewed in time.

    Continue with the next batch. If `may_be_committed` is false, this batch is not committed and is delivered again. If it is
    true, nobody knows whether the batch is committed: the commit got no response, and reading the lease afterwards did not show
    it. So undo the effects of a batch only if `may_be_committed` is false.

    Attributes:
        shard_id: The shard.
        stream: The stream, as in `Batch.stream`.
        may_be_committed: Whether the batch may be committed although `commit` failed.
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
    A handler failed for a batch, even after all retries. This worker fails. The other workers continue. The batch is not committed,
    unless the handler committed it.

    Correct the handler, or give an `on_failure`, and start this worker again. Until then the next worker that reads the shard gets
    the same batch, and its handler probably fails too. The handler's exception is the cause (`__cause__`). The message has only
    its type, because its text may contain data of records.

    Attributes:
        stream: The stream, as in `Batch.stream`.
        shard_id: The shard.
        batch_id: The id of the batch, as text.
        attempts: How often the handler was called for the failed batch or record.
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
    This worker cannot use the leases in the store. They are of other streams, workers of a KCL before 3.5 use them, or a newer
    version of this package or of the KCL wrote them.

    Follow the advice in the message.
    """


class WorkerNameInUseError(KinesisError):
    """
    Another running process of the group has the name of this worker. Both would deliver and commit the same batches.

    Give each worker its own name. Or give no name: then each worker has a new one. The name of a killed process can be used again
    after its leases have expired.
    """
