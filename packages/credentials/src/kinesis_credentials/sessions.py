"""From a spec to a botocore session that refreshes its credentials by itself."""

from __future__ import annotations

import os
import threading
from functools import lru_cache

import botocore.exceptions
from botocore.session import Session

from kinesis_credentials.attempts import explain_attempts
from kinesis_credentials.errors import NoCredentialsError, ProfileNotFoundError, SourceFailedError
from kinesis_credentials.specs import CredentialSpec, DefaultChain, Profile, StaticKeys

_OUTSIDE_PROFILES = ("ec2-credentials-file", "boto-config", "container-role", "iam-role")

_lock = threading.Lock()


def open_session(spec: CredentialSpec, region: str | None = None) -> Session:
    """
    Return a new session that takes its credentials from *spec* and works in *region*.

    Nothing is asked for credentials yet; `check` does that.

    Raises:
        ProfileNotFoundError: The spec, or AWS_PROFILE, names a profile that is not configured.
    """
    session = Session(profile=spec.name if isinstance(spec, Profile) else None)
    try:
        session.get_scoped_config()
    except botocore.exceptions.ProfileNotFound as error:
        raise ProfileNotFoundError(_describe_missing_profile(spec, session)) from error
    except botocore.exceptions.ConfigParseError as error:
        raise SourceFailedError(f"The AWS configuration cannot be read: {error}") from error
    if region is not None:
        session.set_config_variable("region", region)
    _install(spec, session)
    return session


def _install(spec: CredentialSpec, session: Session) -> None:
    chain = session.get_component("credential_provider")
    match spec:
        case StaticKeys(key_id, secret, token):
            session.set_credentials(key_id, secret, token)
        case Profile():
            for source in _OUTSIDE_PROFILES:
                chain.remove(source)
        case DefaultChain():
            pass


def _describe_missing_profile(spec: CredentialSpec, session: Session) -> str:
    name = session.profile
    if isinstance(spec, Profile):
        return f"The AWS configuration has no profile '{name}'. Correct the name, or add it on driver and executors."
    return (
        f"AWS_PROFILE names profile '{name}', which the AWS configuration does not have. Correct or unset it."
    )


def check(session: Session) -> None:
    """
    Ask for credentials now, so that a missing one is an error here and not in the middle of a query.

    May call STS or a metadata service when that is where the credentials come from.

    Raises:
        NoCredentialsError: Every source was tried and none served; it names them and why.
        SourceFailedError: A source was configured but broke or was refused.
    """
    try:
        credentials = session.get_credentials()
        if credentials is None:
            raise NoCredentialsError(explain_attempts(session))
        credentials.get_frozen_credentials()
    except NoCredentialsError:
        forget_sessions()
        raise
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError, OSError) as error:
        forget_sessions()
        raise SourceFailedError(f"AWS credentials could not be obtained: {error}") from error
    except ValueError as error:
        # An answer that is not JSON. Its text is left out, because it may hold the keys.
        forget_sessions()
        raise SourceFailedError("A credential process or service gave an answer that is not JSON.") from error


def cached_session(spec: CredentialSpec, region: str | None = None) -> Session:
    """
    Return this process's session for *spec* and *region*, opening it on first use.

    A change of an AWS_ variable in the environment opens a new one, so that a notebook may correct its keys.
    Safe to call from any thread; but make clients one thread at a time, as botocore asks. Clients are shared freely.

    Raises:
        ProfileNotFoundError: The spec, or AWS_PROFILE, names a profile that is not configured.
    """
    with _lock:
        return _open(spec, region, _read_environment())


def forget_sessions() -> None:
    """Drop all cached sessions, so that the next ones read the AWS configuration files again."""
    with _lock:
        _open.cache_clear()


@lru_cache(maxsize=32)
def _open(spec: CredentialSpec, region: str | None, _environment: tuple[tuple[str, str], ...]) -> Session:
    return open_session(spec, region)


def _read_environment() -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))


def _begin_anew() -> None:
    """Give a forked child its own lock and sessions: the parent may have held the one and be using the others."""
    global _lock
    _lock = threading.Lock()
    _open.cache_clear()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_begin_anew)
