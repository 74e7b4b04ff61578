"""`mumon data`: the named public data sets."""

from __future__ import annotations

import json as json_
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from mumon.cli import options

if TYPE_CHECKING:
    from mumon.datasets import Dataset

HELP = "List and download public data sets."


def list_(
    name: Annotated[
        str | None, typer.Argument(help="Show this one in full: licence, citation, files.", show_default=False)
    ] = None,
    json: options.Json = False,
) -> None:
    """List the data sets, and whether each is in the mirror (the folder MUMON_DATA), in the cache, or not here yet.

    Example: mumon data list ws353
    """
    from mumon import datasets

    chosen = list(datasets.REGISTRY.values()) if name is None else [datasets.find(name)]
    if json:
        print(json_.dumps([{**asdict(each), "where": datasets.where(each)} for each in chosen], ensure_ascii=False))
    elif name is None:
        _show_table([(each, datasets.where(each)) for each in chosen])
    else:
        _show_one(chosen[0], datasets.where(chosen[0]))


def get(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Data sets, or all.", show_default=False)],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Download data sets that are not here yet, and print the paths of their files.

    Example: mumon data get ws353 men
    """
    from mumon import datasets

    chosen = [datasets.find(name) for name in names if name != "all"]
    got = {}
    with options.reporter(quiet) as progress:
        for each in datasets.REGISTRY.values() if "all" in names else ():
            if datasets.where(each) != datasets.BY_HAND:
                chosen.append(each)
            elif each not in chosen:
                progress.note(f"skipped {each.name}: it has no public download (the original: {each.home})")
        for each in chosen:
            got[each.name] = [str(path) for path in datasets.fetch_all(each.name, progress)]
    if json:
        print(json_.dumps(got, ensure_ascii=False))
        return
    for paths in got.values():
        print(*paths, sep="\n")


def _show_table(rows: list[tuple[Dataset, str]]) -> None:
    from mumon.cli.tables import escape, new_table, print_table

    table = new_table("", "name", "what", "files", "size", "where", "licence")
    table.box, table.padding = None, (0, 2, 0, 0)
    for each, where in rows:
        size = _format_size(sum(file.size for file in each.files))
        table.add_row(f"[cyan]{each.name}[/]", each.title, str(len(each.files)), size, where, escape(each.licence))
    print_table(table)


def _show_one(dataset: Dataset, where: str) -> None:
    from mumon.datasets import ALIASES

    names = [dataset.name, *(alias for alias, name in ALIASES.items() if name == dataset.name)]
    about = {"name": " or ".join(names), "what": dataset.title, "where": where}
    about |= {"licence": dataset.licence, "cite": dataset.citation, "home": dataset.home}
    for field, value in about.items():
        print(f"{field:>8}  {value}")
    for file in dataset.files:
        print(f"{'file':>8}  {file.path} ({_format_size(file.size)})")
        print(f"{'sha256':>8}  {file.sha256}")
        print(f"{'from':>8}  {file.url or 'no public download'}")


def _format_size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
