"""All commands. A command's module is imported when the command runs."""

from __future__ import annotations

from cyclopts import App

from kinesis_cli.version import __version__

COMMANDS = {
    "Records": {
        "put": "Write lines as records.",
        "copy": "Copy a stream to another one.",
    },
    "Readers": {
        "doctor": "Check credentials, permissions, clock and limits.",
        "consumers": "List or remove the consumers of enhanced fan-out.",
        "leases": "Show or change the leases of an application.",
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
    return app
