"""Configurations of other connectors: each of their options works as it is written there, and has an effect."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("pyspark")

from kinesis_core.errors import OptionError
from kinesis_core.options import Origin, aliases_of
from kinesis_core.options.option import normalise
from spark_kinesis_sink.options import SINK_OPTIONS, SinkOptions
from spark_kinesis_source.options import SOURCE_OPTIONS, SourceOptions
from support.other_connectors import SINKS, SOURCES, Configuration, Parse

HALVES = ((SourceOptions.parse, SOURCES), (SinkOptions.parse, SINKS))
WHOLE = [pytest.param(parse, given, id=title) for parse, found in HALVES for title, given in found.items()]
EACH = [
    pytest.param(parse, given, name, id=f"{title}: {name}")
    for parse, found in HALVES
    for title, given in found.items()
    for name in given
]
ONLY_CHECKED = {"registeredConsumerIdType"}
"""They say of another option what it shows by itself."""
OPTIONS = pytest.mark.parametrize(("parse", "configuration", "name"), EACH)


@pytest.fixture(autouse=True)
def _no_aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


@pytest.mark.parametrize(("parse", "configuration"), WHOLE)
def test_whole_configurations(parse: Parse, configuration: Configuration) -> None:
    """A configuration works unchanged, and the log has one line for each option that is not needed."""
    ignored = parse(configuration).ignored
    assert all("has no effect here" in reason for reason in ignored)
    assert len(set(ignored)) == len(ignored)


@OPTIONS
def test_spellings(parse: Parse, configuration: Configuration, name: str) -> None:
    """An option works in any case, with and without the prefix."""
    expected = parse(configuration)
    bare = name[len("kinesis.") :] if name.lower().startswith("kinesis.") else name
    for spelling in (name.lower(), name.upper(), bare, f"kinesis.{bare}", f"KINESIS.{bare.lower()}"):
        options = parse({spelling if n == name else n: value for n, value in configuration.items()})
        assert options == expected
        assert len(options.ignored) == len(expected.ignored)


@OPTIONS
def test_effects(parse: Parse, configuration: Configuration, name: str) -> None:
    """The option changes something, or the log says why not."""
    options = parse(configuration)
    is_logged = any(f"{name.removeprefix('kinesis.')}'" in reason for reason in options.ignored)
    rest = {other: value for other, value in configuration.items() if other != name}
    try:
        is_missed = parse(rest) != options
    except OptionError:
        is_missed = True
    assert is_missed or is_logged or name in ONLY_CHECKED


def test_every_name_of_the_source() -> None:
    """Each declared name of another connector occurs in one of the configurations of sources."""
    tried = {normalise(name) for given in SOURCES.values() for name in given}
    declared = {normalise(alias.name) for option in SOURCE_OPTIONS.options for alias in aliases_of(option)}
    assert declared <= tried


def test_every_name_of_the_sink() -> None:
    """Each declared name of a connector that has a sink occurs in one of the configurations of sinks."""
    tried = {normalise(name) for given in SINKS.values() for name in given}
    aliases = [alias for option in SINK_OPTIONS.options for alias in aliases_of(option)]
    declared = {normalise(alias.name) for alias in aliases if alias.origin is not Origin.DATABRICKS}
    assert declared <= tried
