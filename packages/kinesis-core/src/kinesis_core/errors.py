"""
Every error of the core, one class per situation that a caller can act on.

    KinesisError
    ├── OptionError (ValueError)        an option's name or value
    │   └── TableLayoutError            the DynamoDB table that it names is one of something else
    ├── OffsetError (ValueError)        an offset that cannot be read or is not ours
    ├── DataLossError                   records left the stream before they were read
    ├── StreamRecreatedError            the stream was deleted and created anew
    ├── StaleListingError               ListShards keeps leaving out shards; nothing was skipped
    ├── InvalidRecordError (ValueError) a record that Kinesis would not take, found before it was sent
    ├── PutError                        records could not be written
    └── ServiceError                    AWS, or the way to it, said no
        ├── StreamNotFoundError
        ├── TableNotFoundError
        ├── AccessDeniedError
        ├── InvalidRequestError
        ├── IteratorExpiredError        renew the iterator and go on
        ├── ResourceInUseError          somebody else, or oneself a moment ago, holds it
        ├── DryRunSucceededError        the call would have succeeded
        ├── ThrottledError              retryable
        ├── UnavailableError            retryable
        └── MalformedResponseError        retryable

`ServiceError.retryable` says whether the same call may succeed later. All of them pickle, and their
message carries everything: Spark drops `__cause__` on the way from an executor to the user.
"""

from __future__ import annotations

from collections.abc import Mapping


class KinesisError(Exception):
    """Base class of all errors of this package."""


class OptionError(KinesisError, ValueError):
    """An option has an unknown name, a value outside its domain, or contradicts another."""


class TableLayoutError(OptionError):
    """
    The DynamoDB table has another key than a table of leases.

    Attributes:
        keys: The names of the attributes that make up its key.
    """

    def __init__(self, message: str, keys: tuple[str, ...] = ()) -> None:
        super().__init__(message, keys)
        self.keys = keys

    def __str__(self) -> str:
        return str(self.args[0])


class OffsetError(KinesisError, ValueError):
    """An offset is damaged, of an unknown version, or belongs to another stream."""


class DataLossError(KinesisError):
    """Records between the saved position and the oldest one left are gone from the stream."""


class StreamRecreatedError(KinesisError):
    """The stream has another creation time than the one the offset was made with."""


class StaleListingError(KinesisError):
    """ListShards kept leaving out shards. Nothing was skipped: the same query goes on once the listing is whole."""


class InvalidRecordError(KinesisError, ValueError):
    """
    A record is too large, or its key or explicit hash key is outside its domain.

    Attributes:
        row: Its place in what was to be put at once, from 0. Nothing of that was put.
    """

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message, row)
        self.row = row

    def __str__(self) -> str:
        return str(self.args[0])


class PutError(KinesisError):
    """
    Records that were put could not be written: not in time, or not at all.

    Attributes:
        counts: How many user records, by AWS's error code or the name of what went wrong.
        shard_id: The shard that the first of them belongs to, as far as it is known.
        key_sha256: The first digits of the SHA-256 of that one's partition key, for finding it; never the key.
    """

    def __init__(
        self, message: str, counts: Mapping[str, int], shard_id: str | None = None, key_sha256: str = ""
    ) -> None:
        super().__init__(message, dict(counts), shard_id, key_sha256)
        self.counts = dict(counts)
        self.shard_id = shard_id
        self.key_sha256 = key_sha256

    def __str__(self) -> str:
        return str(self.args[0])


class ServiceError(KinesisError):
    """
    A call to Kinesis, or to DynamoDB for leases, failed.

    Attributes:
        code: AWS's error code, or the exception's class name when no answer came.
        request_id: AWS's request id, or "" when no answer came.
        retryable: Whether the same call may succeed later.
    """

    retryable = False

    def __init__(self, message: str, code: str = "", request_id: str = "") -> None:
        super().__init__(message, code, request_id)
        self.code = code
        self.request_id = request_id

    def __str__(self) -> str:
        return str(self.args[0])


class StreamNotFoundError(ServiceError):
    """The stream, or the shard in it, does not exist (or no longer does)."""


class TableNotFoundError(ServiceError):
    """The DynamoDB table does not exist (or no longer does)."""


class AccessDeniedError(ServiceError):
    """The credentials in use lack a permission, or AWS does not accept them."""


class InvalidRequestError(ServiceError):
    """Kinesis refused an argument: a foreign sequence number, a future timestamp, a malformed name."""


class IteratorExpiredError(ServiceError):
    """A shard iterator was older than 5 minutes. The caller renews it from its last position."""


class ResourceInUseError(ServiceError):
    """A consumer's shard was subscribed to less than 5 seconds ago, or somebody else has taken it or its name."""


class DryRunSucceededError(ServiceError):
    """The call was a dry run and would have succeeded without it."""


class ThrottledError(ServiceError):
    """The shard's or the account's rate limit was exceeded."""

    retryable = True


class UnavailableError(ServiceError):
    """Kinesis failed (5xx), could not be reached, or the connection broke."""

    retryable = True


class MalformedResponseError(ServiceError):
    """A successful status came with a body that is not a Kinesis answer."""

    retryable = True
