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
    """

    def __init__(self, message: str, shard_id: str = "") -> None:
        super().__init__(message, shard_id)
        self.shard_id = shard_id

    def __str__(self) -> str:
        return str(self.args[0])


class HandlerError(KinesisError):
    """
    A handler failed for a batch, also when it was tried again. The batch is not committed, and its lease is released.

    Correct the handler or the record that it fails for. Then start again: the batch is delivered again.
    """


class GroupStateError(KinesisError):
    """
    The table of leases has what this worker cannot work with: leases of other streams than its own, or a state of a newer version.

    Do what the message says.
    """
