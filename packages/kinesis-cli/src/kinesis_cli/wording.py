"""Errors of the core name the options of Spark's source. A command has others."""

from __future__ import annotations

import re

_REPLACED = (
    (re.compile(r"streamName or streamARN"), "the stream"),
    (re.compile(r"\bendpointUrl\b"), "--endpoint-url"),
    (re.compile(r"\bdynamodbEndpointUrl\b"), "--dynamodb-endpoint-url"),
    (re.compile(r"the option 'region'"), "--region"),
    (
        re.compile(r"Give keys \(awsAccessKeyId and awsSecretKey\)"),
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    (re.compile(r"\bawsProfile\b"), "--profile"),
    (re.compile(r" on driver and executors"), ""),
    (re.compile(r"'start'"), "--since"),
    (re.compile(r"'end'"), "--until"),
    (re.compile(r" failOnDataLoss=false [^.]*\."), ""),  # no command goes on after a loss
)


def in_words_of_commands(message: str) -> str:
    """Return *message* as one line that names the options of the command line."""
    for pattern, words in _REPLACED:
        message = pattern.sub(words, message)
    return " ".join(message.split())
