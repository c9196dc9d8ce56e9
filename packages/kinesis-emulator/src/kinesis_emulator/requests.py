"""One request: its action, its parameters and the date of its signature, checked as AWS checks them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Literal, TypeVar

from kinesis_emulator.errors import AwsError, validation
from kinesis_emulator.iterators import decode_iterator

NAME_PATTERN = re.compile(r"[a-zA-Z0-9_.-]+")
T = TypeVar("T")
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class Request:
    """
    A call: its action, its parameters as JSON values, and the region, access key and date of its signature.

    The typed getters raise a ValidationException or SerializationException with the parameter's name.
    """

    action: str
    params: dict[str, Any]
    region: str
    access_key: str = ""
    signed_at: str = ""
    """The header x-amz-date; empty for an unsigned call."""
    wire_format: Literal["json", "cbor"] = "json"
    """The format of the bodies of the request and of its response."""

    @property
    def stream_name(self) -> str | None:
        """The stream that the call names, by name, ARN, consumer or iterator."""
        arn = self._given("StreamARN") or self._given("ConsumerARN") or self._iterator_fields()[0]
        return self._given("StreamName") or (arn.partition("/")[2].partition("/")[0] if arn else None)

    @property
    def shard_id(self) -> str | None:
        """The shard that the call names, by id or iterator."""
        given = (self._given(name) for name in ("ShardId", "ShardToSplit", "ShardToMerge"))
        return next(filter(None, given), self._iterator_fields()[1])

    def _given(self, name: str) -> str | None:
        value = self.params.get(name)
        return value if isinstance(value, str) else None

    def _iterator_fields(self) -> tuple[str | None, str | None]:
        text = self._given("ShardIterator")
        if text is None:
            return None, None
        try:
            iterator = decode_iterator(text)
        except AwsError:
            return None, None
        return iterator.stream_arn, iterator.shard_id

    def _value(self, name: str, *kinds: type) -> Any:
        value = self.params.get(name)
        if value is None or (isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))):
            return value
        raise AwsError("SerializationException", f"The value of {name} has a type that cannot be converted.")

    def optional_text(self, name: str) -> str | None:
        value: str | None = self._value(name, str)
        return value

    def text(self, name: str) -> str:
        return _required(name, self.optional_text(name))

    def name(self, name: str) -> str:
        """Return the name of a stream or consumer."""
        value = self.text(name)
        if len(value) > 128:
            raise validation(name, value, "Member must have length less than or equal to 128")
        if not NAME_PATTERN.fullmatch(value):
            pattern = NAME_PATTERN.pattern
            raise validation(name, value, f"Member must satisfy regular expression pattern: {pattern}")
        return value

    def choice(self, name: str, accepted: Iterable[str]) -> str:
        value = self.text(name)
        if value not in accepted:
            members = ", ".join(accepted)
            raise validation(name, value, f"Member must satisfy enum value set: [{members}]")
        return value

    def optional_integer(self, name: str, lowest: int, highest: int | None = None) -> int | None:
        value: int | None = self._value(name, int)
        if value is not None and value < lowest:
            raise validation(name, value, f"Member must have value greater than or equal to {lowest}")
        if value is not None and highest is not None and value > highest:
            raise validation(name, value, f"Member must have value less than or equal to {highest}")
        return value

    def integer(self, name: str, lowest: int, highest: int | None = None) -> int:
        return _required(name, self.optional_integer(name, lowest, highest))

    @property
    def is_dry_run(self) -> bool:
        """Whether the call is only checked and not carried out."""
        return self._value("DryRun", bool) is True

    def optional_time_ms(self, name: str) -> int | None:
        """Return a timestamp in milliseconds. Requests send seconds."""
        value = self._value(name, int, float)
        return None if value is None else round(value * 1000)

    def member(self, name: str) -> Request:
        """Return the structure *name* as a request with its parameters; without parameters if it is absent."""
        return Request(self.action, self._value(name, dict) or {}, self.region, self.access_key)


def _required(name: str, value: T | None) -> T:
    if value is None:
        raise validation(name, None, "Member must not be null")
    return value


def check_signature_date(signed_at: str, now_s: float, within_s: float) -> None:
    """
    Refuse a call that was signed more than *within_s* seconds before or after now. An unsigned call passes.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-signing.html (five minutes). The wording is that
    of Kinesis' responses in public reports.
    """
    if not signed_at:
        return
    try:
        signed = datetime.strptime(signed_at, _TIME).replace(tzinfo=timezone.utc)
    except ValueError:
        raise AwsError(
            "IncompleteSignatureException",
            f"Date must be in ISO-8601 'basic format'. Got '{signed_at}'. "
            "See http://en.wikipedia.org/wiki/ISO_8601",
        ) from None
    now, within = datetime.fromtimestamp(now_s, timezone.utc), timedelta(seconds=within_s)
    minutes = f"{within_s / 60:g} min."
    if signed < now - within:
        raise _refused(
            f"expired: {signed_at} is now earlier than {now - within:{_TIME}} ({now:{_TIME}} - {minutes})"
        )
    if signed > now + within:
        raise _refused(
            f"not yet current: {signed_at} is still later than {now + within:{_TIME}} ({now:{_TIME}} + {minutes})"
        )


def _refused(why: str) -> AwsError:
    return AwsError("InvalidSignatureException", f"Signature {why}")
