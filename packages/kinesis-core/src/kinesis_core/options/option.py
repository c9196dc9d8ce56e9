"""The declaration of one option: parsing, checks, error messages and the reference page are derived from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from attrs import field, frozen

T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")

PREFIX = "kinesis."


class BadValueError(ValueError):
    """
    A parser refuses a value.

    Attributes:
        hint: A sentence that says what to change. It adds to the domain, and never repeats a secret.
        hides_value: Whether the value may hold a secret, so that no message shows it.
    """

    def __init__(self, hint: str = "", *, hides_value: bool = False) -> None:
        super().__init__(hint)
        self.hint = hint
        self.hides_value = hides_value


def _no_reason(_: str) -> str:
    return ""


def show_in_code(value: object) -> str:
    """Return *value* in backticks, as Markdown shows what a user types."""
    return f"`{value}`"


@frozen(eq=False)
class Parser(Generic[T_co]):
    """Turns text into a value. *domain* completes the sentence "Use ..."."""

    domain: str
    parse: Callable[[str], T_co]
    """Raises `BadValueError` for text outside the domain."""
    ignored_reason: Callable[[str], str] = _no_reason
    """Returns for the log why text counts as another value; "" if it does not."""
    show: Callable[[Any], str] = show_in_code
    """Returns a value as the reference page shows it, in Markdown."""
    low: Any = None
    high: Any = None
    """The bounds of a number or a duration."""


def or_none(parser: Parser[V]) -> Parser[V | None]:
    """Return a parser of what *parser* accepts, and of `none`, which is None."""

    def parse(text: str) -> V | None:
        return None if text.lower() == "none" else parser.parse(text)

    def show(value: V | None) -> str:
        return "`none`" if value is None else parser.show(value)

    return Parser(f"{parser.domain}, or none", parse, show=show)


@frozen(eq=False)
class Option(Generic[T_co]):
    """One option that a user may set."""

    name: str
    meaning: str
    parser: Parser[T_co]
    default: T_co
    """Comes from the settings class that uses the option, if there is one."""
    group: str
    is_secret: bool = False
    """Whether its values appear in no message."""
    needs: Option[Any] | None = None
    """The option that it belongs to. Without that one it has no effect here."""
    default_text: str = "not set"
    """What applies without a value, where the default is None or an empty tuple. Otherwise the text is derived."""

    @property
    def has_default_value(self) -> bool:
        return self.default is not None and self.default != ()

    @property
    def shown_default(self) -> str:
        """The default as the reference page shows it, in Markdown."""
        return self.parser.show(self.default) if self.has_default_value else self.default_text


@frozen(eq=False)
class Group:
    """A section of the reference page, with its options in the order of their declarations."""

    title: str
    _declared: list[Option[Any]] = field(factory=list, init=False)

    @property
    def options(self) -> tuple[Option[Any], ...]:
        return tuple(self._declared)

    @overload
    def option(
        self,
        *,
        name: str,
        meaning: str,
        parser: Parser[V],
        default: V,
        default_text: str = ...,
        needs: Option[Any] | None = ...,
    ) -> Option[V]: ...
    @overload
    def option(
        self,
        *,
        name: str,
        meaning: str,
        parser: Parser[V],
        default_text: str = ...,
        is_secret: bool = ...,
        needs: Option[Any] | None = ...,
    ) -> Option[V | None]: ...
    def option(self, **declared: Any) -> Option[Any]:
        """Declare an option of this group. Without a default it is None."""
        option = Option[Any](group=self.title, **{"default": None, **declared})
        self._declared.append(option)
        return option


Alternatives = tuple[tuple[Option[Any], ...], ...]
"""Settings that exclude each other. Each is an option that chooses the setting, and the options that belong to it."""


@frozen
class IgnoredOption:
    """Names from other connectors that are accepted and have no effect here."""

    names: tuple[str, ...]
    """A name may end in `*`."""
    reason: str


@frozen
class Unsupported:
    """Names for something that this version does not do. Setting one is refused, unless its value is accepted."""

    names: tuple[str, ...]
    """The first is ours."""
    feature: str
    instead: str = ""
    """What to do instead."""
    accepted: tuple[str, ...] = ()
    """Values that describe what this version does anyway."""
    refused: tuple[str, ...] = ()
    """Values that need the feature. Empty if every value does."""
    accepted_reason: str = ""
    """Why an accepted value is not needed, for the log. Empty if the log gets no line."""


@frozen
class Hint:
    """Names that users bring along from elsewhere, and what does the same here. They are unknown, and the error says this."""

    names: tuple[str, ...]
    """A name may end in `*`."""
    instead: str
    """In Markdown. The error shows it without backticks."""


def normalise(name: str) -> str:
    """Return the form of *name* that options are looked up by: in lower case and without the prefix."""
    return name.strip().lower().removeprefix(PREFIX)


def find_name(name: str, declared: tuple[str, ...]) -> str | None:
    """Return the declared name that *name* is a spelling of."""
    key = normalise(name)
    for candidate in declared:
        wanted = normalise(candidate)
        if key == wanted or (wanted.endswith("*") and key.startswith(wanted[:-1])):
            return candidate
    return None
