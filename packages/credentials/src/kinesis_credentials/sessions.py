"""From a spec to a botocore session that refreshes its credentials by itself."""

from __future__ import annotations

import os
import threading

import botocore.exceptions
from attrs import frozen
from botocore.config import Config
from botocore.session import Session

from kinesis_credentials.chain import ChainCredentials
from kinesis_credentials.credentials import KeySource, Now, RenewableCredentials, SourceCredentials, utc_now
from kinesis_credentials.errors import CredentialsError, ProfileNotFoundError, SourceFailedError
from kinesis_credentials.roles import Role
from kinesis_credentials.sources import GivenKeys, InstanceMetadata, UserClass
from kinesis_credentials.specs import (
    AssumeRole,
    CredentialSpec,
    DefaultChain,
    InstanceProfile,
    Profile,
    ProviderClass,
    StaticKeys,
    find_profile,
)

_MOST_SESSIONS = 64

_Environment = tuple[tuple[str, str], ...]

_lock = threading.Lock()
_sessions: dict[tuple[CredentialSpec, str | None, str | None, _Environment], Session] = {}


def open_session(
    spec: CredentialSpec, region: str | None = None, proxy_url: str | None = None, *, now: Now = utc_now
) -> Session:
    """
    Return a new session that takes its credentials from *spec* and works in *region*.

    Its clients, and those that fetch the credentials, go through the proxy at *proxy_url*; metadata services are
    asked directly. Nothing is asked for credentials yet; `check` does that.

    Raises:
        ProfileNotFoundError: The spec, or AWS_PROFILE, names a profile that is not configured.
    """
    session = _open_plain(find_profile(spec), region, proxy_url)
    credentials = _make_credentials(spec, region, proxy_url, now)
    session.register_component("credential_provider", _Provider(credentials))
    return session


@frozen(eq=False)
class _Provider:
    """What a session asks for its credentials."""

    credentials: RenewableCredentials

    def load_credentials(self) -> RenewableCredentials:
        return self.credentials


def _open_plain(profile: str | None, region: str | None, proxy_url: str | None) -> Session:
    """Return a session as botocore makes it."""
    session = Session(profile=profile)
    try:
        session.get_scoped_config()
    except botocore.exceptions.ProfileNotFound as error:
        raise ProfileNotFoundError(_describe_missing_profile(profile, session)) from error
    except botocore.exceptions.ConfigParseError as error:
        raise SourceFailedError(f"The AWS configuration cannot be read: {error}") from error
    if region is not None:
        session.set_config_variable("region", region)
    if proxy_url is not None:
        session.set_default_client_config(Config(proxies={"http": proxy_url, "https": proxy_url}))
    return session


def _make_credentials(
    spec: CredentialSpec, region: str | None, proxy_url: str | None, now: Now
) -> RenewableCredentials:
    source: KeySource
    match spec:
        case Profile() | DefaultChain():
            profile = find_profile(spec)
            return ChainCredentials(
                lambda: _open_plain(profile, region, proxy_url), only_profile=profile is not None
            )
        case StaticKeys():
            source = GivenKeys(spec)
        case InstanceProfile():
            source = InstanceMetadata(_open_plain(None, region, None))
        case ProviderClass():
            source = UserClass(spec, now)
        case AssumeRole(base):
            session = open_session(base, region, proxy_url, now=now)
            source = Role(spec, session, get_credentials(session))
    return SourceCredentials(source, now)


def _describe_missing_profile(profile: str | None, session: Session) -> str:
    name = session.profile
    if profile is not None:
        return f"The AWS configuration has no profile '{name}'. Correct the name, or add it on driver and executors."
    return (
        f"AWS_PROFILE names profile '{name}', which the AWS configuration does not have. Correct or unset it."
    )


def get_credentials(session: Session) -> RenewableCredentials:
    """Return what *session*, one of this package's, signs with."""
    credentials = session.get_credentials()
    if not isinstance(credentials, RenewableCredentials):
        raise TypeError("The session was not made by kinesis_credentials.")
    return credentials


def ensure_credentials(session: Session) -> None:
    """
    Ask for credentials now, so that a missing one is an error here and not in the middle of a query.

    May call STS or a metadata service when that is where the credentials come from.

    Raises:
        NoCredentialsError: Every source was tried and none served; it names them and why.
        SourceFailedError: A source was configured but broke or was refused.
    """
    try:
        get_credentials(session).get_frozen_credentials()
    except CredentialsError:
        with _lock:
            for key in [key for key, kept in _sessions.items() if kept is session]:
                del _sessions[key]
        raise


def cached_session(spec: CredentialSpec, region: str | None = None, proxy_url: str | None = None) -> Session:
    """
    Return this process's session for *spec*, *region* and *proxy_url*, opening it on first use.

    A change of an AWS_ variable in the environment opens a new one, so that a notebook may correct its keys.
    Safe to call from any thread; but make clients one thread at a time, as botocore asks. Clients are shared freely.

    Raises:
        ProfileNotFoundError: The spec, or AWS_PROFILE, names a profile that is not configured.
    """
    key = (spec, region, proxy_url, _read_environment())
    with _lock:
        session = _sessions.pop(key, None) or open_session(spec, region, proxy_url)
        _sessions[key] = session  # the one used last stands last
        while len(_sessions) > _MOST_SESSIONS:
            del _sessions[next(iter(_sessions))]
    return session


def forget_sessions() -> None:
    """Drop all cached sessions, so that the next ones read the AWS configuration files again."""
    with _lock:
        _sessions.clear()


def _read_environment() -> _Environment:
    # Done for each range that is read, and decoding all the values would take three times as long.
    return tuple(sorted((name, os.environ.get(name, "")) for name in os.environ if name.startswith("AWS_")))


def _begin_anew() -> None:
    """Give a forked child its own lock and sessions: the parent may have held the one and be using the others."""
    global _lock
    _lock = threading.Lock()
    _sessions.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_begin_anew)
