"""The base class of all errors of our packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinesis_credentials.advice import PLAIN

if TYPE_CHECKING:
    from typing import Any

    from kinesis_credentials.advice import Advice, Advices, Setting, Vocabulary

_LONGEST_SHOWN = 120
"""Characters of a text that a user gave."""


class KinesisError(Exception):
    """
    Base class of all errors of our packages.

    Attributes:
        what: What happened, in the words of Kinesis and AWS.
        about: The setting with the problem, or None. The message starts with its name.
        advice: What to do, as a tuple of `Advice` values and texts.
        where: Where it failed, a dict such as `{"stream": "orders"}`.
    """

    words: Vocabulary = PLAIN
    """How `str()` says all of that. The front door through which the error reaches a user sets its own vocabulary."""

    def __init__(
        self,
        what: str = "",
        *,
        about: Setting | None = None,
        advice: Advices = (),
        **where: object,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.about = about
        self.where = where
        self.advice = advice if isinstance(advice, tuple) else (advice,)

    def __str__(self) -> str:
        return self._say(self.advice)

    def without_advice(self) -> str:
        """Return what happened and where: for a log, which has no front door and so no words for advice."""
        return self._say(())

    def _say(self, advice: tuple[Advice | str, ...]) -> str:
        subject = "" if self.about is None else self.words.show(self.about)
        where = " ".join(f"{name}={value}" for name, value in self.where.items())
        parts = (subject, self.what, *map(self.words.say, advice), where and f"[{where}]")
        return " ".join(filter(None, parts))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.args, self.__dict__)


def _unpickle(cls: type[KinesisError], args: tuple[object, ...], state: dict[str, Any]) -> KinesisError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


def shorten(text: str) -> str:
    """Return *text* as an error shows it: a user may have given megabytes."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
