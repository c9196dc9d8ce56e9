"""Write the tables of SDKs in docs/reference/sdks.md: `python -m docs.generate_sdks [--check]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from docs import sections
from docs.sections import render_rows, update

PAGE = Path(__file__).parent / "reference" / "sdks.md"
RESULTS = Path(sections.__file__).parents[1] / "tests" / "sdks" / "results.json"
"""Written by tests/sdks, which fail when a result changes."""
_OPERATION, _EXCEPTION = "operation", "exception"
_HEADERS = {"operations": _OPERATION, "exceptions": _EXCEPTION, "parts": "part of the SDK"}
"""The header of the first column of each section."""


def _section(call: str) -> str:
    if " " not in call:
        return "operations"
    return "exceptions" if call.split()[:-1] == [_EXCEPTION] else "parts"


def _table(sdks: list[dict[str, Any]], section: str) -> list[str]:
    calls = sorted(call for call in sdks[0]["calls"] if _section(call) == section)
    rows = [(_show(call), *(_cell(sdk["calls"][call]) for sdk in sdks)) for call in calls]
    if section == "parts":
        kinds = {"protocol": "plain", "protocol over TLS": "TLS"}
        rows = [*((name, *(sdk["protocols"][kind] for sdk in sdks)) for name, kind in kinds.items()), *rows]
    return render_rows(
        (_HEADERS[section], *(f"{sdk['title']} {sdk['version']}".strip() for sdk in sdks)), rows
    )


def _show(call: str) -> str:
    """Return the name of a call with its last word, which the SDKs have, as code."""
    kind, _, name = call.rpartition(" ")
    return f"`{name}`" if kind in ("", _EXCEPTION) else f"{kind} `{name}`"


def _cell(result: bool | str) -> str:
    return "yes" if result is True else str(result)


if __name__ == "__main__":
    found = list(json.loads(RESULTS.read_text(encoding="utf-8")).values())
    sys.exit(update(PAGE, {section: _table(found, section) for section in _HEADERS}, sys.argv[1:]))
