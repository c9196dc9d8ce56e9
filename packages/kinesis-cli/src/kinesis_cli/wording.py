"""What a command says about an error: it names the options of the command line."""

from __future__ import annotations

from kinesis_core import KinesisError
from kinesis_credentials.advice import Advice, Setting, Vocabulary

_GIVE_POSITION = "Give a time, or a position such as TRIM_HORIZON."
_BEGIN_LATER = "Begin later, with --since."
COMMANDS = Vocabulary(
    {
        Setting.STREAM: "the stream's name or ARN",
        Setting.START: "--since",
        Setting.END: "--until",
        Setting.REGION: "--region",
        Setting.ENDPOINT: "--endpoint-url",
        Setting.TABLES_ENDPOINT: "--dynamodb-endpoint-url",
        Setting.STS_ENDPOINT: "AWS_ENDPOINT_URL_STS",
        Setting.SKIP_LOST: "",
    },
    {
        Advice.GIVE_CREDENTIALS: (
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, run `aws configure` or `aws sso login`, or name a profile with --profile."
        ),
        Advice.RENEW_KEYS: (
            "The source of the credentials has no newer ones. Keys in the environment are never refreshed: set new keys, or use a "
            "source that refreshes itself, such as --role-arn, --profile or the default chain."
        ),
        Advice.USE_ANOTHER_SOURCE: "",
        Advice.GIVE_CLASS: "",
        Advice.MOVE_CLASS: "",
        Advice.USE_JSON: "",
        Advice.INSTALL_CBOR: "",
        Advice.INSTALL_HTTP2: "",
        Advice.GIVE_POSITION: _GIVE_POSITION,
        Advice.USE_ITS_RELEASE: _GIVE_POSITION,
        Advice.RESTORE: "Restore the saved offset, or begin at a position with --since.",
        Advice.START_ANEW: "Give --since, and no earlier position.",
        Advice.START_AGAIN: "Run the command again.",
        Advice.SKIP_LOST: _BEGIN_LATER,
        Advice.SKIP_EXPIRED: "Start at TRIM_HORIZON, or at that time or later.",
        Advice.SKIP_LOST_IN_BATCH: _BEGIN_LATER,
        Advice.UNPACK: _BEGIN_LATER,
        Advice.AWAIT_CONSUMER: "Run the command again, or name another consumer.",
        Advice.REGISTER_CONSUMER: (
            "Register it first, or give --efo a name: the command registers a consumer of that name."
        ),
        Advice.POLL: "Poll: leave out --efo.",
        Advice.WRITE_AGAIN: "",
        Advice.SLOW_DOWN: "Give the stream more shards, or run fewer producers.",
        Advice.STOP_AGGREGATING: "Or add --no-aggregate.",
    },
    subject="{}",
)


def in_words_of_commands(error: object) -> str:
    """Return *error*, or its message, as one line that names the options of the command line."""
    if isinstance(error, KinesisError):
        error.words = COMMANDS
    return " ".join(str(error).split())
