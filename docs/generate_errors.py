"""
Write docs/reference/errors.md from the docstrings of the exceptions that the packages export.

    python -m docs.generate_errors           writes the page
    python -m docs.generate_errors --check   shows how the page differs from the docstrings, and exits with 1
"""

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
from docs.generate_options import render_rows, update
from kinesis_core.aws import ADVICE_BY_CODE, class_of

PAGE = Path(__file__).parent / "reference" / "errors.md"
PACKAGES = (
    kinesis_core,
    kinesis_credentials,
    kinesis_consumer,
    spark_kinesis_source,
    spark_kinesis_sink,
    kinesis_emulator,
)
INTRODUCTION = """\
# Errors

<!-- Made by docs/generate_errors.py from the docstrings of the exceptions. Change these, and run it again. -->

Each error is one class for one situation. Its message says what failed, what to change, and where: stream, shard, AWS's code and
request id. No message holds a key, a secret or the data of a record.

* **In plain Python**, import a class from the package in the heading, and catch it. `KinesisError` catches all errors of streams and
  options, `CredentialsError` all errors of credentials.
* **In Spark**, the class and the message are part of the text of Spark's own exception. The class cannot be caught.
* **Retryable** is the attribute `retryable`: whether the same call may succeed later. The connector has then retried already, within
  the limits of the options `maxRetries` and `outageTimeout`.
* **Without pyarrow or pandas**, the methods that need them raise Python's own `ModuleNotFoundError`. Its message has the command that
  installs the package.

In brackets: the classes that a class derives from, where these are not the first one of its table.
"""
CODES = """
## Codes of AWS

These codes have advice of their own in the message. Other codes have that of their class.
"""


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


def render(packages: Sequence[ModuleType]) -> str:
    """Return the page for the exceptions of *packages*."""
    lines = [INTRODUCTION.rstrip("\n")]
    for package in packages:
        errors = errors_of(package)
        if errors:
            lines += ["", f"## {package.__name__}", ""]
            rows = (_row(error, errors[0]) for error in errors)
            lines += render_rows(("class", "what happened", "what to do", "retryable"), rows)
            attributes = [row for error in errors for row in _attributes(error)]
            lines += ["", *render_rows(("class", "attribute", "meaning"), attributes)] if attributes else []
    lines += [CODES, *render_rows(("code", "class", "what to do"), _codes())]
    return "\n".join(lines) + "\n"


def _row(error: type[Exception], first: type[Exception]) -> tuple[str, ...]:
    explained = explain(error)
    bases = [f"`{base.__name__}`" for base in error.__bases__ if base not in (first, Exception)]
    name = f"`{error.__name__}`" + (f" ({', '.join(bases)})" if bases else "")
    retryable = getattr(error, "retryable", None)
    shown = "" if retryable is None else "yes" if retryable else "no"
    return name, explained.happened, explained.remedy, shown


def _attributes(error: type[Exception]) -> Iterator[tuple[str, ...]]:
    for name, meaning in explain(error).attributes.items():
        yield f"`{error.__name__}`", f"`{name}`", meaning


def _codes() -> Iterator[tuple[str, ...]]:
    """Yield a row for each advice, with all codes that have it."""
    for advice in dict.fromkeys(ADVICE_BY_CODE.values()):
        codes = [code for code, text in ADVICE_BY_CODE.items() if text == advice]
        (name,) = {class_of(code).__name__ for code in codes}
        yield ", ".join(f"`{code}`" for code in codes), f"`{name}`", advice


def _join(paragraph: str) -> str:
    return " ".join(paragraph.split())


if __name__ == "__main__":
    sys.exit(update(PAGE, render(PACKAGES), sys.argv[1:]))
