"""Where AWS credentials come from: picklable specs that become refreshing botocore sessions."""

from kinesis_credentials.errors import (
    Attempt,
    CredentialsError,
    IncompleteKeysError,
    NoCredentialsError,
    ProfileNotFoundError,
    RegionError,
    SourceFailedError,
)
from kinesis_credentials.regions import find_endpoint_region, resolve_region
from kinesis_credentials.sessions import cached_session, check, forget_sessions, open_session
from kinesis_credentials.specs import CredentialSpec, DefaultChain, Profile, StaticKeys

__all__ = [
    "Attempt",
    "CredentialSpec",
    "CredentialsError",
    "DefaultChain",
    "IncompleteKeysError",
    "NoCredentialsError",
    "Profile",
    "ProfileNotFoundError",
    "RegionError",
    "SourceFailedError",
    "StaticKeys",
    "cached_session",
    "check",
    "find_endpoint_region",
    "forget_sessions",
    "open_session",
    "resolve_region",
]
