"""Errors of the core name the options of Spark's source. A command has others."""

from __future__ import annotations

import re

from kinesis_cli.ending import CommandError

_REPLACED = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"streamName or streamARN", "the stream"),
        (r"\bendpointUrl\b", "--endpoint-url"),
        (r"\bdynamodbEndpointUrl\b", "--dynamodb-endpoint-url"),
        (r"\bstsEndpointUrl\b", "AWS_ENDPOINT_URL_STS"),
        (r"the option 'region'", "--region"),
        (r"Give keys \(awsAccessKeyId and awsSecretKey\)", "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        (r"Keys in options are never refreshed: pass", "Keys in the environment are never refreshed: set"),
        (r"\bawsProfile\b", "--profile"),
        (r"\bstsRoleArn\b", "--role-arn"),
        (r" on driver and executors", ""),
        (r"(?<!got )(Option )?'(start|startingPosition)'", "--since"),
        (r"(?<!got )(Option )?'(end|endingPosition)'", "--until"),
        (r" \(dynamodbTableName\)", ""),
        (r"Option 'dynamodbTableName'", "The application"),
        # No command goes on after a loss.
        (r" failOnDataLoss=false starts at the oldest record left\.", ""),
        (
            r" failOnDataLoss=false continues .* Or start with a new checkpoint\.",
            " Begin later, with --since.",
        ),
        (r" failOnDataLoss=false reads the .* until the batch is done\.", " Begin later, with --since."),
        (r", run fewer producers at once, or raise recordTtlMs \(record_ttl_s\)", ", or run fewer producers"),
        (r"\baggregationEnabled=false\b", "--no-aggregate"),
        (r"Start the query again", "Run the command again"),
        (r" raise subscribeTimeout,", ""),
        (r"Raise subscribeTimeout, or leave fanOutFallback=true so .* polled", "Poll: leave out --efo"),
        (r"use consumerName: the query registers", "give --efo a name: the command registers"),
    )
)


def in_words_of_commands(error: object) -> str:
    """
    Return *error*, or its message, as one line that names the options of the command line.

    Errors of commands name them already, and what the user typed beside them must stay as it is.
    """
    message = str(error)
    if not isinstance(error, CommandError):
        for pattern, words in _REPLACED:
            message = pattern.sub(words, message)
    return " ".join(message.split())
