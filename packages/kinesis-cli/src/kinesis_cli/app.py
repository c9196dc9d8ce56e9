"""All commands."""

from __future__ import annotations

from cyclopts import App, Group

from kinesis_cli.version import __version__

COMMANDS = {
    "Records": ("tail", "put", "dump", "replay", "copy"),
    "Streams": ("streams", "shards", "top", "advise", "doctor"),
    "Readers": ("lag", "offset", "leases", "consumers"),
    "Local": ("emulator",),
}
"""The names of the commands, by the headings of the list of commands. Each has a module and a function of its name."""


def make_app(*, is_listed: bool = False) -> App:
    """
    Return the application with all commands. A command's module is imported when the command runs.

    If *is_listed*, all of them are imported: the list of commands shows the first lines of their docstrings.
    """
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
    for index, (heading, commands) in enumerate(COMMANDS.items()):
        group = Group(heading, sort_key=index)
        for name in commands:
            app.command(f"kinesis_cli.commands.{name}:{name}", name=name, group=group)
            if is_listed:
                app[name]  # resolves it
    app.register_install_completion_command(
        help="Install completion for your shell: bash, zsh or fish. It adds a line to the shell's start-up file."
    )
    return app
