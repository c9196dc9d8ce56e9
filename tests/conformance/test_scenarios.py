"""Our emulator against the scenarios of tools/conformance, which come from AWS's documentation and from tests that ran on AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tools.conformance.running import Runner
from tools.conformance.scenarios import HERE, Scenario, load
from tools.conformance.servers import our_emulator

SCENARIOS = load()
KNOWN: dict[str, str] = json.loads((HERE / "known_differences.json").read_text(encoding="utf-8"))
"""Scenarios that our emulator does not pass, each with the reason. The page `faithful` shows them."""


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    with our_emulator() as made:
        yield made


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario.name))
def test_scenario(runner: Runner, scenario: Scenario) -> None:
    """The emulator does what the scenario says. A known difference must be one, so that a repaired one is noticed."""
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
