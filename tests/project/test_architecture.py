"""The plan of the packages holds: who may import whom, which library belongs where, and what is at the top."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mumon"

# From left to right: a package imports only from packages to its left. Those of one group do not import each other.
LAYERS = [
    {"errors"},
    {"utils"},
    {"datasets"},
    {"kernels"},
    {"corpus"},
    {"formats"},
    {"vectors"},
    {"training"},
    {"distributed"},
    {"word2vec"},
    {"fasttext"},
    {"phrases", "estimate", "evaluation", "integrations"},
    {"models"},
    {"experiments"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Libraries that one package keeps to itself.
HOMES = {
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "ray": {"distributed"},
    "torch": {"experiments"},
    "typer": {"cli"},
    "sklearn": {"integrations"},
    "matplotlib": {"experiments"},
}

# Names under which users know a module that lives elsewhere; nothing in the package imports these.
PUBLIC_NAMES = {"sklearn", "sweep"}
MOST_MODULES = 8  # at the top level


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem not in dunder())


def dunder() -> set[str]:
    return {"__init__", "__main__"}


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    """Name every module that a file imports anywhere: at the top, inside functions, and for types alone."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if is_module(inner) else node.module


def is_module(name: str) -> bool:
    path = SOURCE.parent / name.replace(".", "/")
    return name.startswith("mumon.") and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())


def own_imports(path: Path) -> set[str]:
    """Name the modules of mumon that a file imports, without the leading `mumon.`."""
    return {name.removeprefix("mumon.") for name in imports_of(path) if name.startswith("mumon.")}


def test_every_module_has_a_place_in_the_plan():
    assert {name_of(path).split(".")[0] for path in modules()} == LEVEL.keys() | PUBLIC_NAMES


def test_a_package_imports_only_from_packages_to_its_left():
    found = set()
    for path in modules():
        importing = name_of(path)
        package = importing.split(".")[0]
        if package in PUBLIC_NAMES:
            continue
        for imported in own_imports(path):
            other = imported.split(".")[0]
            if other != package and LEVEL.get(other, len(LAYERS)) >= LEVEL[package]:
                found.add((importing, imported))
    assert not found


def test_the_root_of_the_package_is_imported_for_its_version_alone():
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "mumon":
                taken = {alias.name for alias in node.names if not is_module(f"mumon.{alias.name}")}
                assert taken <= {"__version__"}, f"{name_of(path)} imports {taken} from mumon"


@pytest.mark.parametrize("library", HOMES)
def test_a_heavy_library_has_one_home(library):
    users = {name_of(path).split(".")[0] for path in modules() if library in roots(path)}
    assert users - PUBLIC_NAMES == HOMES[library]


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports_of(path)}


def test_no_modules_import_each_other_in_a_circle():
    graph = {name_of(path): own_imports(path) for path in modules()}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " → ".join([*way[way.index(name) :], name])
        if name not in done:
            for other in sorted(graph.get(name, ())):
                visit(other, (*way, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_few_modules_stand_at_the_top():
    assert len(list(SOURCE.glob("*.py"))) <= MOST_MODULES


def test_the_page_on_architecture_names_every_package():
    page = (ROOT / "docs" / "architecture.md").read_text()
    packages = [path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")]
    missing = [name for name in packages if name != "." and f"{name}/" not in page]
    assert not missing


def test_tests_are_laid_out_like_the_source():
    rooms = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms - {"project"} <= LEVEL.keys()
