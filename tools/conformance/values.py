"""The values that a scenario names: `${...}` in its strings, and members of responses by their path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Names = Mapping[str, Any]
"""The values of a run, such as `stream`, and those that earlier steps saved."""

_PLACE = re.compile(r"\$\{([^}]*)\}")
_REPEATED = re.compile(r"(.*)\*(\d+)", re.DOTALL)
_TIME = re.compile(r"now([+-]\d+)?")


def fill(value: Any, names: Names, quote: Callable[[str], str] = str) -> Any:
    """
    Return *value* with `${...}` replaced in all its strings.

    A string that is one `${...}` becomes the value itself, which may be a number or a list. Inside a longer string *quote* is applied
    to the text of each value.

    Raises:
        KeyError: No step has saved such a value.
    """
    match value:
        case str():
            whole = _PLACE.fullmatch(value)
            if whole and quote is str:
                return _value_of(whole[1], names)
            return _PLACE.sub(lambda found: quote(str(_value_of(found[1], names))), value)
        case list():
            return [fill(one, names, quote) for one in value]
        case {"$times": times, "value": repeated}:
            return [fill(repeated, names, quote)] * int(times)
        case {"$match": pattern}:
            return {"$match": fill(pattern, names, re.escape)}
        case dict():
            return {fill(name, names): fill(one, names, quote) for name, one in value.items()}
    return value


def _value_of(expression: str, names: Names) -> Any:
    if repeated := _REPEATED.fullmatch(expression):
        return repeated[1] * int(repeated[2])
    if time := _TIME.fullmatch(expression):
        return names["now"]() + int(time[1] or 0)
    return names[expression]


def at(path: str, response: Any) -> Any:
    """
    Return the part of *response* at *path*, such as `Records.0.SequenceNumber`. The empty path is all of it.

    Raises:
        LookupError: There is no such part.
    """
    for part in path.split(".") if path else ():
        response = response[int(part) if isinstance(response, list) else part]
    return response
