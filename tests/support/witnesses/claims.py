"""What the documentation says of libraries that others wrote: the rows of a table, which tests measure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from support.java_programs import KCL_2, KCL_3, KPL
from support.paths import ROOT
from support.witnesses.environment import PROGRAMS, REQUIREMENTS

PAGE = ROOT / "docs" / "reference" / "sdks.md"
_HEADER = "| library | what it does | put | came | came again |"


def libraries() -> set[str]:
    """Return the libraries with their versions, as they are installed."""
    python = dict(line.split("==") for line in REQUIREMENTS.read_text().splitlines() if "==" in line)
    node = json.loads((PROGRAMS / "lifion" / "package.json").read_text())["dependencies"]
    found = [(name, python[name]) for name in ("aiokpl", "async-kinesis", "kcl-rs")]
    java = [("KCL", KCL_2.version), ("KCL", KCL_3.version), ("KPL", KPL.version)]
    return {f"{name} {version}" for name, version in (*found, *node.items(), *java)}


def claims() -> dict[tuple[str, str], tuple[str, str, str]]:
    """Return the last three cells of each row by its first two."""
    rows = PAGE.read_text(encoding="utf-8").partition(_HEADER)[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {(library, what): (put, came, again) for library, what, put, came, again in cells}


def check_claim(library: str, what: str, sent: Sequence[str], came: Sequence[str]) -> None:
    """Check that all that was *sent* *came*, and as often as the documentation says where it has a number. *library* may lack its version."""
    [(put, different, again)] = [
        row for (name, done), row in claims().items() if name.startswith(library) and done == what
    ]
    assert set(came) == set(sent)
    assert (put, different) == (str(len(sent)), str(len(set(came))))
    if again.isdigit():
        assert int(again) == len(came) - len(set(came))
