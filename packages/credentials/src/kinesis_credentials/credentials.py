"""
What the sessions of this package sign with: credentials that are asked for anew before they expire.

They replace botocore's own refreshing for the sources that are ours, because of what that does in a query that
runs for days: it asks a source that is down again with each request, fails 10 minutes before the keys do, asks for
short-lived keys all the time, and cannot be told that AWS calls keys expired which the clock does not.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from copy import copy
from datetime import datetime, timedelta, timezone
from typing import Protocol

from attrs import evolve, frozen
from botocore.credentials import Credentials, ReadOnlyCredentials

from kinesis_credentials.errors import Attempt, CredentialsError, SourceFailedError
from kinesis_credentials.keys import Keys

log = logging.getLogger("kinesis_credentials")

REFRESH_EARLY = timedelta(minutes=15)
"""How long before their end keys are refreshed; sooner than that for keys that live less than an hour."""
UNSAFE = timedelta(minutes=1)
"""How long before their end keys are no longer used: clocks differ, and a request takes its time."""
PAUSE = timedelta(minutes=1)
"""How long a source that failed is left alone while the keys are still good."""

Now = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time, with its zone."""
    return datetime.now(timezone.utc)


class KeySource(Protocol):
    """Where keys come from. Asked by one thread at a time."""

    @property
    def name(self) -> str:
        """What logs and errors call it."""
        ...

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """What has been tried for the keys of the last `fetch`."""
        ...

    def fetch(self) -> Keys:
        """Return keys that are good now. Raises `CredentialsError`s only."""
        ...


class RenewableCredentials(Credentials):
    """Credentials that a session signs with; `version` goes up with each change of keys."""

    version = 0

    def __init__(self, method: str) -> None:
        # The attributes of botocore's class are properties here, so its own __init__ has nothing to set.
        self.method = method

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Return what to sign with now; raises a `CredentialsError` when there is nothing."""
        raise NotImplementedError

    def renew(self, version: int) -> bool:
        """Get other keys than those of *version*, which AWS no longer takes; return whether there are any."""
        raise NotImplementedError

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The sources that were tried, the one that served last."""
        raise NotImplementedError

    @property
    def access_key(self) -> str | None:  # type: ignore[override] # botocore sets it as an attribute
        return self.get_frozen_credentials().access_key

    @property
    def secret_key(self) -> str | None:  # type: ignore[override]
        return self.get_frozen_credentials().secret_key

    @property
    def token(self) -> str | None:  # type: ignore[override]
        return self.get_frozen_credentials().token

    @property
    def account_id(self) -> str | None:
        return getattr(self.get_frozen_credentials(), "account_id", None)  # botocore before 1.36 has none


@frozen
class _Held:
    """Keys in use, and when what is to be done about them."""

    frozen: ReadOnlyCredentials
    refresh_at: datetime | None
    use_until: datetime | None

    def is_fresh(self, now: datetime) -> bool:
        return self.refresh_at is None or now < self.refresh_at

    def is_usable(self, now: datetime) -> bool:
        return self.use_until is None or now < self.use_until


class SourceCredentials(RenewableCredentials):
    """Credentials of one `KeySource`. Threads share them: one refreshes early, and the others go on meanwhile."""

    def __init__(self, source: KeySource, now: Now = utc_now) -> None:
        super().__init__(source.name)
        self._source = source
        self._now = now
        self._lock = threading.Lock()
        self._held: _Held | None = None
        self._failures = 0
        self._failure: CredentialsError | None = None

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return self._source.attempts

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        held, now = self._held, self._now()
        if held is not None and held.is_usable(now):
            if not held.is_fresh(now) and self._lock.acquire(blocking=False):
                try:
                    held = self._refresh_early(held, now)
                finally:
                    self._lock.release()
            return held.frozen
        return self._wait_for_keys(held).frozen

    def renew(self, version: int) -> bool:
        with self._lock:
            if self.version == version:
                self._fetch()
            return self.version != version

    def _refresh_early(self, held: _Held, now: datetime) -> _Held:
        try:
            return self._fetch()
        except CredentialsError as error:
            log.warning("credentials.kept", extra={"context": {"source": self.method, "reason": str(error)}})
            self._held = evolve(held, refresh_at=now + PAUSE)
            return held

    def _wait_for_keys(self, seen: _Held | None) -> _Held:
        """Return keys from the source; of threads that come together, one asks and all share what came of it."""
        failures = self._failures
        with self._lock:
            held = self._held
            if held is not None and held is not seen and held.is_usable(self._now()):
                return held
            if self._failure is not None and self._failures != failures:
                raise copy(self._failure)
            try:
                return self._fetch()
            except CredentialsError as error:
                self._failures += 1
                self._failure = error
                raise

    def _fetch(self) -> _Held:
        keys = self._source.fetch()
        held = _hold(keys, self._now(), self.method)
        if self._held is None or held.frozen != self._held.frozen:
            self.version += 1
        self._held, self._failure = held, None
        expires = keys.expires and keys.expires.isoformat()
        log.info("credentials.refreshed", extra={"context": {"source": self.method, "expires": expires}})
        return held


def _hold(keys: Keys, now: datetime, source: str) -> _Held:
    if keys.expires is None:
        return _Held(keys.freeze(), None, None)
    life = keys.expires - now
    if life <= timedelta(0):
        raise SourceFailedError(
            f"The credentials of {source} expired at {keys.expires.isoformat()}, and here it is {now.isoformat()}. "
            "Set this machine's clock, or see to what gives them.",
            code="ExpiredCredentials",
        )
    return _Held(
        keys.freeze(),
        refresh_at=keys.expires - min(REFRESH_EARLY, life / 4),
        use_until=keys.expires - min(UNSAFE, life / 10),
    )
