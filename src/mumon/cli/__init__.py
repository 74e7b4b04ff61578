"""The command line. Each command has a file; heavy imports wait until a command runs, so that --help is instant."""

from __future__ import annotations

import sys

import typer

from mumon import __version__
from mumon.cli import analogy, convert, demo, info, similar, train, vocab
from mumon.errors import MumonError

app = typer.Typer(
    name="mumon",
    help="Word vectors with the correct CBOW gradient: train, look up, convert.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("similar")(similar.similar)
app.command("analogy")(analogy.analogy)
app.command("convert")(convert.convert)
app.command("vocab")(vocab.vocab)
app.command("info")(info.info)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"mumon {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def main() -> None:
    """Run a command; a user's mistake ends in one sentence and exit code 1 (2 for wrong usage, 130 for Ctrl-C)."""
    try:
        app()
    except MumonError as error:
        sys.exit(_complain(str(error)))
    except BrokenPipeError:  # the reader of our output has gone: not an error
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(_complain(f"{where}{error.strerror or error}"))
    except KeyboardInterrupt:
        _complain("stopped; nothing was saved")
        sys.exit(130)


def _complain(sentence: str) -> int:
    print(f"mumon: {sentence}", file=sys.stderr)
    return 1
