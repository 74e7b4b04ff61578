"""The command line. Each command has a file; heavy imports wait until a command runs, so that --help is instant."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
from collections.abc import Callable
from typing import IO, Any

import typer

from mumon import __version__
from mumon.cli import (
    analogy,
    bench,
    convert,
    data,
    demo,
    evaluate,
    explore,
    gradcheck,
    info,
    paper,
    phrases,
    similar,
    sweep,
    train,
    vocab,
)
from mumon.errors import DISK_FULL_ERRNOS, MumonError
from mumon.utils.signals import Interrupted, raise_on_signals

app = typer.Typer(
    name="mumon",
    help="Word vectors with the correct CBOW gradient: train, evaluate, look up, convert.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose user's mistakes end in one sentence and exit code 1, never in a traceback; signals in 128 + n."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            with raise_on_signals():
                command(*arguments, **options)
            sys.stdout.flush()
        except MumonError as error:
            raise _complaint(str(error), 1) from None
        except BrokenPipeError:  # whoever read our output has seen enough
            raise typer.Exit(1) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            step = "; make room there, or choose another place" if error.errno in DISK_FULL_ERRNOS else ""
            raise _complaint(f"{where}{error.strerror or error}{step}", 1) from None
        except MemoryError as error:
            raise _complaint(f"there is not enough memory ({error}); ask for fewer words or dimensions", 1) from None
        except Interrupted as stopped:
            raise _complaint(str(stopped), 128 + stopped.signum) from None

    return run


def _flush(stream: IO[str] | None) -> None:
    """Write out what is left; if nobody takes it, drop it, for Python would end with a code of its own."""
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


def _complaint(sentence: str, code: int) -> typer.Exit:
    with contextlib.suppress(OSError):  # the terminal was closed
        print(f"mumon: {sentence}", file=sys.stderr)
    return typer.Exit(code)


# Click's UsageError, of which recent versions of typer have a copy of their own.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "train": train.train,
    "eval": evaluate.evaluate,
    "sweep": sweep.sweep,
    "bench": bench.bench,
    "paper": paper.paper,
    "gradcheck": gradcheck.gradcheck,
    "similar": similar.similar,
    "analogy": analogy.analogy,
    "explore": explore.explore,
    "convert": convert.convert,
    "phrases": phrases.phrases,
    "vocab": vocab.vocab,
    "info": info.info,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_guarded(_command))

_data = typer.Typer(help=data.HELP, no_args_is_help=True)
_data.command("list")(_guarded(data.list_))
_data.command("get")(_guarded(data.get))
app.add_typer(_data, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"mumon {__version__}")
        raise typer.Exit


@app.callback()
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
        _complaint(f"{message[:1].lower()}{message[1:].rstrip('.')} (see {command} --help)", 2)
    return 2


def main() -> None:
    """Run the program `mumon`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a letter should show something
            stream.reconfigure(errors="replace")
    try:
        sys.exit(app(standalone_mode=False))
    except _USAGE_ERROR as error:
        sys.exit(_complain_of_usage(error))
    finally:
        for stream in (sys.stdout, sys.stderr):
            _flush(stream)
