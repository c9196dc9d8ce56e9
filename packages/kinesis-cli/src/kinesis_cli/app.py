"""All commands. A command's module is imported when the command runs."""

from __future__ import annotations

from cyclopts import App

from kinesis_cli.version import __version__

COMMANDS = {
    "Records": {
        "tail": "Show the records of a stream as they arrive.",
        "put": "Write lines as records.",
        "dump": "Write the records of a stream to a file.",
        "replay": "Write the records of a file to a stream, at the pace at which they arrived.",
    },
    "Streams": {
        "shards": "Show the shards of a stream as a tree, and how busy they are.",
        "top": "Show streams and shards live: what comes in, who reads, how far behind.",
        "advise": "Say which splits and merges would help a stream.",
    },
    "Readers": {
        "lag": "Show how far each reader of a stream is behind: checkpoints of Spark, and lease tables.",
        "consumers": "List or remove the consumers of enhanced fan-out.",
    },
    "Local": {
        "emulator": "Run a local Kinesis.",
    },
}
"""Each command with the line that the list of commands has for it, by group."""


def make_app() -> App:
    """Return the application with all commands."""
    app = App(
        name="kinesis",
        help="Amazon Kinesis Data Streams from the command line. A STREAM is a name or an ARN.",
        help_format="markdown",
        version=__version__,
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for group, commands in COMMANDS.items():
        for name, help_line in commands.items():
            app.command(f"kinesis_cli.commands.{name}:{name}", name=name, help=help_line, group=group)
    app.register_install_completion_command(
        help="Install completion for your shell: bash, zsh or fish. It adds a line to the shell's start-up file."
    )
    return app
