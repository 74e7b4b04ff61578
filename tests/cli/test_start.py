"""The start and the end of a command: what is not needed is not loaded, and nothing is searched before it exits."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from mumon import cli
from mumon.cli import plain_values

# Prints the modules that a run of the command line has loaded.
LOADED = """
import atexit, sys
from mumon.__main__ import main
atexit.register(lambda: print("loaded", *sys.modules))
main()
"""
# Prints how many objects the last search for garbage will leave out.
FROZEN = """
import atexit, gc
from mumon.__main__ import main
atexit.register(lambda: print(gc.get_freeze_count()))
main()
"""
HEAVY = ("pandas", "pydantic", "scipy.linalg", "scipy.stats", "numba.np.arraymath", "numba.np.linalg", "rich.progress")


@pytest.fixture
def load(tmp_path, kernels):
    """Run a command in a process of its own; gives the modules that it loaded."""

    def call(*arguments):
        command = [sys.executable, "-c", LOADED, *map(str, arguments)]
        done = subprocess.run(command, env=kernels, cwd=tmp_path, capture_output=True, text=True)
        assert "loaded " in done.stdout, done.stderr
        return set(done.stdout.rpartition("loaded ")[2].split())

    return call


def test_training_with_cached_kernels_loads_neither_a_compiler_nor_libraries_that_it_does_not_use(load, tmp_path):
    (tmp_path / "corpus.txt").write_text("the cat saw the dog\nthe dog saw the cat\n" * 50)
    for name in ("a.mumon", "b.mumon"):  # the first one may compile
        loaded = load("train", "corpus.txt", "-o", name, "--min-count", 1, "--dim", 8, "--workers", 2)
        (tmp_path / "corpus.txt").open("a").write("another text is encoded again\n")
    assert {"numba", "pyarrow", "mumon.kernels.cbow"} <= loaded
    assert not loaded & set(HEAVY)


def test_a_command_loads_no_other_command(load):
    commands = {f"mumon.cli.{place.partition('.')[0]}" for place in cli._COMMANDS.values()}
    assert load("train", "nothing.txt", "-o", "m") & commands == {"mumon.cli.train"}
    assert load("similar", "nothing", "word") & commands == {"mumon.cli.similar"}
    assert load("--help") & commands == commands


def test_a_wrong_command_still_gets_all_of_them_as_suggestions(run):
    code, _, err = run("simlar")
    assert code == 2 and "similar" in err


def test_the_program_exits_without_a_search_for_garbage(kernels):
    done = subprocess.run([sys.executable, "-c", FROZEN, "--version"], env=kernels, capture_output=True, text=True)
    assert int(done.stdout.split()[-1]) > 10_000


NUMBERS = ["0", "1", "7", "300", "-1", "+5", " 5", "1_000", "٣", "1.0", "9" * 18, "9" * 40]
VALUES = [None, "", *NUMBERS, 0, 5, -3, "a", "correct", "--"]


def test_plain_values_are_what_typer_makes_of_them(monkeypatch):
    """Every option of `train` takes or refuses every value as it does without the short cut."""
    pytest.importorskip("pydantic")

    def convert(short):
        shortcut = plain_values.convert_plainly if short else lambda parameters: parameters
        monkeypatch.setattr(cli, "convert_plainly", shortcut)
        command = typer.main.get_command(cli.build_app(["train"])).commands["train"]
        context = command.make_context("train", [], resilient_parsing=True)
        results = {}
        for parameter in command.get_params(context):
            for value in [*VALUES, *[(value,) for value in VALUES[1:]], ("a", "b"), ()]:
                if isinstance(value, tuple) == (parameter.nargs != 1) and parameter.callback is None:
                    try:
                        result = parameter.process_value(context, value)
                        results[parameter.name, value] = type(result), result
                    except Exception as error:
                        results[parameter.name, value] = type(error), str(error)
        return results

    short = convert(True)
    assert short == convert(False)
    assert short["dim", "300"] == (int, 300) and short["corpus", ("a", "b")] == (list, ["a", "b"])


def test_plain_values_need_no_pydantic(load):
    assert "pydantic" not in load("similar", "nothing", "word")
    assert "pydantic" not in load("train", "nothing.txt", "-o", "m", "--dim", 300, "--workers", 2, "--tokenize")
