"""The errors of the emulator, in Kinesis' wording."""

from __future__ import annotations

from collections.abc import Sequence

Violation = tuple[str, str, str]
"""A violated constraint: the path of the value in the request, the value as messages show it or "", and the constraint's text."""


class AwsError(Exception):
    """
    An error of the emulated service, sent as `{"__type": code, "message": message}`.

    Correct the call, as with AWS. The methods of `Emulator` raise it directly; over HTTP a client of AWS sees its own error.

    Attributes:
        code: AWS's name for the error, such as `ResourceNotFoundException`.
        message: AWS's text.
        status: The HTTP status.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(code, message, status)
        self.code = code
        self.message = message
        self.status = status

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def invalid_argument(message: str) -> AwsError:
    return AwsError("InvalidArgumentException", message)


def future_timestamp(time_ms: int, now_ms: int) -> AwsError:
    return invalid_argument(
        "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. "
        f"timestampInMillis: {time_ms}, currentTimestampInMillis: {now_ms}"
    )


def stream_not_found(name: str, account_id: str) -> AwsError:
    return AwsError("ResourceNotFoundException", f"Stream {name} under account {account_id} not found.")


def shard_not_found(shard_id: str, stream: str, account_id: str) -> AwsError:
    return AwsError(
        "ResourceNotFoundException",
        f"Could not find shard {shard_id} in stream {stream} under account {account_id}.",
    )


def consumer_not_found(consumer: str, account_id: str) -> AwsError:
    return AwsError("ResourceNotFoundException", f"Consumer {consumer}, account {account_id} not found.")


def subscription_in_use(account_id: str, stream: str, shard_id: str, consumer: str) -> AwsError:
    return AwsError(
        "ResourceInUseException",
        f"Another active subscription exists for this consumer: {account_id}:{stream}:{shard_id}:{consumer}",
    )


def rate_exceeded(shard_id: str, name: str, account_id: str) -> AwsError:
    return AwsError(
        "ProvisionedThroughputExceededException", rate_exceeded_message(shard_id, name, account_id)
    )


def rate_exceeded_message(shard_id: str, name: str, account_id: str) -> str:
    return f"Rate exceeded for shard {shard_id} in stream {name} under account {account_id}."


def access_denied(action: str, resource: str, account_id: str) -> AwsError:
    user = f"arn:aws:iam::{account_id}:user/emulator"
    return AwsError(
        "AccessDeniedException",
        f"User: {user} is not authorized to perform: kinesis:{action} on resource: {resource} "
        f"because no identity-based policy allows the kinesis:{action} action",
    )


def dry_run_succeeded() -> AwsError:
    return AwsError("DryRunOperationException", "The request would have succeeded without DryRun.")


def invalid(violations: Sequence[Violation]) -> AwsError:
    """Return the error for parameters that violate constraints."""
    found = "; ".join(
        f"Value {shown + ' ' if shown else ''}at '{path}' failed to satisfy constraint: {text}"
        for path, shown, text in violations
    )
    errors = "error" if len(violations) == 1 else "errors"
    return AwsError("ValidationException", f"{len(violations)} validation {errors} detected: {found}")
