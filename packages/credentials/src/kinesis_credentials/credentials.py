"""
The credentials that this package's sessions sign with. They are refreshed before they expire.

They replace botocore's own refreshing for this package's sources, which has four problems in a query that runs for days:

* While a source is down, botocore calls it again with each request.
* It fails 10 minutes before the keys expire.
* It refreshes short-lived keys all the time.
* It cannot renew keys that AWS calls expired, as long as they have not expired by this machine's clock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy
from datetime import datetime, timedelta, timezone
from typing import Protocol

from attrs import evolve, frozen
from botocore.credentials import Credentials, ReadOnlyCredentials

from kinesis_credentials.errors import Attempt, CredentialsError, SourceFailedError
from kinesis_credentials.keys import Keys
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_credentials")

REFRESH_EARLY = timedelta(minutes=15)
"""Keys are refreshed this long before they expire, or a quarter of their lifetime before, if that is shorter."""
UNSAFE = timedelta(minutes=1)
"""Keys are not used in this time before they expire: clocks differ, and a request takes time."""
PAUSE = timedelta(minutes=1)
"""After a failed refresh the source is not called for this time, while the keys are still valid."""

Now = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time, with its zone."""
    return datetime.now(timezone.utc)


class KeySource(Protocol):
    """A source of keys. One thread calls it at a time."""

    @property
    def name(self) -> str:
        """The source's name in logs and errors."""
        ...

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The sources that were tried for the keys of the last `fetch`."""
        ...

    def fetch(self) -> Keys:
        """Return keys that are valid now. It raises only `CredentialsError`s."""
        ...


class RenewableCredentials(Credentials):
    """Credentials that a session signs with. `version` increases with each change of keys."""

    version = 0

    def __init__(self, method: str) -> None:
        # The attributes of botocore's class are properties here, so its __init__ is not called.
        self.method = method

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """
        Return the keys to sign with now.

        Raises:
            CredentialsError: There are no valid keys.
        """
        raise NotImplementedError

    def renew(self, version: int) -> bool:
        """Replace the keys of *version*, which AWS no longer accepts. Return whether there are other keys now."""
        raise NotImplementedError

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The sources that were tried. The last one returned keys."""
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
        return getattr(self.get_frozen_credentials(), "account_id", None)  # new in botocore 1.36


@frozen
class _Held:
    """The keys in use, when to refresh them, and when to stop using them."""

    frozen: ReadOnlyCredentials
    refresh_at: datetime | None
    use_until: datetime | None

    def is_fresh(self, now: datetime) -> bool:
        return self.refresh_at is None or now < self.refresh_at

    def is_usable(self, now: datetime) -> bool:
        return self.use_until is None or now < self.use_until


class SourceCredentials(RenewableCredentials):
    """Credentials of one `KeySource`. Threads share them: one thread refreshes early while the others use the old keys."""

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
            log.warning("credentials.kept", source=self.method, reason=error)
            self._held = evolve(held, refresh_at=now + PAUSE)
            return held

    def _wait_for_keys(self, seen: _Held | None) -> _Held:
        """Return keys from the source. One of several waiting threads calls it, and all share its keys or error."""
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
        log.info("credentials.refreshed", source=self.method, expires=expires)
        return held


def _hold(keys: Keys, now: datetime, source: str) -> _Held:
    if keys.expires is None:
        return _Held(keys.freeze(), None, None)
    life = keys.expires - now
    if life <= timedelta(0):
        raise SourceFailedError(
            f"The credentials of {source} expired at {_show(keys.expires)}; this machine's time is "
            f"{_show(now)}. Set this machine's clock, or repair the source of the credentials.",
            code="ExpiredCredentials",
        )
    return _Held(
        keys.freeze(),
        refresh_at=keys.expires - min(REFRESH_EARLY, life / 4),
        use_until=keys.expires - min(UNSAFE, life / 10),
    )


def _show(time: datetime) -> str:
    return f"{time.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
