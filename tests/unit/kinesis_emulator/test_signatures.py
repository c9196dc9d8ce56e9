"""The allowed distance of a signature's date from the clock, on request."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from kinesis_emulator import Emulator, Fault, ManualClock, Settings

NOW_S = 1_700_000_000  # 2023-11-14 22:13:20


@pytest.fixture
def strict(emulator: Emulator) -> Emulator:
    emulator.settings.signed_within_s = 300
    return emulator


@pytest.fixture
def call(post: Any) -> Callable[[str | None], tuple[int, str, str]]:
    """Return a function that lists streams with a signature's date, and returns status, code and message."""

    def call(signed_at: str | None) -> tuple[int, str, str]:
        response, text = post("ListStreams", **({} if signed_at is None else {"X-Amz-Date": signed_at}))
        facts = json.loads(text)
        return response.status, facts.get("__type", ""), facts.get("message", "")

    return call


def date(offset_s: int) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(NOW_S + offset_s))


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("signed_at", [date(-300), date(0), date(300), None])
def test_five_minutes_are_near_enough(call: Any, signed_at: str | None) -> None:
    """A call that was signed up to five minutes before or after now succeeds. So does a call without a signature."""
    assert call(signed_at) == (200, "", "")


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize(
    ("signed_at", "code", "message"),
    [
        (
            date(-301),
            "InvalidSignatureException",
            "Signature expired: 20231114T220819Z is now earlier than 20231114T220820Z "
            "(20231114T221320Z - 5 min.)",
        ),
        (
            date(301),
            "InvalidSignatureException",
            "Signature not yet current: 20231114T221821Z is still later than 20231114T221820Z "
            "(20231114T221320Z + 5 min.)",
        ),
        (
            "Tue, 14 Nov 2023 22:13:20 GMT",
            "IncompleteSignatureException",
            "Date must be in ISO-8601 'basic format'. Got 'Tue, 14 Nov 2023 22:13:20 GMT'. "
            "See http://en.wikipedia.org/wiki/ISO_8601",
        ),
    ],
    ids=["old", "of the future", "in another form"],
)
def test_a_wrong_date_is_refused(call: Any, signed_at: str, code: str, message: str) -> None:
    """A date more than five minutes away, or not in ISO 8601's basic format, is refused in AWS's words."""
    assert call(signed_at) == (400, code, message)


@pytest.mark.usefixtures("strict")
def test_the_clock_decides(call: Any, clock: ManualClock) -> None:
    """The emulator's clock decides what is too old or too new."""
    clock.advance(300)
    assert call(date(0))[0] == 200
    clock.advance(1)
    assert call(date(0))[1] == "InvalidSignatureException"
    assert call(date(601))[0] == 200


@pytest.mark.parametrize("signed_at", [date(-86_400), date(86_400), "yesterday"])
def test_dates_are_not_checked_by_default(call: Any, signed_at: str) -> None:
    """By default the date of a signature does not matter."""
    assert call(signed_at)[0] == 200


def test_a_refused_signature_does_nothing(strict: Emulator, client: Any) -> None:
    """A boto3 whose clock is years ahead of the emulator's is refused before any work or other fault."""
    strict.settings.fault = lambda _: Fault("InternalFailure", status=500)
    with pytest.raises(ClientError) as caught:
        client.put_record(StreamName="orders", Data=b"x", PartitionKey="k")
    assert caught.value.response["Error"]["Code"] == "InvalidSignatureException"
    assert strict.records("orders") == []


def test_a_client_with_the_same_clock_succeeds(new_client: Callable[..., Any]) -> None:
    """An emulator with the same clock accepts boto3's signatures."""
    with Emulator(settings=Settings(signed_within_s=300)) as emulator:
        made = new_client(emulator.endpoint_url)
        assert made.list_streams()["StreamNames"] == []
        made.close()
