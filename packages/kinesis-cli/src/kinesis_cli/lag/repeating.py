"""Measures again and again. A measurement that fails is a result too: an outage does not end the command."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator

from attrs import define, field, frozen

from kinesis_cli.lag.results import StreamLag
from kinesis_cli.output import note
from kinesis_cli.wording import in_words_of_commands

Measure = Callable[[], StreamLag]
_REQUEST_ID = re.compile(r"request id:? [\w-]+", re.IGNORECASE)


@frozen
class Failed:
    """A measurement that failed: the stream cannot be reached, or there are no credentials."""

    problem: str


def measurements(measure: Measure, period_s: float, *, must_begin: bool) -> Iterator[StreamLag | Failed]:
    """
    Yield what *measure* returns, every *period_s* seconds, without an end.

    Raises:
        KinesisError: The first measurement failed, and *must_begin* is set.
    """
    started_s = time.monotonic()
    yield measure() if must_begin else _try(measure)
    while True:
        time.sleep(max(0.0, started_s + period_s - time.monotonic()))
        started_s = time.monotonic()
        yield _try(measure)


def _try(measure: Measure) -> StreamLag | Failed:
    from kinesis_core import KinesisError

    try:
        return measure()
    except KinesisError as error:
        return Failed(in_words_of_commands(error))


def problems_of(lag: StreamLag | Failed) -> list[str]:
    """Return why the position of some reader, or of all, is not known."""
    if isinstance(lag, Failed):
        return [lag.problem]
    return [reader.problem for reader in lag.readers if reader.problem is not None]


@define
class ProblemNotes:
    """Writes the problems of measurements to the standard error, each one once while it lasts."""

    _noted: set[str] = field(factory=set, init=False)

    def write(self, problems: Iterable[str]) -> None:
        """Write the problems that the last measurement did not have."""
        lasting = {_without_request_ids(problem): problem for problem in problems}
        for key, problem in lasting.items():
            if key not in self._noted:
                note(problem)
        self._noted = set(lasting)


def _without_request_ids(text: str) -> str:
    """Return *text* so that it is the same for each response: AWS gives each one a separate id."""
    return _REQUEST_ID.sub("request id", text)
