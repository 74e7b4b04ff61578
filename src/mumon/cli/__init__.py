"""The command line: a file for each command. Heavy imports wait until a command runs, so that --help is instant."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import os
import sys
from collections.abc import Callable, Collection
from typing import IO, Any

import typer
from typer.core import TyperCommand, TyperGroup

from mumon import __version__
from mumon.cli.plain_values import convert_plainly
from mumon.errors import DISK_FULL_ERRNOS, MumonError
from mumon.utils.signals import Interrupted, raise_on_signals


def _simplify(parameters: list[Any]) -> list[Any]:
    """Let the help show arguments in capitals, and no type of flags: `<bool>` would look as if they took a value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument" and parameter.metavar is None:
            parameter.metavar = parameter.name.upper()
    return parameters


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return convert_plainly(_simplify(super().get_params(ctx)))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return convert_plainly(_simplify(super().get_params(ctx)))


def _guard(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that ends a user's mistakes in one sentence and exit code 1, and signals in code 128 + n."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            with raise_on_signals():
                command(*arguments, **options)
            sys.stdout.flush()
        except MumonError as error:
            raise _complain(str(error), 1) from None
        except BrokenPipeError:  # the reader of our output has closed it, as `head` does
            raise typer.Exit(1) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            step = "; free some space there, or choose another place" if error.errno in DISK_FULL_ERRNOS else ""
            raise _complain(f"{where}{error.strerror or error}{step}", 1) from None
        except MemoryError as error:
            raise _complain(f"there is not enough memory ({error}); train fewer words or dimensions", 1) from None
        except Interrupted as stopped:
            raise _complain(str(stopped), 128 + stopped.signum) from None

    return run


def _flush(stream: IO[str] | None) -> None:
    """Write out what is left; drop it if the reader is gone, as Python would end with an exit code of its own."""
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


def _complain(sentence: str, code: int) -> typer.Exit:
    """Print an error in one line, and return the end of the program."""
    with contextlib.suppress(OSError):  # the terminal was closed
        print(f"mumon: {sentence}", file=sys.stderr)
    return typer.Exit(code)


# Click's UsageError, of which recent versions of typer have a copy of their own.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
# The module and the function of each command. Only the one that runs is imported.
_COMMANDS = {
    "demo": "demo.demo",
    "train": "train.train",
    "eval": "evaluate.evaluate",
    "sweep": "sweep.sweep",
    "bench": "bench.bench",
    "paper": "paper.paper",
    "gradcheck": "gradcheck.gradcheck",
    "similar": "similar.similar",
    "analogy": "similar.analogy",
    "explore": "explore.explore",
    "convert": "convert.convert",
    "phrases": "phrases.phrases",
    "vocab": "vocab.vocab",
    "info": "info.info",
}


def build_app(names: Collection[str] | None = None) -> typer.Typer:
    """Build the program.

    Parameters
    ----------
    names
        The commands that it has; by default all of them, as the help needs. Reading the options of all takes typer
        longer than most commands take for their work.

    Returns
    -------
    typer.Typer
    """
    program = typer.Typer(
        name="mumon",
        cls=_Group,
        help="Word vectors with the correct CBOW gradient: train, evaluate, look up, convert.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, place in _COMMANDS.items():
        if names is None or name in names:
            module, _, function = place.partition(".")
            _register(program, name, getattr(importlib.import_module(f"mumon.cli.{module}"), function))
    if names is None:
        from mumon.cli import data

        group = typer.Typer(cls=_Group, help=data.HELP, no_args_is_help=True)
        _register(group, "list", data.list_)
        _register(group, "get", data.get)
        program.add_typer(group, name="data")
    program.callback()(_options)
    return program


def __getattr__(name: str) -> Any:
    """Build the whole program when `app` is first asked for."""
    if name != "app":
        raise AttributeError(f"module 'mumon.cli' has no attribute {name!r}")
    globals()[name] = build_app()
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), "app"})  # typer looks here for what to document


def _register(group: typer.Typer, name: str, command: Callable[..., None]) -> None:
    """Add a command; the lines of a paragraph in its help are joined, for typer keeps their ends."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)
    group.command(name, cls=_Command, help=text)(_guard(command))


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"mumon {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def _complain_of_usage(error: Exception) -> int:
    """Print what is wrong with a command line; typer's box would wrap it, and the paths in it.

    With no arguments at all, the message is the help, which is on the screen already.
    """
    if type(error).__name__ != "NoArgsIsHelpError":
        message = error.format_message()  # type: ignore[attr-defined]
        command = getattr(getattr(error, "ctx", None), "command_path", "mumon")
        _complain(f"{message[:1].lower()}{message[1:].rstrip('.')} (see {command} --help)", 2)
    return 2


def main() -> None:
    """Run the program `mumon`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a letter should show something
            stream.reconfigure(errors="replace")
    first = sys.argv[1:2]
    program = build_app(first) if first and first[0] in _COMMANDS else build_app()
    try:
        sys.exit(program(standalone_mode=False))
    except _USAGE_ERROR as error:
        sys.exit(_complain_of_usage(error))
    finally:
        for stream in (sys.stdout, sys.stderr):
            _flush(stream)
