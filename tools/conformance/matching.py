"""How a response differs from what a scenario expects of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

_NOTHING = {"$absent", "$none"}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "list": (list,),
    "object": (dict,),
}


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Yield a sentence for each part of *actual* that differs from *expected*. README.md describes the matchers."""
    if isinstance(expected, dict) and any(name.startswith("$") for name in expected):
        for name, argument in expected.items():
            yield from _MATCHERS[name](argument, actual, path)
    elif isinstance(expected, dict):
        yield from _members(expected, actual, path)
    elif isinstance(expected, list):
        yield from _items(expected, actual, path)
    elif expected != actual or isinstance(expected, bool) is not isinstance(actual, bool):
        yield _differs(path, shown(expected), actual)


def shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _differs(path: str, wanted: str, actual: Any) -> str:
    return f"{path or 'the response'} is {shown(actual)}, not {wanted}"


def _members(expected: dict[str, Any], actual: Any, path: str) -> Iterator[str]:
    if not isinstance(actual, dict):
        yield _differs(path, "an object", actual)
        return
    for name, value in expected.items():
        below = f"{path}.{name}" if path else name
        if isinstance(value, dict) and value.keys() & _NOTHING:
            if name in actual and ("$absent" in value or actual[name] is not None):
                yield f"{below} is {shown(actual[name])}, and should be absent"
        elif name not in actual:
            yield f"{below} is missing"
        else:
            yield from differences(value, actual[name], below)


def _items(expected: list[Any], actual: Any, path: str) -> Iterator[str]:
    if not isinstance(actual, list):
        yield _differs(path, "a list", actual)
    elif len(expected) != len(actual):
        yield f"{path} has {len(actual)} elements, not {len(expected)}: {shown(actual)}"
    else:
        for index, (wanted, found) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(wanted, found, f"{path}.{index}")


def _match(pattern: str, actual: Any, path: str) -> Iterator[str]:
    if not isinstance(actual, str) or not re.fullmatch(pattern, actual, re.DOTALL):
        yield _differs(path, f"a text like {pattern}", actual)


def _type(name: str, actual: Any, path: str) -> Iterator[str]:
    if not isinstance(actual, _TYPES[name]) or (isinstance(actual, bool) and name != "boolean"):
        yield _differs(path, f"of the type {name}", actual)


def _length(length: Any, actual: Any, path: str) -> Iterator[str]:
    if not isinstance(actual, (str, list)):
        yield _differs(path, f"a list of length {length}", actual)
    elif list(differences(length, len(actual))):
        yield f"{path} has length {len(actual)}, not {shown(length)}"


def _contains(wanted: list[Any], actual: Any, path: str) -> Iterator[str]:
    for one in wanted:
        if not isinstance(actual, list) or all(list(differences(one, found)) for found in actual):
            yield f"{path} has no {shown(one)}: {shown(actual)}"


def _set(wanted: list[Any], actual: Any, path: str) -> Iterator[str]:
    yield from _contains(wanted, actual, path)
    yield from _length(len(wanted), actual, path)


def _each(wanted: Any, actual: Any, path: str) -> Iterator[str]:
    for index, found in enumerate(actual if isinstance(actual, list) else []):
        yield from differences(wanted, found, f"{path}.{index}")


def _between(bounds: list[float], actual: Any, path: str) -> Iterator[str]:
    low, high = bounds
    if not _are_numbers(actual) or not low <= actual <= high:
        yield _differs(path, f"{low} to {high}", actual)


def _above(bound: Any, actual: Any, path: str) -> Iterator[str]:
    """Compare as whole numbers, since sequence numbers are strings of digits."""
    if not str(actual).isdigit() or int(actual) <= int(bound):
        yield _differs(path, f"above {bound}", actual)


def _not(unwanted: Any, actual: Any, path: str) -> Iterator[str]:
    if not list(differences(unwanted, actual)):
        yield f"{path} is {shown(actual)}, and should be another value"


def _json(wanted: Any, actual: Any, path: str) -> Iterator[str]:
    try:
        parsed = json.loads(actual)
    except (TypeError, ValueError):
        yield _differs(path, "JSON in a string", actual)
    else:
        yield from differences(wanted, parsed, path)


def _violations(wanted: list[str], actual: Any, path: str) -> Iterator[str]:
    """Compare the text of a ValidationException in any order, since AWS does not document the order."""
    errors = "error" if len(wanted) == 1 else "errors"
    prefix = f"{len(wanted)} validation {errors} detected: "
    rest = str(actual).removeprefix(prefix)
    for one in sorted(wanted, key=len, reverse=True):
        rest = rest.replace(one, "", 1)
    if not str(actual).startswith(prefix) or rest.strip("; "):
        yield _differs(path, f"{prefix}{'; '.join(wanted)}", actual)


_MATCHERS: dict[str, Callable[[Any, Any, str], Iterator[str]]] = {
    "$match": _match,
    "$type": _type,
    "$length": _length,
    "$contains": _contains,
    "$set": _set,
    "$each": _each,
    "$between": _between,
    "$above": _above,
    "$not": _not,
    "$json": _json,
    "$violations": _violations,
}
MATCHERS = frozenset({*_MATCHERS, *_NOTHING})
