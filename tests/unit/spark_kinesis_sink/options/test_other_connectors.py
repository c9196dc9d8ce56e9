"""Configurations of other connectors' sinks: each of their options is accepted and has an effect."""

from __future__ import annotations

import os

import pytest

from kinesis_core.options import Origin
from kinesis_core.options.option import normalise
from spark_kinesis_sink.options import SINK_OPTIONS, SinkOptions
from support.other_connectors import SINKS, Configuration, see_effect, see_spellings, see_whole

CONFIGURATIONS = pytest.mark.parametrize("configuration", SINKS.values(), ids=list(SINKS))
OPTIONS = pytest.mark.parametrize(
    ("configuration", "name"),
    [pytest.param(given, name, id=f"{title}: {name}") for title, given in SINKS.items() for name in given],
)


@pytest.fixture(autouse=True)
def _no_aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


@CONFIGURATIONS
def test_whole_configurations(configuration: Configuration) -> None:
    """A configuration is accepted unchanged. One line is logged for each option that is not needed."""
    see_whole(SinkOptions.parse, configuration)


@OPTIONS
def test_spellings(configuration: Configuration, name: str) -> None:
    """An option is the same in upper and lower case, with and without the prefix."""
    see_spellings(SinkOptions.parse, configuration, name)


@OPTIONS
def test_effects(configuration: Configuration, name: str) -> None:
    """Each option changes something, or the log says why it does not."""
    see_effect(SinkOptions.parse, configuration, name)


def test_every_name() -> None:
    """Each declared alias of a connector that has a sink is in one of the configurations."""
    tried = {normalise(name) for given in SINKS.values() for name in given}
    aliases = [alias for option in SINK_OPTIONS.options for alias in option.aliases]
    declared = {normalise(alias.name) for alias in aliases if alias.origin is not Origin.DATABRICKS}
    assert declared <= tried
