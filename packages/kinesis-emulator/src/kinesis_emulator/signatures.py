"""Checks the date of a call's signature against the clock. No other part of the signature is checked."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from kinesis_emulator.errors import AwsError

_TIME = "%Y%m%dT%H%M%SZ"


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
