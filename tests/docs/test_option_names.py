"""The names of options that each half ignores are generated from the other half's declarations."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import generate_option_names as generator


def test_modules_are_current() -> None:
    """The modules in the repository are those that the generator writes."""
    assert generator.main(["--check"]) == 0


def test_stale_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module that differs is an error that names it. Writing the modules again repairs it."""
    monkeypatch.setattr(generator, "PACKAGES", tmp_path / "packages")
    for half in generator.TABLES:
        generator.module_path(half).parent.mkdir(parents=True)
        generator.module_path(half).write_text(generator.render(half))
    generator.module_path("sink").write_text("SINK_NAMES = ()\n")
    assert generator.main(["--check"]) == 1
    assert "options/sink_names.py differs from the declarations" in capsys.readouterr().out
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("half", "own", "foreign"),
    [("source", "startingPosition", "aggregationEnabled"), ("sink", "maxConnections", "startingPosition")],
)
def test_names(half: str, own: str, foreign: str) -> None:
    """The names of a half include neither those of the other half nor those of both."""
    names = generator.list_names(half)
    assert own in names
    assert not {foreign, "streamName", "stsRoleArn"} & set(names)
