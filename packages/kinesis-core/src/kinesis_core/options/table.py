"""From the mapping that a user gives to checked values: names found, values parsed, contradictions refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from attrs import field, frozen

from kinesis_core.errors import OptionError
from kinesis_core.options.option import (
    PREFIX,
    BadValueError,
    IgnoredOption,
    Option,
    Parser,
    Unsupported,
    normalise,
)

T = TypeVar("T")

_LOAD_NAMES = ("path", "paths")
"""What Spark calls the arguments of load()."""
_LONGEST_SHOWN_VALUE = 120


@frozen(eq=False)
class _Spelling:
    """One name of one option."""

    name: str
    option: Option[Any]
    parser: Parser[Any]

    @property
    def label(self) -> str:
        """The name as declared; for another connector's name, with ours beside it."""
        if normalise(self.name) == normalise(self.option.name):
            return f"Option '{self.option.name}'"
        return f"Option '{self.name}' ('{self.option.name}' here)"

    def parse(self, text: str) -> Any:
        try:
            return self.parser.parse(text)
        except BadValueError as error:
            hides = self.option.is_secret or error.hides_value
            got = "the value given is another" if hides else f"got {_show(text)}"
            hint = f" {error.hint}" if error.hint else ""
            raise OptionError(f"{self.label} accepts {self.parser.domain}; {got}.{hint}") from None


@frozen(eq=False)
class _Given:
    """One option as the user set it."""

    name: str
    spelling: _Spelling
    text: str
    value: Any


@frozen(eq=False, repr=False)
class Values:
    """The values of all options of a table; those that were not given have their defaults."""

    _given: Mapping[str, _Given]
    ignored: tuple[str, ...]
    """One line for the log for each name that was accepted and is not needed, or whose value counts as another."""
    path: str | None
    """What the user gave to Spark's `load(path)`; it names no stream."""

    def __getitem__(self, option: Option[T]) -> T:
        given = self._given.get(option.name)
        return option.default if given is None else given.value

    def is_given(self, option: Option[Any]) -> bool:
        return option.name in self._given

    def is_spelled(self, option: Option[Any], name: str) -> bool:
        """Return whether the user set *option* by its name *name*, in whatever case, with or without the prefix."""
        given = self._given.get(option.name)
        return given is not None and normalise(given.name) == normalise(name)

    def is_prefixed(self, option: Option[Any]) -> bool:
        """Return whether the user set *option* by its name with `kinesis.` before it, as awslabs does."""
        given = self._given.get(option.name)
        return given is not None and given.name.strip().lower() == PREFIX + option.name.lower()

    def label(self, option: Option[Any]) -> str:
        """Return the option's name for an error: as the user wrote it, with ours beside it."""
        given = self._given.get(option.name)
        return f"Option '{option.name}'" if given is None else given.spelling.label


@frozen(eq=False)
class OptionTable:
    """All names that a source or a sink understands."""

    options: tuple[Option[Any], ...]
    unsupported: tuple[Unsupported, ...] = ()
    ignored_options: tuple[IgnoredOption, ...] = ()
    let_through: tuple[str, ...] = ()
    """Names that Spark adds by itself."""
    _spellings: dict[str, _Spelling] = field(init=False)

    @_spellings.default
    def _index_spellings(self) -> dict[str, _Spelling]:
        found: dict[str, _Spelling] = {}
        for spelling in _list_spellings(self.options):
            earlier = found.setdefault(normalise(spelling.name), spelling)
            if (earlier.option, earlier.parser) != (spelling.option, spelling.parser):
                raise ValueError(f"'{spelling.name}' is declared for two options or with two parsers")
        return found

    def read(self, given: Mapping[str, object]) -> Values:
        """
        Return the values that *given* sets. None counts as not given.

        Raises:
            OptionError: A name is unknown or not supported, a value is outside its domain, or two names of one
                option have different values. Secrets are in none of the messages.
        """
        found: dict[str, _Given] = {}
        ignored: list[str] = []
        path: str | None = None
        for name, value in given.items():
            if value is None:
                continue
            text = _to_text(value)
            if spelling := self._spellings.get(normalise(name)):
                self._add(found, _Given(name, spelling, text, spelling.parse(text)))
                if note := spelling.parser.note(text):
                    ignored.append(f"Option '{name}' set to {_show(text)} {note}.")
            elif name.lower() in self.let_through:
                if name.lower() in _LOAD_NAMES:
                    path = text
                    ignored.append(
                        "What load() is given is not used: 'streamName' or 'streamARN' names the stream."
                    )
            elif note := self._read_foreign(name, text):
                ignored.append(note)
        ignored += [
            _describe_idle(given) for given in found.values() if _is_idle(given.spelling.option, found)
        ]
        return Values(found, tuple(ignored), path)

    @staticmethod
    def _add(found: dict[str, _Given], new: _Given) -> None:
        option = new.spelling.option
        old = found.setdefault(option.name, new)
        if old.value == new.value:
            return
        texts = "" if option.is_secret else f" ({_show(old.text)} and {_show(new.text)})"
        raise OptionError(
            f"Options '{old.name}' and '{new.name}' set the same thing to different values{texts}. "
            "Keep one of them."
        )

    def _read_foreign(self, name: str, text: str) -> str:
        """Return why *name* is not needed, or "" when there is nothing to say about it."""
        for unsupported in self.unsupported:
            if declared := _find_name(name, unsupported.names):
                return _read_unsupported(unsupported, declared, text)
        for ignored_options in self.ignored_options:
            if _find_name(name, ignored_options.names):
                return f"Option '{name}' is accepted and not needed: {ignored_options.reason}."
        raise OptionError(f"Unknown option '{name}'.{self._suggest(name)}")

    def _suggest(self, name: str) -> str:
        known = {key: spelling.name for key, spelling in self._spellings.items()}
        foreign = [other for declared in self.unsupported for other in declared.names]
        foreign += [
            other for declared in self.ignored_options for other in declared.names if not other.endswith("*")
        ]
        known |= {normalise(other): other for other in foreign}
        nearest = get_close_matches(normalise(name), known, n=1)
        return f" Did you mean '{known[nearest[0]]}'?" if nearest else " No option has a name like it."


def _list_spellings(options: tuple[Option[Any], ...]) -> Iterator[_Spelling]:
    for option in options:
        yield _Spelling(option.name, option, option.parser)
        for alias in option.aliases:
            yield _Spelling(alias.name, option, alias.parser or option.parser)


def _is_idle(option: Option[Any], found: Mapping[str, _Given]) -> bool:
    return option.needs is not None and option.needs.name not in found


def _describe_idle(given: _Given) -> str:
    needs = given.spelling.option.needs
    what = "" if needs is None else f"it belongs to '{needs.name}', which is not given"
    return f"Option '{given.name}' is accepted and not needed: {what}."


def _find_name(name: str, declared: tuple[str, ...]) -> str | None:
    """Return the declared name that *name* is a spelling of."""
    key = normalise(name)
    for candidate in declared:
        wanted = normalise(candidate)
        if key == wanted or (wanted.endswith("*") and key.startswith(wanted[:-1])):
            return candidate
    return None


def _read_unsupported(unsupported: Unsupported, name: str, text: str) -> str:
    """Return a note about an accepted value, or "" when there is nothing to say."""
    asked = text.lower()
    if not asked or asked in (value.lower() for value in unsupported.accepted):
        reason = unsupported.accepted_reason
        return f"Option '{name}' is accepted and not needed: {reason}." if asked and reason else ""
    if unsupported.refused and asked not in (value.lower() for value in unsupported.refused):
        domain = ", ".join((*unsupported.accepted, *unsupported.refused))
        raise OptionError(f"Option '{name}' accepts {domain}; got {_show(text)}.")
    value = f" set to {_show(text)}" if unsupported.refused else ""
    instead = f" {unsupported.instead}" if unsupported.instead else ""
    raise OptionError(
        f"Option '{name}'{value} asks for {unsupported.feature}, which is not supported in this version yet.{instead}"
    )


def _to_text(value: object) -> str:
    """Return what Spark would hand over for *value*: text without blanks around it, booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _show(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN_VALUE else f"{text[:_LONGEST_SHOWN_VALUE]}...")
