"""The command line. Each command is a file; what the user reads of it is its docstring and its options' help."""

import gc
import os
import sys

import typer
from typer.exceptions import TyperException

from nandram.cli import cache, capture, compare, memory, paging, probe, report, reproduce, run, sweep, systems
from nandram.cli.interrupt import interruptible
from nandram.errors import UserError

app = typer.Typer(
    name="nandram",
    add_completion=False,
    no_args_is_help=True,
    # Plain text: rich would double the time of --help.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(interruptible(run.run))
app.command()(interruptible(reproduce.reproduce))
app.command()(interruptible(report.report))
app.command()(interruptible(sweep.sweep))
app.command()(interruptible(compare.compare))
app.command()(interruptible(probe.probe))
app.command()(interruptible(paging.paging))
app.command()(interruptible(systems.check))
app.command()(interruptible(systems.schema))
app.command("systems")(systems.list_systems)
app.add_typer(cache.app, name="cache")
app.add_typer(capture.app, name="capture")
app.add_typer(memory.app, name="memory")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"nandram {version('nandram')}")
        raise typer.Exit


@app.callback()
def nandram(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Describe a machine of flash and DRAM in one file, and simulate it."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its status: 2 for a user's mistake, told in one line, 130 if interrupted."""
    # A command makes few cycles; collecting the importing of typer's adapters takes a tenth of its start.
    gc.set_threshold(100_000, 20, 20)
    try:
        status = app(arguments, standalone_mode=False, prog_name="nandram")
        sys.stdout.flush()
    except (UserError, TyperException) as error:
        message = error.format_message() if isinstance(error, TyperException) else str(error)
        # Without a command there is no message, or the message is the help.
        if message:
            print(message if message.startswith("Usage: ") else f"error: {_plain(message)}", file=sys.stderr)
        status = 2
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        status = 130
    except (BrokenPipeError, SystemExit):
        # Whoever read our output has enough: rich and typer exit with a failure then, and at nothing else.
        _forget_output()
        status = 0
    except OSError as error:
        if error.filename is not None:
            raise
        # A file of its own is named where it is written: this is the standard output, on a disk that is full.
        print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
        _forget_output()
        status = 2
    sys.exit(status or 0)


def _plain(message: str) -> str:
    """Return a message with the control characters of what it quotes written as escapes."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in message)


def _forget_output() -> None:
    """Keep the interpreter from complaining at exit of what is still to be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
