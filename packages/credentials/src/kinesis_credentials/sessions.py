"""Turns a spec into a botocore session that refreshes its credentials by itself."""

from __future__ import annotations

import gzip
import json
import os
import threading
from typing import Any

import botocore.exceptions
from attrs import frozen
from botocore.config import Config
from botocore.loaders import JSONFileLoader, Loader
from botocore.session import Session

from kinesis_credentials.advice import Advice
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

    Its clients use the proxy at *proxy_url*, and so do the clients that fetch the credentials. Metadata services are
    called directly. No credentials are fetched yet; `ensure_credentials` does that.

    Raises:
        ProfileNotFoundError: The spec, or AWS_PROFILE, names a profile that the AWS configuration does not have.
        SourceFailedError: The AWS configuration cannot be read.
    """
    session = _open_plain(find_profile(spec), region, proxy_url)
    credentials = _make_credentials(spec, region, proxy_url, now)
    session.register_component("credential_provider", _Provider(credentials))
    return session


@frozen(eq=False)
class _Provider:
    """The credential provider of a session."""

    credentials: RenewableCredentials

    def load_credentials(self) -> RenewableCredentials:
        return self.credentials


def _open_plain(profile: str | None, region: str | None, proxy_url: str | None) -> Session:
    """Return a session with botocore's own credential providers."""
    session = Session(profile=profile)
    try:
        session.get_scoped_config()
    except botocore.exceptions.ProfileNotFound as error:
        raise _missing_profile(profile, session.profile) from error
    except botocore.exceptions.ConfigParseError as error:
        raise SourceFailedError(f"The AWS configuration cannot be read: {error}") from error
    data_paths = session.get_component("data_loader").search_paths
    session.register_component(
        "data_loader", _QuickLoader(data_paths, file_loader=_QuickFiles(), include_default_search_paths=False)
    )
    if region is not None:
        session.set_config_variable("region", region)
    if proxy_url is not None:
        session.set_default_client_config(Config(proxies={"http": proxy_url, "https": proxy_url}))
    return session


class _QuickFiles(JSONFileLoader):
    """
    Reads a file of botocore's data into plain dicts, which keep their order.

    botocore reads it into ordered dicts, which its own code does not need: 12 ms of CPU more for a first client.
    """

    def load_file(self, file_path: str) -> Any:
        for ending, opened in ((".json", open), (".json.gz", gzip.open)):
            if os.path.isfile(file_path + ending):
                with opened(file_path + ending, "rb") as file:
                    return json.loads(file.read())
        return None


class _QuickLoader(Loader):
    """
    A loader of botocore's data that lists services by the names of their folders.

    botocore also looks into each of its 400 folders, twice per client, to say that it has a service: 15 ms of CPU.
    """

    def list_available_services(self, type_name: str) -> list[str]:  # noqa: ARG002 # botocore passes it
        return sorted(
            {name for path in self.search_paths if os.path.isdir(path) for name in os.listdir(path)}
        )


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


def _missing_profile(profile: str | None, name: str | None) -> ProfileNotFoundError:
    if profile is not None:
        return ProfileNotFoundError(
            f"The AWS configuration has no profile '{name}'.", advice=Advice.ADD_PROFILE
        )
    return ProfileNotFoundError(
        f"AWS_PROFILE names profile '{name}', which the AWS configuration does not have. Correct or unset it."
    )


def get_credentials(session: Session) -> RenewableCredentials:
    """
    Return the credentials that *session* signs with.

    Raises:
        TypeError: `open_session` or `cached_session` did not make the session.
    """
    credentials = session.get_credentials()
    if not isinstance(credentials, RenewableCredentials):
        raise TypeError("The session was not made by kinesis_credentials.")
    return credentials


def ensure_credentials(session: Session) -> None:
    """
    Fetch credentials now, so that missing ones fail here and not in the middle of a query.

    It calls STS or a metadata service if the credentials come from there.

    Raises:
        NoCredentialsError: No source has credentials. The error names each source and the reason.
        SourceFailedError: A source is configured, but failed or was refused.
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
    Return this process's session for *spec*, *region* and *proxy_url*. The first call opens it.

    When an AWS_ variable in the environment changes, a new session is opened, so that a notebook can correct its keys.
    Threads may call it. Create clients in one thread at a time, as botocore requires; threads may share a client.

    Raises:
        ProfileNotFoundError: The spec, or AWS_PROFILE, names a profile that the AWS configuration does not have.
        SourceFailedError: The AWS configuration cannot be read.
    """
    key = (spec, region, proxy_url, _read_environment())
    with _lock:
        session = _sessions.pop(key, None) or open_session(spec, region, proxy_url)
        _sessions[key] = session  # the dict is in order of use
        while len(_sessions) > _MOST_SESSIONS:
            del _sessions[next(iter(_sessions))]
    return session


def forget_sessions() -> None:
    """Drop all cached sessions, so that the next ones read the AWS configuration files again."""
    with _lock:
        _sessions.clear()


def _read_environment() -> _Environment:
    # Called for each range that is read. Decoding the values of all variables would take three times as long.
    return tuple(sorted((name, os.environ.get(name, "")) for name in os.environ if name.startswith("AWS_")))


def _reset_after_fork() -> None:
    """Give a forked child its own lock and sessions: the parent may hold the lock and use the sessions."""
    global _lock
    _lock = threading.Lock()
    _sessions.clear()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_reset_after_fork)
