"""
AWS credentials for drivers and executors: a picklable spec names the source, a botocore session refreshes the keys.

`open_session` or `cached_session` turns a spec into a session. All errors are subclasses of `CredentialsError`.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_credentials.credentials import Now, RenewableCredentials
    from kinesis_credentials.endpoints import find_endpoint_region
    from kinesis_credentials.errors import (
        Attempt,
        CredentialsError,
        IncompleteKeysError,
        NoCredentialsError,
        ProfileNotFoundError,
        ProviderClassError,
        RegionError,
        RoleRefusedError,
        SourceFailedError,
        SourceUnavailableError,
    )
    from kinesis_credentials.expiry import Retried, renew_expired
    from kinesis_credentials.failures import safe_message
    from kinesis_credentials.regions import find_arn_region, resolve_region
    from kinesis_credentials.sessions import (
        cached_session,
        ensure_credentials,
        forget_sessions,
        get_credentials,
        open_session,
    )
    from kinesis_credentials.specs import (
        AssumeRole,
        CredentialSpec,
        DefaultChain,
        InstanceProfile,
        Profile,
        ProviderClass,
        StaticKeys,
    )
    from kinesis_credentials.version import __version__
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "kinesis_credentials.credentials": "Now RenewableCredentials",
            "kinesis_credentials.endpoints": "find_endpoint_region",
            "kinesis_credentials.errors": (
                "Attempt CredentialsError IncompleteKeysError NoCredentialsError "
                "ProfileNotFoundError ProviderClassError RegionError RoleRefusedError "
                "SourceFailedError SourceUnavailableError"
            ),
            "kinesis_credentials.expiry": "Retried renew_expired",
            "kinesis_credentials.failures": "safe_message",
            "kinesis_credentials.regions": "find_arn_region resolve_region",
            "kinesis_credentials.sessions": (
                "cached_session ensure_credentials forget_sessions get_credentials open_session"
            ),
            "kinesis_credentials.specs": (
                "AssumeRole CredentialSpec DefaultChain InstanceProfile Profile ProviderClass StaticKeys"
            ),
            "kinesis_credentials.version": "__version__",
        },
    )

__all__ = [
    "AssumeRole",
    "Attempt",
    "CredentialSpec",
    "CredentialsError",
    "DefaultChain",
    "IncompleteKeysError",
    "InstanceProfile",
    "NoCredentialsError",
    "Now",
    "Profile",
    "ProfileNotFoundError",
    "ProviderClass",
    "ProviderClassError",
    "RegionError",
    "RenewableCredentials",
    "Retried",
    "RoleRefusedError",
    "SourceFailedError",
    "SourceUnavailableError",
    "StaticKeys",
    "__version__",
    "cached_session",
    "ensure_credentials",
    "find_arn_region",
    "find_endpoint_region",
    "forget_sessions",
    "get_credentials",
    "open_session",
    "renew_expired",
    "resolve_region",
    "safe_message",
]
