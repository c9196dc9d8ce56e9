"""Our emulator against the scenarios of tools/conformance, which come from AWS's documentation and from tests that ran on AWS."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import cbor2
import pytest

from support.vectors import as_json
from tools.conformance.calls import Endpoint, Response
from tools.conformance.running import Runner
from tools.conformance.scenarios import HERE, Scenario, load
from tools.conformance.servers import our_emulator

SCENARIOS = load()
CBOR = "application/x-amz-cbor-1.1"
KNOWN: dict[str, str] = json.loads((HERE / "known_differences.json").read_text(encoding="utf-8"))
"""Scenarios that our emulator does not pass, each with the reason. The page `faithful` shows them."""


class InCbor(Endpoint):
    """Calls in CBOR. Parameters that CBOR cannot have, such as wrong base64, and calls that are special as HTTP stay as they are."""

    def encode(self, parameters: Any) -> tuple[str, bytes]:
        try:
            return CBOR, cbor2.dumps(_to_cbor("", parameters))
        except ValueError:
            return super().encode(parameters)

    def decode(self, content_type: str, raw: bytes) -> Any:
        if content_type != CBOR or not raw:
            return super().decode(content_type, raw)
        return as_json(cbor2.loads(raw, semantic_decoders={1: lambda epoch_ms, _: epoch_ms / 1000}))

    def call(
        self, operation: str, parameters: Any, http: dict[str, Any] | None = None, records: int = 0
    ) -> Response:
        if http:
            return Endpoint(self.url).call(operation, parameters, http, records)
        return super().call(operation, parameters, http, records)


def _to_cbor(name: str, value: Any) -> Any:
    """Return the member *name*. Raises a ValueError for a payload or a time of a wrong type, which is an error of JSON."""
    match value:
        case dict():
            return {member: _to_cbor(member, item) for member, item in value.items()}
        case list():
            return [_to_cbor("", item) for item in value]
    is_time = type(value) in (int, float)
    if value is not None and (
        (name == "Data" and not isinstance(value, str)) or (name.endswith("Timestamp") and not is_time)
    ):
        raise ValueError(name)
    if isinstance(value, str) and name == "Data":
        raw = base64.b64decode(value, validate=True)
        if base64.b64encode(raw).decode() != value:
            raise ValueError(name)
        return raw
    if is_time and name.endswith("Timestamp"):
        return cbor2.CBORTag(1, round(value * 1000))
    return value


@pytest.fixture(scope="session", params=[Endpoint, InCbor], ids=["json", "cbor"])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    with our_emulator(request.param) as made:
        yield made


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario.name))
def test_scenario(runner: Runner, scenario: Scenario) -> None:
    """
    The emulator does what the scenario says, in both formats.

    A known difference must be one, so that a repaired one is noticed.
    """
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
