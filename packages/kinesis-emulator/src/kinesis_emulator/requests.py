"""One request: its action, its parameters, and the date of its signature, which is checked as AWS checks it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from kinesis_emulator.cbor import Time
from kinesis_emulator.errors import AwsError
from kinesis_emulator.iterators import decode_iterator
from kinesis_emulator.validation import MODEL, to_integer
from kinesis_emulator.wire_formats import WireFormat

NAME_PATTERN = re.compile(MODEL["shapes"]["StreamName"]["pattern"])
HttpVersion = Literal["1.1", "2"]
"""The version of HTTP by which a request came. 1.1 stands for 1.0 too."""
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class Request:
    """
    A call: its action, its parameters as `BodyFormat.decode` returns them, and the region, access key and date of its signature.

    The getters are for parameters that `check_request` has checked: required ones are there, and all have their types.
    """

    action: str
    params: dict[str, Any]
    region: str
    access_key: str = ""
    signed_at: str = ""
    """The header x-amz-date; empty for an unsigned call."""
    wire_format: WireFormat = "json"
    """The format of the bodies of the request and of its response."""
    http_version: HttpVersion = "1.1"

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

    def optional_text(self, name: str) -> str | None:
        value: str | None = self.params.get(name)
        return value

    def text(self, name: str) -> str:
        return str(self.params[name])

    @property
    def is_dry_run(self) -> bool:
        """Whether the call is only checked and not carried out."""
        return self.is_set("DryRun")

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        return list(self.params[name])

    def optional_integer(self, name: str) -> int | None:
        value = self.params.get(name)
        return None if value is None else to_integer(value)

    def integer(self, name: str) -> int:
        return to_integer(self.params[name])

    def is_set(self, name: str) -> bool:
        """Return whether a boolean is given and true."""
        return self.params.get(name) is True

    def optional_time_ms(self, name: str) -> int | None:
        """Return a timestamp in milliseconds. Requests in JSON send seconds."""
        value = self.params.get(name)
        if isinstance(value, Time):
            return value.epoch_ms
        return None if value is None else round(value * 1000)

    def member(self, name: str) -> Request:
        """Return the structure *name* as a request with its parameters; without parameters if it is absent."""
        return replace(self, params=self.params.get(name) or {})


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
