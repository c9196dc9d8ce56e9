"""Write the tables of errors in docs/reference/errors.md, from docstrings: `python -m docs.generate_errors [--check]`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from attrs import frozen

import kinesis_consumer
import kinesis_core
import kinesis_credentials
import kinesis_emulator
import spark_kinesis_sink
import spark_kinesis_source
from docs.sections import render_rows, update
from kinesis_core.aws import ADVICE_BY_CODE, class_of
from kinesis_credentials.advice import PLAIN

PAGE = Path(__file__).parent / "reference" / "errors.md"
PACKAGES = (
    kinesis_core,
    kinesis_credentials,
    kinesis_consumer,
    spark_kinesis_source,
    spark_kinesis_sink,
    kinesis_emulator,
)


@frozen
class Explained:
    """What the docstring of an exception says."""

    happened: str
    remedy: str
    attributes: dict[str, str]


def explain(error: type[Exception]) -> Explained:
    """
    Return the parts of the docstring of *error*.

    Its first paragraph says what happened, the next ones what to do, and the last one may describe attributes.
    """
    happened, *rest = inspect.cleandoc(error.__doc__ or "").split("\n\n")
    attributes = {}
    if rest and rest[-1].startswith("Attributes:\n"):
        entries = re.split(r"\n {4}(?=\w)", rest.pop())[1:]
        attributes = {name: _join(text) for name, _, text in (entry.partition(": ") for entry in entries)}
    return Explained(_join(happened), " ".join(map(_join, rest)), attributes)


def errors_of(package: ModuleType) -> list[type[Exception]]:
    """Return the exceptions that *package* exports, each after the one that it derives from."""
    exported = [getattr(package, name) for name in package.__all__]
    found = [each for each in exported if inspect.isclass(each) and issubclass(each, Exception)]
    return sorted(found, key=_ancestry)


def _ancestry(error: type[Exception]) -> list[str]:
    first = error.__bases__[0]
    return [*(_ancestry(first) if issubclass(first, Exception) else []), error.__name__]


def _render(packages: Sequence[ModuleType]) -> Iterator[str]:
    shown: set[type[Exception]] = set()
    for package in packages:
        if errors := [error for error in errors_of(package) if error not in shown]:
            shown.update(errors)
            yield from ("", f"## {package.__name__}", "")
            rows = map(_row, errors)
            yield from render_rows(
                ("class", "base classes", "what happened", "what to do", "retryable"), rows
            )
            if attributes := [row for error in errors for row in _attributes(error)]:
                yield from ("", *render_rows(("class", "attribute", "meaning"), attributes))


def _row(error: type[Exception]) -> tuple[str, ...]:
    explained = explain(error)
    bases = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
    shown = {True: "yes", False: "no", None: "-"}[getattr(error, "retryable", None)]
    return f"`{error.__name__}`", bases, explained.happened, explained.remedy, shown


def _attributes(error: type[Exception]) -> Iterator[tuple[str, ...]]:
    for name, meaning in explain(error).attributes.items():
        yield f"`{error.__name__}`", f"`{name}`", meaning


def _codes() -> Iterator[tuple[str, ...]]:
    """Yield a row for each advice, with all codes that have it."""
    for advice in dict.fromkeys(ADVICE_BY_CODE.values()):
        codes = [code for code, text in ADVICE_BY_CODE.items() if text == advice]
        (name,) = {class_of(code).__name__ for code in codes}
        yield ", ".join(f"`{code}`" for code in codes), f"`{name}`", PLAIN.say(advice)


def _join(paragraph: str) -> str:
    return " ".join(paragraph.split())


if __name__ == "__main__":
    codes = render_rows(("code", "class", "what to do"), _codes())
    sys.exit(update(PAGE, {"errors": _render(PACKAGES), "codes": codes}, sys.argv[1:]))
