"""The command line. Each command has a file; its help is its docstring and the help texts of its options."""

import functools
import gc
import importlib
import io
import os
import re
import sys

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from nandram.cli.terminal.groups import GroupedCommands
from nandram.cli.terminal.interrupt import interruptible
from nandram.errors import UserError
from nandram.options import not_one_of

COMMANDS = {
    "run": "run:run",
    "reproduce": "reproduce:reproduce",
    "report": "report:report",
    "sweep": "sweep:sweep",
    "serve": "serve:serve",
    "compare": "compare:compare",
    "rerun": "rerun:rerun",
    "probe": "probe:probe",
    "fit": "fit:fit",
    "paging": "paging:paging",
    "show": "systems:show",
    "check": "check:check",
    "schema": "systems:schema",
    "import": "import_:import_",
    "systems": "systems:list_systems",
    "cache": "cache:app",
    "capture": "capture:app",
    "guest": "guest:app",
    "memory": "memory:app",
}
"""Module and name of each command, or of its commands."""


@functools.cache
def app(only: str | None = None) -> TyperGroup:
    """Return the program with one of its commands, or with all: importing them takes longer than most commands."""
    program = typer.Typer(
        name="nandram",
        cls=GroupedCommands,
        add_completion=True,
        no_args_is_help=True,
        # Plain text: rich would double the run time of --help.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.callback()(nandram)
    for name in COMMANDS if only is None else [only]:
        module, _, attribute = COMMANDS[name].partition(":")
        found = getattr(importlib.import_module(f"nandram.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            program.add_typer(found, name=name)
        else:
            program.command(name)(interruptible(found))
    command = get_command(program)
    assert isinstance(command, TyperGroup)
    return command


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"nandram {version('nandram')}")
        raise typer.Exit


def nandram(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Simulate machines of flash and DRAM, each described in one file.

    To begin: `nandram systems` lists the presets, `nandram run nvme-client-tlc JOB.fio` runs a fio job on one.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its status: 2 and one line of text for a user's mistake, 130 for an interrupt."""
    # Commands make few reference cycles; collections while typer is imported take a tenth of the start-up time.
    gc.set_threshold(100_000, 20, 20)
    _prepare_streams()
    try:
        given = sys.argv[1:] if arguments is None else arguments
        _expect_text(given)
        only = given[0] if given and given[0] in COMMANDS else None
        status = app(only)(arguments, standalone_mode=False, prog_name="nandram")
        sys.stdout.flush()
    except (UserError, TyperException) as error:
        message = _usage_message(error) if isinstance(error, TyperException) else str(error)
        # If no command was given, the message is empty or the help text.
        if message:
            print(message if message.startswith("Usage: ") else f"error: {_plain(message)}", file=sys.stderr)
        status = 2
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        status = 130
    except (BrokenPipeError, SystemExit):
        # The reader of the output closed the pipe; rich and typer raise SystemExit in this case only.
        _forget_output()
        status = 0
    except OSError as error:
        if error.filename is not None:
            raise
        # Errors of named files are reported where they are written; this is standard output, on a full disk.
        print(f"error: standard output cannot be written: {error.strerror}", file=sys.stderr)
        _forget_output()
        status = 2
    sys.exit(status or 0)


def _prepare_streams() -> None:
    """Make output possible in any locale; end with status 2 if standard output is closed."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        # The next file to be opened would get its number, and the figures.
        print("error: standard output is closed", file=sys.stderr)
        sys.exit(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _expect_text(arguments: list[str]) -> None:
    """Raise `UserError` for an argument whose bytes are no text in the locale's encoding."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            encoding = sys.getfilesystemencoding()
            shown = argument.encode(errors="backslashreplace").decode()
            raise UserError(f"found `{shown}`, expected a text in {encoding}; LC_ALL=C.UTF-8 selects UTF-8") from None


def _usage_message(error: TyperException) -> str:
    """Return typer's message; one about a choice is worded like the messages of all other values."""
    if isinstance(error, typer.BadParameter) and error.param is not None:
        message = error.message.removeprefix("Value error, ")
        choice = re.fullmatch(r"(?s)(['\"])(.*)\1 is not one of ('.*')\.", message)
        if choice:
            return not_one_of(max(error.param.opts, key=len), choice[2], tuple(choice[3].strip("'").split("', '")))
        error.message = message
    return error.format_message()


def _plain(message: str) -> str:
    """Return a message with the control characters in its quotations written as escapes."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in message)


def _forget_output() -> None:
    """Redirect standard output so that the interpreter does not report unwritten output at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
