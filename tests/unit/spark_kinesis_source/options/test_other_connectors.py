"""Configurations of other connectors' sources: each option works as it is written there, and has an effect."""

from __future__ import annotations

import os

import pytest

from kinesis_core.options.option import normalise
from spark_kinesis_source.options import SOURCE_OPTIONS, SourceOptions
from support.other_connectors import SOURCES, Configuration, see_effect, see_spellings, see_whole

CONFIGURATIONS = pytest.mark.parametrize("configuration", SOURCES.values(), ids=list(SOURCES))
OPTIONS = pytest.mark.parametrize(
    ("configuration", "name"),
    [pytest.param(given, name, id=f"{title}: {name}") for title, given in SOURCES.items() for name in given],
)


@pytest.fixture(autouse=True)
def _no_aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


@CONFIGURATIONS
def test_whole_configurations(configuration: Configuration) -> None:
    """A configuration works unchanged, and the log has one line for each option that is not needed."""
    see_whole(SourceOptions.parse, configuration)


@OPTIONS
def test_spellings(configuration: Configuration, name: str) -> None:
    """An option works in any case, with and without the prefix."""
    see_spellings(SourceOptions.parse, configuration, name)


@OPTIONS
def test_effects(configuration: Configuration, name: str) -> None:
    """The option changes something, or the log says why not."""
    see_effect(SourceOptions.parse, configuration, name)


def test_every_name() -> None:
    """Each declared name of another connector occurs in one of the configurations."""
    tried = {normalise(name) for given in SOURCES.values() for name in given}
    declared = {normalise(alias.name) for option in SOURCE_OPTIONS.options for alias in option.aliases}
    assert declared <= tried
