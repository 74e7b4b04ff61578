"""The documentation: every block runs as printed, every link works, and the site can be built."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.documents import ROOT, SKIPPED, find_blocks, find_options, run_line, write_files

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "paper-report" not in path.parts)
LINKING = [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md"))]
RUN, SHOWN = {"python", "sh"}, {"console", "text", "pycon", "json", "bibtex", "toml"}
PEERS = {
    "gensim",
    "usearch",
    "model2vec",
    "sentence_transformers",
    "sklearn",
    "spacy",
    "duckdb",
    "pandas",
    "polars",
    "networkx",
    "matplotlib",
    "torch",
    "node2vec",
}
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]* src=\"([^\"]+)\"")


def name_of(path):
    return str(path.relative_to(ROOT))


def blocks_to_run(page):
    return [block for block in find_blocks(page.read_text()) if block.kind in RUN]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, planted):
    """A folder with the files that pages mention, and a model."""
    home = tmp_path_factory.mktemp("docs")
    write_files(home, planted)
    from mumon import Word2Vec

    Word2Vec(str(home / "corpus.txt"), vector_size=24, min_count=1, workers=1).save(home / "king.mumon")
    return home


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_to_run(page)], ids=name_of)
def test_the_blocks_of_a_page_run_one_after_the_other(page, prepared, kernels, tmp_path, monkeypatch):
    here = shutil.copytree(prepared, tmp_path / "here")
    monkeypatch.chdir(here)
    monkeypatch.setenv("MUMON_DATA", str(here / "data"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", kernels["NUMBA_CACHE_DIR"])  # so that started processes find compiled kernels
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_to_run(page):
        if block.kind == "python":
            try:
                exec(compile("\n" * block.line + block.text, str(page), "exec"), names)
            except ModuleNotFoundError as error:
                if (error.name or "").split(".")[0] not in PEERS:
                    raise
                pytest.skip(f"{error.name} is not installed, and the rest of the page needs it")
            continue
        for line in block.lines():
            if not line.startswith(SKIPPED):
                code, reason = run_line(line)
                assert code == 0, f"{name_of(page)}, block at line {block.line}: {line}: exit code {code}: {reason}"


@cache
def read_options(*command):
    words = [sys.executable, "-m", "mumon", *command, "--help"]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    run = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, f"mumon {' '.join(command)} is not a command: {run.stderr}"
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", run.stdout))


def test_the_options_of_commands_that_are_only_shown_exist():
    shown = {
        (tuple(command), option): name_of(path)
        for path in LINKING
        for block in find_blocks(path.read_text())
        if block.kind in ("console", "sh")
        for line in block.lines()
        if line.startswith("mumon ")
        for command, option in find_options(line)
    }
    assert len(shown) > 40
    missing = [
        f"{shown[key]}: mumon {' '.join(key[0])} {key[1]}" for key in shown if key[1] not in read_options(*key[0])
    ]
    assert not missing


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_every_fence_has_a_known_kind_and_every_link_a_target(page):
    text = page.read_text()
    kinds = {block.kind for block in find_blocks(text)}
    assert kinds <= RUN | SHOWN, "a fence of this kind is neither run nor marked as only shown"
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for found in LINK.finditer(prose):
        target = (found[1] or found[2]).split("#")[0]
        if target and not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}, which does not exist"


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=name_of)
def test_a_guide_shows_how_to_install_what_it_imports_first(page):
    extras = {"sklearn": "mumon[sklearn]", "usearch": "mumon[index]", "sentence_transformers": "sentence-transformers"}
    here = {*sys.stdlib_module_names, "mumon", "numpy", "scipy", "pyarrow"}  # part of Python, or installed with mumon
    installed: set[str] = set()
    for block in find_blocks(page.read_text()):
        for line in block.lines():
            if line.startswith("pip install "):
                installed.update(shlex.split(line, comments=True)[2:])
        for name in re.findall(r"^(?:>>> )?(?:import|from) (\w+)", block.text, re.MULTILINE):
            wanted = extras.get(name, name)
            assert name in here or wanted in installed, f"{name_of(page)}, line {block.line}: no pip line for {wanted}"


def test_every_page_of_the_guides_can_be_reached_from_the_first():
    start = (DOCS / "index.md").read_text()
    guides = [path.relative_to(DOCS) for folder in ("how-to", "notebooks") for path in (DOCS / folder).glob("*.md")]
    assert len(guides) > 10
    assert not [str(path) for path in guides if f"]({path.as_posix()})" not in start]


def test_numbers_with_an_interval_are_those_of_pages_that_tests_compare_with_results():
    measured = re.compile(r"\d+\.\d+ ± \d+\.\d+")
    sources = ["README.md", *(f"docs/{name}.md" for name in ("findings", "rates", "extrinsic", "speed"))]
    sources.append("docs/paper-report/index.html")
    known = {number for name in sources for number in measured.findall((ROOT / name).read_text())}
    defaults = json.loads((ROOT / "benchmarks/results/defaults.json").read_text())["results"].values()
    gaps = [gap for record in defaults for pair in record["comparisons"].values() for gap in pair.values()]
    known |= {f"{abs(gap['difference']):.1f} ± {gap['half']:.1f}" for gap in gaps}
    new = [path for path in PAGES if path.parent != DOCS or path.name in ("index.md", "tutorial.md")]
    cited = {number for path in new for number in measured.findall(path.read_text())}
    assert cited and cited <= known


def test_the_figure_of_the_gradient_shows_what_the_page_says(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from gradient_figures import measure

    from mumon.experiments.paper.cosines import cosine

    wide = [measure(40, k, windows=20) for k in (5, 20)]
    assert all(abs(cos - 0.73) < 0.02 for cos, _, _ in wide)  # whatever k is; the closed form says otherwise
    assert cosine(40, 5) - cosine(40, 20) > 0.1
    for C in (1, 5, 40):
        cos, correct, faulty = measure(C, 5, windows=5)
        assert faulty == pytest.approx(C * correct)
        assert (cos == pytest.approx(1)) == (C == 1)


def test_the_notebook_runs_and_is_stored_without_outputs(kernels, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", kernels["NUMBA_CACHE_DIR"])
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    path = DOCS / "notebooks" / "quickstart.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    kernel = {"kernel_name": "python3", "resources": {"metadata": {"path": str(tmp_path)}}}
    done = nbclient.NotebookClient(notebook, timeout=120, **kernel).execute()
    kinds = [kind for cell in done.cells for out in cell.get("outputs", []) for kind in out.get("data", {})]
    assert kinds.count("image/png") >= 2


def test_the_shell_completes_commands():
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    program = [str(Path(sys.executable).with_name("mumon"))]
    script = subprocess.run([*program, "--show-completion", "bash"], env=environment, capture_output=True, text=True)
    assert script.returncode == 0 and "complete -o default" in script.stdout
    asked = {**os.environ, "_MUMON_COMPLETE": "complete_bash", "COMP_WORDS": "mumon tr", "COMP_CWORD": "1"}
    assert subprocess.run(program, env=asked, capture_output=True, text=True).stdout.split() == ["train"]


def test_the_citation_is_of_this_version_and_names_the_paper():
    yaml = pytest.importorskip("yaml")
    from mumon import __version__

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "type", "license", "references"} <= set(citation)
    assert (citation["cff-version"], str(citation["version"]), citation["license"]) == (
        "1.2.0",
        __version__,
        "Apache-2.0",
    )
    paper = citation["references"][0]
    assert paper["title"] == "Corrected CBOW Performs as well as Skip-gram" and paper["year"] == 2021
    assert [author["family-names"] for author in paper["authors"]] == ["İrsoy", "Benton", "Stratos"]
    assert f"[{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_other_sites(tmp_path):
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    call = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    run = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 30
    fetched = re.compile(r"<(?:script|img|iframe|source|link(?=[^>]*stylesheet))[^>]*(?:src|href)=\"?(https?:|//)")
    assert not [page.name for page in pages if fetched.search(page.read_text())]
    reference = (tmp_path / "site" / "reference" / "command-line.html").read_text()
    from mumon.cli import app

    for command in app.registered_commands:
        assert f'id="mumon-{command.name}"' in reference
    assert "&gt;&gt;&gt;" in (tmp_path / "site" / "reference" / "word-vectors.html").read_text()
    assert json.loads((tmp_path / "site" / "search" / "search_index.json").read_text())["docs"]
