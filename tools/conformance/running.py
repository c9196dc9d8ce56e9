"""Carries out scenarios against a server."""

from __future__ import annotations

import itertools
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.request import Request, urlopen

from tools.conformance.calls import Endpoint, Response
from tools.conformance.matching import differences, shown
from tools.conformance.scenarios import Scenario, Step
from tools.conformance.values import at, fill

_MOST_LOOKS = 80
_MOST_RETRIES = 30
_NUMBER_OF_ACCOUNT = re.compile(r"under account (.+) not found")
_names = itertools.count()


@dataclass(frozen=True)
class Clock:
    """
    How time passes for the server.

    Attributes:
        pause: Lets a number of seconds pass.
        look_s: The time between two calls of a step with `until`.
    """

    pause: Callable[[float], None]
    look_s: float


REAL = Clock(time.sleep, 0.25)


def moved_by(url: str, look_s: float) -> Clock:
    """Return the clock of a server that a POST to *url* with a number of `seconds` moves on, as our emulator's."""

    def advance(seconds: float) -> None:
        body = json.dumps({"seconds": seconds}).encode()
        urlopen(Request(url, body, method="POST"), timeout=60).close()  # noqa: S310 - the user's own server

    return Clock(advance, look_s)


@dataclass(frozen=True)
class Result:
    """What a scenario showed. An empty *difference* means that it passed."""

    name: str
    difference: str = ""


class Runner:
    """Runs scenarios against *endpoint*, each with streams of its own, which it deletes."""

    def __init__(self, endpoint: Endpoint, clock: Clock = REAL, account: str | None = None) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._account = account or self._find_account()

    def run(self, scenario: Scenario) -> Result:
        """Carry out *scenario*."""
        run = _Run(self._endpoint, self._clock, self._account)
        try:
            for step in scenario.before:
                if found := run.carry_out(step):
                    return Result(scenario.name, f"Before the call, {step.call}: {run.shorten(found)}")
            return Result(scenario.name, run.shorten(run.carry_out(scenario.step)))
        except (OSError, HTTPException, LookupError, ValueError) as error:
            return Result(scenario.name, run.shorten(f"{type(error).__name__}: {error}"))
        finally:
            run.clean_up()

    def run_all(self, scenarios: Iterable[Scenario], workers: int = 1) -> Iterator[Result]:
        """Carry out *scenarios*, up to *workers* at the same time, and yield their results in order."""
        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(self.run, scenarios)

    def _find_account(self) -> str:
        """Return the number of the account, which the server names in an error."""
        response = self._endpoint.call("DescribeStreamSummary", {"StreamName": "conformance-nowhere"})
        found = _NUMBER_OF_ACCOUNT.search(str(response.message))
        return found[1] if found else "000000000000"


class _Run:
    """One scenario while it runs."""

    def __init__(self, endpoint: Endpoint, clock: Clock, account: str) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._stream = f"conformance-{os.getpid()}-{next(_names):04}"
        self._account = account
        self._made: list[tuple[str, str]] = []
        self._names: dict[str, Any] = {
            "stream": self._stream,
            "account": account,
            "region": endpoint.region,
            "arn": f"arn:aws:kinesis:{endpoint.region}:{account}:stream/{self._stream}",
            "now": lambda: int(time.time()),
        }

    def carry_out(self, step: Step) -> str:
        """Carry out one step, and return how the response differs from what is expected."""
        if step.wait_s:
            self._clock.pause(step.wait_s)
            return ""
        response = self._await(step)
        for _ in range(step.times - 1):
            if not self._difference(step, response):
                break
            response = self._call(step)
        found = self._difference(step, response)
        if not found:
            self._names |= {name: at(path, response.body) for name, path in step.save}
        return found

    def _await(self, step: Step) -> Response:
        """Make the call of *step* until its body is as `until` says, but not for ever."""
        response = self._call(step)
        until = fill(step.until, self._names)
        for _ in range(_MOST_LOOKS):
            if step.until is None or not list(differences(until, response.body)):
                break
            self._clock.pause(self._clock.look_s)
            response = self._call(step)
        return response

    def shorten(self, text: str) -> str:
        """Return *text* without what is another in each run."""
        text = text.replace(self._stream, "${stream}")
        return text if len(text) <= 300 else text[:300] + "..."

    def clean_up(self) -> None:
        """Delete the streams that the scenario made."""
        for name, value in self._made:
            with suppress(OSError, HTTPException):
                self._endpoint.call("DeleteStream", {name: value, "EnforceConsumerDeletion": True})

    def _call(self, step: Step) -> Response:
        """Make the call of *step*, again if the server asks for patience that the scenario is not about."""
        parameters = fill(step.parameters, self._names)
        for _ in range(_MOST_RETRIES):
            response = self._endpoint.call(step.call, parameters, fill(step.http, self._names), step.events)
            if not _asks_for_patience(step, response) or _expects(step, response.error_type):
                break
            self._clock.pause(1.0)
        if step.call == "CreateStream" and response.status == 200 and isinstance(parameters, dict):
            self._made.append(("StreamName", str(parameters["StreamName"])))
        return response

    def _difference(self, step: Step, response: Response) -> str:
        return "; ".join(_compare(fill(step.expect, self._names), response))


def _asks_for_patience(step: Step, response: Response) -> bool:
    """Return whether a call was throttled, or set-up meets a limit because of what earlier scenarios have left."""
    if response.error_type == "LimitExceededException":
        return step.expect is None or str(response.message).startswith("Rate exceeded")
    return response.error_type == "ProvisionedThroughputExceededException"


def _expects(step: Step, error_type: str | None) -> bool:
    return bool(step.expect and step.expect.get("error", {}).get("type") == error_type)


def _compare(expect: Any, response: Response) -> Iterator[str]:
    match expect:
        case {"error": error}:
            yield from _compare_error(error, response)
        case _ if response.error_type:
            yield f"it failed with {response.error_type}: {response.message}"
        case {"empty": True}:
            if response.body != "":
                yield f"the body is {shown(response.body)}, and should be empty"
        case {"answer": answer}:
            yield from differences(answer, response.body)


def _compare_error(error: dict[str, Any], response: Response) -> Iterator[str]:
    """Compare the `type`, the `message`, the `status` (default 400) and the `body` of an error."""
    if not response.error_type:
        yield f"it succeeded with {shown(response.body)}"
        return
    yield from differences(error["type"], response.error_type, "the type")
    if "message" in error:
        yield from differences(error["message"], response.message, "the message")
    if "body" in error:
        yield from differences(error["body"], response.body, "the body")
    if (status := error.get("status", 400)) != response.status:
        yield f"the status is {response.status}, not {status}"
