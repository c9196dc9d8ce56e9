"""Why each source of botocore's chain had nothing to offer, in words that say what to set."""

from __future__ import annotations

import os

from botocore.session import Session

from kinesis_credentials.errors import Attempt

_REASONS = {
    "env": "AWS_ACCESS_KEY_ID is not set",
    "assume-role": "profile '{profile}' has no role_arn",
    "assume-role-with-web-identity": "AWS_WEB_IDENTITY_TOKEN_FILE is not set",
    "sso": "profile '{profile}' has no SSO settings",
    "shared-credentials-file": "no keys of profile '{profile}' in {credentials_file}",
    "login": "profile '{profile}' has no login session",
    "custom-process": "profile '{profile}' has no credential_process",
    "config-file": "no keys of profile '{profile}' in {config_file}",
    "ec2-credentials-file": "AWS_CREDENTIAL_FILE is not set",
    "boto-config": "no keys in a boto configuration file",
    "container-role": "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set",
    "iam-role": "no instance metadata service answered with a role",
}


def explain_attempts(session: Session) -> tuple[Attempt, ...]:
    """Return the sources that *session*'s chain holds, in its order, each with why it did not serve."""
    facts = {
        "profile": session.profile or "default",
        "credentials_file": session.get_config_variable("credentials_file"),
        "config_file": session.get_config_variable("config_file"),
    }
    providers = session.get_component("credential_provider").providers
    return tuple(Attempt(p.METHOD, _explain(p.METHOD, facts)) for p in providers)


def _explain(source: str, facts: dict[str, str]) -> str:
    if source == "iam-role" and os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return "AWS_EC2_METADATA_DISABLED is true"
    return _REASONS.get(source, "it had no credentials").format_map(facts)
