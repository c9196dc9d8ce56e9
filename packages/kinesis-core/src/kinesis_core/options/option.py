"""What one option is: declared once, and from that come parsing, checking, error texts and the reference page."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar

from attrs import frozen

T_co = TypeVar("T_co", covariant=True)

PREFIX = "kinesis."


class Origin(Enum):
    """The connectors whose option names are understood."""

    AWSLABS = "awslabs"
    QUBOLE = "qubole"
    DATABRICKS = "Databricks"


class Scope(Enum):
    """Which half of the connector takes an option."""

    SOURCE = "source"
    SINK = "sink"
    BOTH = "source and sink"


class BadValueError(ValueError):
    """
    A parser refuses a value.

    Attributes:
        hint: A sentence on what to change, beyond the domain; it never repeats a secret.
        hides_value: Whether the value may hold a secret, and is not to be shown.
    """

    def __init__(self, hint: str = "", *, hides_value: bool = False) -> None:
        super().__init__(hint)
        self.hint = hint
        self.hides_value = hides_value


def _counts_as_it_is(_: str) -> str:
    return ""


@frozen(eq=False)
class Parser(Generic[T_co]):
    """How text becomes a value: *domain* completes the sentence "Option 'x' accepts ..."."""

    domain: str
    parse: Callable[[str], T_co]
    """Raises `BadValueError` for text outside the domain."""
    note: Callable[[str], str] = _counts_as_it_is
    """Returns what the log says of text that counts as another value, else ""."""


@frozen(eq=False)
class Alias(Generic[T_co]):
    """A name that another connector has for an option."""

    name: str
    """As that connector writes it, with its prefix."""
    origin: Origin
    parser: Parser[T_co] | None = None
    """Reads that connector's unit or form, where it differs from ours."""


@frozen(eq=False)
class Option(Generic[T_co]):
    """One option that a user may set."""

    name: str
    meaning: str
    parser: Parser[T_co]
    default: T_co
    default_text: str
    """The default as the reference page shows it."""
    group: str
    scope: Scope = Scope.BOTH
    aliases: tuple[Alias[T_co], ...] = ()
    is_secret: bool = False
    """Its values appear in no message."""
    needs: Option[Any] | None = None
    """The option that it belongs to, without which it is accepted and not needed."""


@frozen
class IgnoredOption:
    """Names that other connectors have for something that takes care of itself here."""

    names: tuple[str, ...]
    """A name may end in `*`."""
    reason: str


@frozen
class Unsupported:
    """Names for something that this version does not do. Setting one is refused, unless it asks for nothing."""

    names: tuple[str, ...]
    """The first is ours."""
    feature: str
    instead: str = ""
    """What to do meanwhile."""
    accepted: tuple[str, ...] = ()
    """Values that ask for what is done anyway."""
    refused: tuple[str, ...] = ()
    """Values that ask for the feature; empty when any value does."""
    accepted_reason: str = ""
    """Why an accepted value is not needed, for the log; empty when there is nothing to say."""


def normalise(name: str) -> str:
    """Return *name* in the form that options are looked up by: case-blind, with or without the prefix."""
    return name.strip().lower().removeprefix(PREFIX)


def awslabs(name: str, parser: Parser[Any] | None = None) -> Alias[Any]:
    """Return the name *name* of the awslabs connector."""
    return Alias(name, Origin.AWSLABS, parser)


def qubole(name: str, parser: Parser[Any] | None = None) -> Alias[Any]:
    """Return the name *name* of the qubole connector."""
    return Alias(name, Origin.QUBOLE, parser)


def databricks(name: str, parser: Parser[Any] | None = None) -> Alias[Any]:
    """Return the name *name* of the Databricks connector."""
    return Alias(name, Origin.DATABRICKS, parser)
