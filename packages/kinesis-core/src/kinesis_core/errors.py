"""
The errors of the core: one class for each situation that a caller can act on.

    KinesisError                        of kinesis_credentials, because its errors are below this one, too
    ├── OptionError (ValueError)        an option has an unknown name or an invalid value
    │   └── TableLayoutError            the DynamoDB table is not a lease table
    ├── OffsetError (ValueError)        a saved offset cannot be used
    ├── DataLossError                   records expired before they were read
    ├── StreamRecreatedError            the stream was deleted and created again
    ├── StaleListingError               ListShards keeps leaving out shards; nothing was skipped
    ├── InvalidRecordError (ValueError) a record breaks a limit of Kinesis; it was not sent
    ├── PutError                        records could not be written
    ├── ProducerClosedError             a producer takes no more records
    ├── ProcessLimitError               the process may have no more memory or threads
    └── ServiceError                    a call to AWS failed
        ├── StreamNotFoundError
        ├── TableNotFoundError
        ├── AccessDeniedError
        ├── InvalidRequestError
        ├── IteratorExpiredError        get a new iterator and continue
        ├── ResourceInUseError          another subscription or registered consumer holds the resource
        ├── DryRunSucceededError        the call is allowed
        ├── WireFormatError             the endpoint does not speak CBOR
        ├── StreamNotReadyError         retryable
        ├── ThrottledError              retryable
        ├── UnavailableError            retryable
        └── MalformedResponseError      retryable

`ServiceError.retryable` is true where the same call may succeed later. All errors pickle. The message holds all facts, AWS's error
code and request id included, because Spark drops `__cause__` on the way from an executor to the user.

The reference page of errors is made of the docstrings: the first paragraph says what happened, the next ones what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from kinesis_credentials.advice import Advices
from kinesis_credentials.base import KinesisError as KinesisError


class OptionError(KinesisError, ValueError):
    """
    An option or argument has an unknown name or an invalid value, or contradicts another one.

    Correct it. The message names the option, the values that it accepts and the value that it got.
    """


class TableLayoutError(OptionError):
    """
    The DynamoDB table exists, but its key is not the key of a lease table.

    Name another table.

    Attributes:
        keys: The names of the table's key attributes.
    """

    def __init__(self, what: str, keys: tuple[str, ...] = (), advice: Advices = (), **where: Any) -> None:
        super().__init__(what, advice=advice, **where)
        self.keys = keys


class OffsetError(KinesisError, ValueError):
    """
    A saved offset cannot be used. It is damaged, has an unknown version or field, or belongs to another stream. Or it names a
    future time, or a record that the shard never had.

    Restore the checkpoint or the file from a backup, or start without the offset.
    """


class DataLossError(KinesisError):
    """
    Records expired before they were read, or may have expired. They came after the saved offset, or after the time where reading
    starts.

    The expired records stay lost. To continue with the oldest record that is left, set `fail_on_data_loss=False`: in `PlanSettings`
    and `ReadSettings` for a `Stream`, in `GroupSettings` for a group. If reading starts at a time, start at a later one, or at
    TRIM_HORIZON. A longer retention of the stream only keeps the remaining records for longer.
    """


class StreamRecreatedError(KinesisError):
    """
    The stream was deleted and created again: its creation time differs from the one in the offset, or in the leases of a group.

    Start again without the saved offset, or with new leases: the saved ones do not apply to the new stream.
    """


class StaleListingError(KinesisError):
    """
    ListShards keeps leaving out shards that must exist. No record was skipped.

    Start again: reading continues once the listing is complete.
    """


class InvalidRecordError(KinesisError, ValueError):
    """
    A record is too large, its data is not bytes, or its partition key or explicit hash key is invalid. It was not sent.

    Correct the record, or leave it out. A producer stays usable.

    Attributes:
        row: The record's index, from 0, among the records of the same call. No record of that call was put.
    """

    def __init__(self, what: str, row: int = 0, **where: Any) -> None:
        super().__init__(what, **where)
        self.row = row


class PutError(KinesisError):
    """
    Records could not be written, or it is unknown whether they were.

    Remove the cause, which `counts` names. Then open a new producer, and write the records since the last flush again.

    Attributes:
        counts: Number of user records that are not confirmed as written, by AWS's error code, or by the name of the failure.
        shard_id: Shard of the first of them; None when it is not known.
        key_sha256: First digits of the SHA-256 of that record's partition key, to find the record. Never the key itself.
    """

    def __init__(
        self,
        what: str,
        counts: Mapping[str, int],
        shard_id: str | None = None,
        key_sha256: str = "",
        advice: Advices = (),
        **where: Any,
    ) -> None:
        super().__init__(what, advice=advice, **where)
        if shard_id is not None:
            self.where |= {"shard": shard_id, "key_sha256": key_sha256}
        self.counts = dict(counts)
        self.shard_id = shard_id
        self.key_sha256 = key_sha256


class ProducerClosedError(KinesisError):
    """
    The producer takes no more records: it is closed, it was opened in another process, or Python has ended.

    Open a new producer, one in each process. Close it before the program ends.
    """


class ProcessLimit(Enum):
    """What the operating system limits."""

    ADDRESS_SPACE = "RLIMIT_AS"
    """The memory that a process reserves."""
    USER_THREADS = "RLIMIT_NPROC"
    """The processes and threads of a user."""
    TASKS = "pids.max"
    """The processes and threads of a container."""
    OTHER = "unknown"


class ProcessLimitError(KinesisError):
    """
    The operating system gives the process no more memory, or not even one thread.

    Raise the limit that the message names.

    Attributes:
        limit: The limit that is reached, a `ProcessLimit`.
    """

    def __init__(self, what: str, limit: ProcessLimit = ProcessLimit.OTHER, advice: Advices = ()) -> None:
        super().__init__(what, advice=advice)
        self.limit = limit


class ServiceError(KinesisError):
    """
    A call to AWS failed: to Kinesis, or to DynamoDB for leases.

    Follow the advice in the message, which has AWS's code and request id.

    Attributes:
        code: AWS's error code, or the exception's class name when there was no response.
        request_id: AWS's request id, or "" when there was no response.
        retryable: Whether the same call may succeed later.
    """

    retryable = False

    def __init__(
        self, what: str, code: str = "", request_id: str = "", advice: Advices = (), **where: Any
    ) -> None:
        super().__init__(what, advice=advice, **where)
        self.code = code
        self.request_id = request_id


class StreamNotFoundError(ServiceError):
    """
    The stream, or the shard or registered consumer in it, does not exist.

    Check the stream's name or ARN, the region, the account and the endpoint.
    """


class StreamNotReadyError(ServiceError):
    """
    The stream was not ready in two minutes: it is CREATING, or Kinesis refuses calls although it describes the stream as ACTIVE.

    Check the status of the stream, then start again. Creating a stream with thousands of shards takes AWS some minutes.
    """

    retryable = True


class TableNotFoundError(ServiceError):
    """
    The DynamoDB table does not exist.

    Check the name of the table, the region and the account.
    """


class AccessDeniedError(ServiceError):
    """
    The credentials lack a permission, or AWS does not accept them.

    Allow the IAM action that the message names, or use other credentials.
    """


class InvalidRequestError(ServiceError):
    """
    Kinesis refused an argument: a sequence number of another shard or stream, a future timestamp, a malformed name.

    Correct what Kinesis names in the message.
    """


class IteratorExpiredError(ServiceError):
    """The shard iterator is older than 5 minutes. The caller gets a new one for the last record it read."""


class ResourceInUseError(ServiceError):
    """
    The resource is in use. The last subscription to the shard was less than 5 seconds ago, or the registered consumer or table
    is being created or deleted, or its name is taken.

    Wait until it is free, or choose another consumer or table.
    """


class DryRunSucceededError(ServiceError):
    """The call was a dry run. It would have succeeded."""


class WireFormatError(ServiceError):
    """
    The endpoint cannot read a request in CBOR, or responds to it in JSON.

    Use JSON as the wire format, or call another endpoint.
    """


class ThrottledError(ServiceError):
    """
    The rate limit of the shard, the account or the lease table was exceeded. Reading by polling and a producer repeat such a call
    and do not raise this error. It comes from calls for a registered consumer and from calls on a lease table.

    Add shards, or let the other users of the stream make fewer calls. For a lease table, raise its capacity.
    """

    retryable = True


class UnavailableError(ServiceError):
    """
    Kinesis failed (HTTP 5xx), could not be reached, or the connection broke. With the code `NoProgress`, a shard returned only
    empty pages for ten minutes, although it has not been read to its newest record.

    Check the endpoint, the region, the network and the proxy. If these are right, start again later. With `NoProgress` no record
    is skipped: start again later, and ask AWS about the shard if the error comes again.
    """

    retryable = True


class MalformedResponseError(ServiceError):
    """
    The status was a success, but the body is not a Kinesis response. A proxy may have sent it.

    Check the endpoint: is it an endpoint of Kinesis? Check the proxy as well.
    """

    retryable = True
