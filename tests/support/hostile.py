"""Malformed input in place of JSON documents: other JSON, near-JSON, and damaged documents."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

_HOLE = "\N{BLACK SQUARE}"
"""A marker in a document that is replaced by raw text."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
depths = st.integers(1, 1200) | st.sampled_from([50_000, 100_000])
"""Depths around Python's recursion limit, and far beyond."""
nested = st.one_of(
    depths.map(lambda depth: "[" * depth + "]" * depth),
    depths.map(lambda depth: '{"a":' * depth + "1" + "}" * depth),
    depths.map(lambda depth: "[" * depth),
)
odd_values = st.sampled_from(
    [
        *("null", "true", "-0", "1.5", '""', '"5"', '"x"', "[]", "{}", "[null]", '{"a": 1, "a": 2}'),
        *("9223372036854775808", "-1", "1" * 400, "-" + "1" * 5000, "1e400", "-1e400", "1e-400", "1e20"),
        *("253402300800", "253402300800000", "9999999999999999", '"' + "9" * 5000 + '"'),
        *("NaN", "Infinity", "-Infinity", "nan", "1.", "01", "'x'", "", "/**/", "\x00"),
        *(
            '"\\ud800"',
            '"\\udfff\\ud800"',
            '"\\u0000"',
            '"\N{SUPERSCRIPT TWO}"',
            '"\N{ARABIC-INDIC DIGIT FIVE}"',
        ),
    ]
)
values = json_values.map(json.dumps) | odd_values | nested

odd_texts = st.one_of(
    st.text(max_size=30),
    st.text(st.characters(categories=["Cs", "Nd", "No", "Zs", "Cc"]), max_size=8),
    values,
    st.sampled_from(
        [
            "true",
            "1",
            "0",
            "100ms",
            "9" * 19,
            "1e5",
            "64m",
            "a,b",
            "a,,b",
            "arn:aws:kinesis:x",
            "-",
            "eu-west-1",
        ]
    ),
)


@st.composite
def damaged(draw: st.DrawFn, document: Any) -> str:
    """Return *document* as JSON with one of its values, or the whole of it, replaced by anything."""
    locations: list[tuple[Any, Any]] = [(None, None)]
    document = json.loads(json.dumps(document))
    _list_locations(document, locations)
    parent, key = draw(st.sampled_from(locations))
    if parent is None:
        return draw(values)
    parent[key] = _HOLE
    return json.dumps(document, ensure_ascii=False).replace(f'"{_HOLE}"', draw(values))


def _list_locations(value: Any, locations: list[tuple[Any, Any]]) -> None:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        locations.append((value, key))
        _list_locations(below, locations)


@st.composite
def mutated(draw: st.DrawFn, good: bytes) -> bytes:
    """Return *good* with some bytes removed, flipped, inserted or repeated."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        match draw(st.sampled_from(["cut", "flip", "insert", "repeat", "end"])):
            case "cut":
                del data[start:end]
            case "flip" if start < len(data):
                data[start] ^= draw(st.integers(1, 255))
            case "insert":
                data[start:start] = draw(st.binary(max_size=20))
            case "repeat":
                data[end:end] = data[start:end]
            case _:
                del data[end:]
    return bytes(data)


def bodies(*good: Any) -> SearchStrategy[bytes]:
    """Return a strategy of bodies that may come instead of the JSON documents *good*."""
    whole = [json.dumps(document).encode() for document in good]
    return st.one_of(
        st.binary(max_size=300),
        values.map(_encode),
        st.sampled_from(good).flatmap(damaged).map(_encode),
        st.sampled_from(whole).flatmap(mutated),
        st.sampled_from(whole),
    )


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def peak_bytes(run: Callable[[], object]) -> int:
    """Return the peak of memory that *run* uses."""
    run()  # a first run fills the caches
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
