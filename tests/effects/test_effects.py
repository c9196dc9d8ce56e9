"""Every declared option has an effect."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from effects.observed import connection, fan_out, sink, source
from effects.observed.wire import Wire
from effects.observed.world import SINK, SOURCE, Half, World
from kinesis_core.options import OptionTable
from kinesis_credentials import forget_sessions
from kinesis_emulator import Emulator, Limits, Settings
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS
from support.key_services import KeyServices
from support.lease_tables import dynamodb

TABLES = {SOURCE.name: SOURCE_OPTIONS, SINK.name: SINK_OPTIONS}
EFFECTS = {
    SOURCE.name: {**connection.EFFECTS, **source.EFFECTS, **fan_out.EFFECTS},
    SINK.name: {**connection.EFFECTS, **sink.EFFECTS},
}
HALVES = {half.name: half for half in (SOURCE, SINK)}
DECLARED = [(half, option.name) for half, table in TABLES.items() for option in table.options]
NOWHERE = "http://127.0.0.1:9"
"""No server listens at the port of the discard service."""
CONFIG = """\
[profile team]
aws_access_key_id = AKIATEAM
aws_secret_access_key = team
"""
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAENVIRONMENT",
    "AWS_SECRET_ACCESS_KEY": "environment",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_ENDPOINT_URL_DYNAMODB": NOWHERE,
    "AWS_ENDPOINT_URL_STS": NOWHERE,
}


@pytest.fixture(autouse=True)
def _aws_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    (tmp_path / "config").write_text(CONFIG)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    forget_sessions()
    yield
    forget_sessions()


@pytest.fixture
def half(request: pytest.FixtureRequest) -> Half:
    return HALVES[request.param]


@pytest.fixture
def world(half: Half) -> Iterator[World]:
    settings = Settings(limits=Limits.unlimited())
    with (
        Emulator(settings=settings) as emulator,
        Wire() as wire,
        KeyServices() as sts,
        dynamodb() as database,
    ):
        yield World(half, emulator, wire, sts, database)


@pytest.mark.parametrize(("half", "option"), DECLARED, indirect=["half"])
def test_effect(half: Half, world: World, option: str) -> None:
    """The option changes what can be observed of the half."""
    effect = EFFECTS[half.name].get(option)
    if effect is None:
        pytest.fail(
            f"The effect of '{option}' on the {half.name} is not tested. Add it to a table of effects in "
            "tests/effects/observed: in connection.py if source and sink share it, otherwise in the file of its group."
        )
    first, then = effect.options()
    assert effect.before != effect.after
    assert effect.observe(world, first) == effect.before
    assert effect.observe(world, then) == effect.after


@pytest.mark.parametrize("name", TABLES)
def test_no_effect_without_an_option(name: str) -> None:
    """Every tested effect belongs to a declared option."""
    assert set(EFFECTS[name]) <= {option.name for option in TABLES[name].options}


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_reasons(table: OptionTable) -> None:
    """A name that is accepted without effect is declared with a reason."""
    assert all(ignored_options.reason for ignored_options in table.ignored_options)
