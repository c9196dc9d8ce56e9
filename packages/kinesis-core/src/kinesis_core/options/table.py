"""Reads the options that a user gives: finds names, parses values and refuses contradictions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import combinations
from typing import Any, TypeVar

from attrs import field, frozen

from kinesis_core.errors import OptionError
from kinesis_core.options.foreign import aliases_of
from kinesis_core.options.option import (
    Alternatives,
    BadValueError,
    Hint,
    IgnoredOption,
    Option,
    Parser,
    Unsupported,
    find_name,
    normalise,
)
from kinesis_credentials.base import shorten

T = TypeVar("T")

_LOAD_NAMES = ("path", "paths")
"""Spark's names for the arguments of load()."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LEAST_SIMILARITY = 0.83
"""
Of a name and the one that it is a misspelling of, where 1 is the same.

Two letters in the wrong order, in a name of six, are 0.833. Names of other meanings are below: `maxRecordPerRead` (of one
call) and `maxRecordsPerShard` (of a micro-batch) are 0.82.
"""


@frozen(eq=False)
class _Spelling:
    """One name of one option."""

    name: str
    option: Option[Any]
    parser: Parser[Any]

    @property
    def label(self) -> str:
        """The name as declared; another connector's name comes with ours."""
        if normalise(self.name) == normalise(self.option.name):
            return f"Option '{self.option.name}'"
        return f"Option '{self.name}' ('{self.option.name}' here)"

    @property
    def described(self) -> str:
        """The name as declared, and what the option is, as a suggestion shows them."""
        meaning = _shown(self.option.meaning).partition(". ")[0].removesuffix(".")
        return f"{self.label.removeprefix('Option ')}? {meaning}."

    def parse(self, text: str) -> Any:
        try:
            return self.parser.parse(text)
        except BadValueError as error:
            hides = self.option.is_secret or error.hides_value
            given = "has a value that is not accepted, and not shown" if hides else f"is {shorten(text)!r}"
            hint = f" {error.hint}" if error.hint else ""
            raise OptionError(f"{self.label} {given}.{hint} Use {self.parser.domain}.") from None


@frozen(eq=False)
class _Given:
    """One option as the user set it."""

    name: str
    spelling: _Spelling
    text: str
    value: Any


@frozen(eq=False, repr=False)
class Values:
    """The values of all options of a table. An option that is not given has its default."""

    _given: Mapping[str, tuple[_Given, ...]]
    """Each given option by our name, as often as the user set it. The values are equal."""
    ignored: tuple[str, ...]
    """One line for the log for each name that has no effect here, or whose value counts as another."""
    path: str | None
    """The argument of Spark's `load(path)`. It does not name a stream."""

    def __getitem__(self, option: Option[T]) -> T:
        return self._given[option.name][0].value if self.is_given(option) else option.default

    def is_given(self, option: Option[Any]) -> bool:
        return option.name in self._given

    def spellings(self, option: Option[Any]) -> tuple[str, ...]:
        """Return the names by which the user set *option*, as the user wrote them."""
        return tuple(given.name for given in self._given.get(option.name, ()))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of all secrets that the user set, as they are declared."""
        given = (each.spelling for same in self._given.values() for each in same)
        return tuple(spelling.name for spelling in given if spelling.option.is_secret)

    def is_spelled(self, option: Option[Any], name: str) -> bool:
        """Return whether the user set *option* by its name *name*, in any case, with or without the prefix."""
        return normalise(name) in map(normalise, self.spellings(option))

    def label(self, option: Option[Any]) -> str:
        """Return the option's name for an error: the name that the user set, with ours if that is another."""
        given = self._given.get(option.name)
        return given[0].spelling.label if given else f"Option '{option.name}'"


@frozen(eq=False)
class OptionTable:
    """All names that a source or a sink understands."""

    options: tuple[Option[Any], ...]
    unsupported: tuple[Unsupported, ...] = ()
    ignored_options: tuple[IgnoredOption, ...] = ()
    let_through: tuple[str, ...] = ()
    """Names that Spark adds."""
    hints: tuple[Hint, ...] = ()
    """Names of another system that are often tried."""
    alternatives: tuple[Alternatives, ...] = ()
    """Options that exclude each other."""
    _spellings: dict[str, _Spelling] = field(init=False)

    @_spellings.default
    def _index_spellings(self) -> dict[str, _Spelling]:
        found: dict[str, _Spelling] = {}
        for spelling in _list_spellings(self.options):
            earlier = found.setdefault(normalise(spelling.name), spelling)
            if (earlier.option, earlier.parser) != (spelling.option, spelling.parser):
                raise ValueError(f"'{spelling.name}' is declared for two options or with two parsers")
        return found

    def find(self, name: str) -> Option[Any] | None:
        """Return the option that has the name *name*, in any spelling that users may write."""
        spelling = self._spellings.get(normalise(name))
        return None if spelling is None else spelling.option

    def read(self, given: Mapping[str, object]) -> Values:
        """
        Return the values that *given* sets. None counts as not given.

        Raises:
            OptionError: A name is unknown or not supported, a value is outside its domain, or two names of one
                option have different values. No message contains a secret.
        """
        found: dict[str, tuple[_Given, ...]] = {}
        ignored: list[str] = []
        path: str | None = None
        for name, value in given.items():
            if value is None:
                continue
            text = _to_text(value)
            if spelling := self._spellings.get(normalise(name)):
                self._add(found, _Given(name, spelling, text, spelling.parse(text)))
                if reason := spelling.parser.ignored_reason(text):
                    ignored.append(f"Option '{name}' set to {shorten(text)!r} {reason}.")
            elif name.lower() in self.let_through:
                if name.lower() in _LOAD_NAMES:
                    path = text
                    ignored.append(
                        "The argument of load() is not used: 'streamName' or 'streamARN' names the stream."
                    )
            elif reason := self._read_foreign(name, text):
                ignored.append(reason)
        ignored += [
            _describe_idle(given) for same in found.values() for given in same[:1] if _is_idle(given, found)
        ]
        return Values(found, tuple(ignored), path)

    @staticmethod
    def _add(found: dict[str, tuple[_Given, ...]], new: _Given) -> None:
        option = new.spelling.option
        same = found.get(option.name, ())
        found[option.name] = (*same, new)
        if not same or same[0].value == new.value:
            return
        old = same[0]
        texts = "" if option.is_secret else f" ({shorten(old.text)!r} and {shorten(new.text)!r})"
        raise OptionError(
            f"Options '{old.name}' and '{new.name}' set the same thing to different values{texts}. "
            "Keep one of them."
        )

    def _read_foreign(self, name: str, text: str) -> str:
        """Return why *name* is not needed, or "" if the log gets no line."""
        for unsupported in self.unsupported:
            if declared := find_name(name, unsupported.names):
                return _read_unsupported(unsupported, declared, text)
        for ignored_options in self.ignored_options:
            if find_name(name, ignored_options.names):
                return f"Option '{name}' has no effect here: {ignored_options.reason}."
        raise OptionError(f"Unknown option '{name}'. {self._hint(name) or self._suggest(name)}")

    def _hint(self, name: str) -> str:
        return next((_shown(hint.instead) for hint in self.hints if find_name(name, hint.names)), "")

    def _suggest(self, name: str) -> str:
        """Return the name that *name* is a misspelling of, with its meaning; or the options whose names have it as words."""
        key = normalise(name)
        described = self._describe_names()
        if nearest := get_close_matches(key, described, n=1, cutoff=_LEAST_SIMILARITY):
            return f"Did you mean {described[nearest[0]]}"
        longer = [f"'{option.name}'" for option in self.options if key in _parts(option.name)]
        return f"Did you mean {' or '.join(longer)}?" if longer else "No option has a similar name."

    def _describe_names(self) -> dict[str, str]:
        """Return, for each name that can be suggested, the name as declared and what it does."""
        described: dict[str, str] = {}
        for hint in self.hints:
            described |= {normalise(name): f"'{name}'? {_shown(hint.instead)}" for name in hint.names}
        for unsupported in self.unsupported:
            said = f"It needs {unsupported.feature}, which this version does not support."
            described |= {normalise(name): f"'{name}'? {said}" for name in unsupported.names}
        for ignored in self.ignored_options:
            said = f"It has no effect here: {ignored.reason}."
            described |= {normalise(name): f"'{name}'? {said}" for name in ignored.names}
        described = {key: text for key, text in described.items() if not key.endswith("*")}
        return described | {key: spelling.described for key, spelling in self._spellings.items()}


def _parts(name: str) -> set[str]:
    """Return the words of *name*, alone and joined with those after them: of `maxRetries` max, retries and maxretries."""
    words = [word.lower() for word in _WORD.findall(name)]
    return {"".join(words[start:end]) for start, end in combinations(range(len(words) + 1), 2)}


def _shown(markdown: str) -> str:
    """Return *markdown* as an error shows it."""
    return markdown.replace("`", "'")


def _list_spellings(options: tuple[Option[Any], ...]) -> Iterator[_Spelling]:
    for option in options:
        yield _Spelling(option.name, option, option.parser)
        for alias in aliases_of(option):
            yield _Spelling(alias.name, option, alias.parser or option.parser)


def _is_idle(given: _Given, found: Mapping[str, object]) -> bool:
    needs = given.spelling.option.needs
    return needs is not None and needs.name not in found


def _describe_idle(given: _Given) -> str:
    needs = given.spelling.option.needs
    reason = "" if needs is None else f"it belongs to '{needs.name}', which is not given"
    return f"Option '{given.name}' has no effect here: {reason}."


def _read_unsupported(unsupported: Unsupported, name: str, text: str) -> str:
    """Return a line for the log about an accepted value, or "" if the log gets no line."""
    value = text.lower()
    if not value or value in (accepted.lower() for accepted in unsupported.accepted):
        reason = unsupported.accepted_reason
        return f"Option '{name}' has no effect here: {reason}." if value and reason else ""
    if unsupported.refused and value not in (refused.lower() for refused in unsupported.refused):
        domain = ", ".join((*unsupported.accepted, *unsupported.refused))
        raise OptionError(f"Option '{name}' is {shorten(text)!r}. Use {domain}.")
    set_to = f" set to {shorten(text)!r}" if unsupported.refused else ""
    instead = f" {unsupported.instead}" if unsupported.instead else ""
    raise OptionError(
        f"Option '{name}'{set_to} needs {unsupported.feature}, which this version does not support.{instead}"
    )


def _to_text(value: object) -> str:
    """Return *value* as Spark passes it on: text without surrounding blanks, booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()
