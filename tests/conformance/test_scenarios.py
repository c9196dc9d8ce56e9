"""Our emulator against the scenarios of tools/conformance, which come from AWS's documentation and from tests that ran on AWS."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import cbor2
import pytest

from support.vectors import as_json
from tools.conformance.calls import Endpoint
from tools.conformance.running import Runner
from tools.conformance.scenarios import HERE, Scenario, load
from tools.conformance.servers import our_emulator

SCENARIOS = load()
CBOR = "application/x-amz-cbor-1.1"
KNOWN: dict[str, str] = json.loads((HERE / "known_differences.json").read_text(encoding="utf-8"))
"""Scenarios that our emulator does not pass, each with the reason. The page `faithful` shows them."""


OF_JSON = {one.name for one in SCENARIOS if one.step.http} | {
    *(
        "type-blob-boolean",
        "type-blob-character",
        "type-blob-last-bits",
        "type-blob-length",
        "type-blob-number",
    ),
    *("type-timestamp-boolean", "type-timestamp-string"),
}
"""Scenarios that CBOR cannot have: about HTTP itself, wrong base64, and payloads and times of a wrong type in JSON."""
NAME = attrgetter("name")


class InCbor(Endpoint):
    """Calls in CBOR."""

    def encode(self, parameters: Any) -> tuple[str, bytes]:
        return CBOR, cbor2.dumps(_to_cbor("", parameters))

    def decode(self, content_type: str, raw: bytes) -> Any:
        if content_type != CBOR or not raw:
            return super().decode(content_type, raw)
        return as_json(cbor2.loads(raw, semantic_decoders={1: lambda epoch_ms, _: epoch_ms / 1000}))


def _to_cbor(name: str, value: Any) -> Any:
    """Return the member *name*. Raises a ValueError for a payload or a time that CBOR cannot have."""
    match value:
        case dict():
            return {member: _to_cbor(member, item) for member, item in value.items()}
        case list():
            return [_to_cbor("", item) for item in value]
        case str() if name == "Data":
            return _payload(value)
        case int() | float() if name.endswith("Timestamp") and not isinstance(value, bool):
            return cbor2.CBORTag(1, round(value * 1000))
    if value is not None and (name == "Data" or name.endswith("Timestamp")):
        raise ValueError(f"{name} {value!r} has no form in CBOR")
    return value


def _payload(text: str) -> bytes:
    raw = base64.b64decode(text, validate=True)
    if base64.b64encode(raw).decode() != text:
        raise ValueError(f"{text!r} has superfluous bits")
    return raw


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    with our_emulator() as made:
        yield made


@pytest.fixture(scope="session")
def runner_in_cbor() -> Iterator[Runner]:
    with our_emulator(InCbor) as made:
        yield made


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAME)
def test_scenario(runner: Runner, scenario: Scenario) -> None:
    """The emulator does what the scenario says. A known difference must be one, so that a repaired one is noticed."""
    check(runner, scenario)


@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.name not in OF_JSON], ids=NAME)
def test_scenario_in_cbor(runner_in_cbor: Runner, scenario: Scenario) -> None:
    """In CBOR it does the same."""
    check(runner_in_cbor, scenario)


def check(runner: Runner, scenario: Scenario) -> None:
    difference = runner.run(scenario).difference
    if scenario.name in KNOWN:
        assert difference, "It passes now: remove it from known_differences.json."
    else:
        assert difference == "", scenario.sources


def test_known_differences_exist() -> None:
    """Each known difference is one of a scenario."""
    assert KNOWN.keys() <= {scenario.name for scenario in SCENARIOS}


def test_all_operations() -> None:
    """
    There is a scenario for the answer of every operation of streams and consumers, and one for an error of it.

    On AWS the account would pay for two of these answers.
    """
    answered = {one.step.call for one in SCENARIOS if "error" not in one.step.expect}
    answered |= {step.call for one in SCENARIOS for step in one.before}
    refused = {one.step.call for one in SCENARIOS if "error" in one.step.expect}
    assert _operations() - answered == {"UpdateAccountSettings", "UpdateStreamWarmThroughput"}
    assert _operations() - refused == set()


def _operations() -> set[str]:
    from kinesis_emulator.operations import OPERATIONS

    return set(OPERATIONS)
