"""Measurements that are repeated, and the problems that they have."""

from __future__ import annotations

import pytest

from kinesis_cli.lag.repeating import Failed, ProblemNotes, measurements, problems_of
from kinesis_cli.lag.results import ReaderLag, StreamLag
from kinesis_core import UnavailableError

REFUSED = (
    "DynamoDB Scan failed: ResourceNotFoundException (status 400, request id {}): Not found. [table=billing]"
)
MALFORMED = "DynamoDB responded to Scan with a malformed body: no JSON (request id {}). Is it an endpoint?"


def lag(problem: str | None = None) -> StreamLag:
    readers = [ReaderLag(reader="cp", kind="spark", problem=problem)]
    return StreamLag(stream="orders", arn="arn", retention_ms=1, measured_ms=0, readers=readers)


@pytest.mark.parametrize("text", [REFUSED, MALFORMED])
def test_request_ids(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """A problem is written once while it lasts, although each response has a request id of its own."""
    notes = ProblemNotes()
    for request_id in ("7QV3", "none", "0e9b5a44-8c1d-4f"):
        notes.write([text.format(request_id)])
    assert capsys.readouterr().err == text.format("7QV3") + "\n"


def test_problems_that_change(capsys: pytest.CaptureFixture[str]) -> None:
    """Another problem is written, and so is one that comes back."""
    notes = ProblemNotes()
    for problems in (["a"], ["a", "b"], [], ["a"]):
        notes.write(problems)
    assert capsys.readouterr().err == "a\nb\na\n"


def test_problems() -> None:
    """A measurement has the problems of its readers, or the one why it failed."""
    assert problems_of(lag()) == []
    assert problems_of(lag("missing")) == ["missing"]
    assert problems_of(Failed("denied")) == ["denied"]


class Script:
    """Measurements, as an outage lets them be."""

    def __init__(self, *steps: StreamLag | Exception) -> None:
        self.steps = iter(steps)

    def __call__(self) -> StreamLag:
        step = next(self.steps)
        if isinstance(step, Exception):
            raise step
        return step


def test_an_outage() -> None:
    """A measurement that fails is a result too, and the next one follows."""
    found = measurements(Script(lag(), UnavailableError("down"), lag()), 0.0, must_begin=True)
    assert [next(found) for _ in range(3)] == [lag(), Failed("down"), lag()]


def test_the_first_one() -> None:
    """The error of the first measurement ends a command that must begin: a name may be wrong."""
    with pytest.raises(UnavailableError, match="down"):
        next(measurements(Script(UnavailableError("down")), 0.0, must_begin=True))
    assert next(measurements(Script(UnavailableError("down")), 0.0, must_begin=False)) == Failed("down")
