"""The date that a call was signed at, compared with the clock. Nothing else of a signature is looked at."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from kinesis_emulator.errors import AwsError

_TIME = "%Y%m%dT%H%M%SZ"


def check_signature_date(signed_at: str, now_s: float, within_s: float) -> None:
    """
    Refuse a call that was signed more than *within_s* before or after now; one that was not signed passes.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-signing.html (five minutes); the words are
    those of Kinesis' answers in public reports.
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
