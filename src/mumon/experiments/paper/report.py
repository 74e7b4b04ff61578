"""The files of a report: one self-contained HTML page, every table as CSV, every figure as SVG and PNG."""

from __future__ import annotations

import base64
import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mumon.errors import OptionError
from mumon.experiments.paper.results import PAPER, Cell, Section, Verdict
from mumon.utils.atomic import atomic_file

PAGE_NAME, FINDINGS_NAME = "index.html", "findings.md"
INSTALL = 'pip install "mumon[paper]"'
SVG_PREFIX = "data:image/svg+xml;base64,"


@dataclass(frozen=True)
class PageSection:
    """A section with what the page adds: its name, when it was measured, and its figures as embedded images."""

    id: str
    section: Section
    figures: list[dict[str, str]]
    measured: str  # when and with what

    def __getattr__(self, name: str) -> Any:
        return getattr(self.section, name)


def check_installed() -> None:
    """Check that the packages of the report are installed, before hours of measuring."""
    from importlib.util import find_spec

    missing = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if missing:
        raise OptionError(f"the report needs {len(missing)} more packages, {' and '.join(missing)}; try {INSTALL}")


def write_report(
    folder: Path, sections: Mapping[str, Section], measured: Mapping[str, str], metadata: Mapping[str, Any]
) -> Path:
    """Write the page, the findings, the tables and the figures.

    Parameters
    ----------
    folder
        The folder of the report.
    sections
        Sections by the name of the experiment.
    measured
        When and with what each section was measured.
    metadata
        Scale, corpus, machine and command of the report.

    Returns
    -------
    Path
        The page.
    """
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    shown = [
        PageSection(name, section, _draw_figures(folder, section), measured[name]) for name, section in sections.items()
    ]
    for section in sections.values():
        for table in section.tables:
            _write_text(folder / "tables" / f"{table.name}.csv", _format_csv([table.columns, *table.rows]))
    _write_text(folder / PAGE_NAME, render_page(shown, metadata))
    _write_text(folder / FINDINGS_NAME, render_findings(sections, metadata))
    return folder / PAGE_NAME


def render_page(sections: list[PageSection], metadata: Mapping[str, Any]) -> str:
    """Render the page as HTML; all content is escaped."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("mumon.experiments.paper"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["format_cell"] = format_cell
    counts = count_outcomes([each.section for each in sections])
    return environment.get_template("report.html").render(sections=sections, metadata=metadata, counts=counts)


def render_findings(sections: Mapping[str, Section], metadata: Mapping[str, Any]) -> str:
    """Render the verdicts as Markdown, claims that do not hold first."""
    order = ("does not hold", "undecided", "holds", "not judged")
    where = f", {metadata['corpus']}" if metadata.get("corpus") else ""
    lines = ["# Findings", "", f"Scale {metadata['scale']}{where}. {count_outcomes(sections.values())}", ""]
    for outcome in order:
        entries = [
            f"- **{verdict.claim}** The paper: {verdict.paper}. Here: {verdict.ours}. "
            f"({section.title}{_format_source(verdict)})"
            for section in sections.values()
            for verdict in section.verdicts
            if verdict.outcome == outcome
        ]
        lines += [f"## {outcome.capitalize()}", "", *entries, ""] if entries else []
    return "\n".join(lines)


def format_cell(cell: Cell) -> str:
    """Format a cell of a table.

    >>> format_cell(1234567), format_cell(0.0123), format_cell(None), format_cell("a ± b")
    ('1,234,567', '0.0123', '', 'a ± b')
    """
    if cell is None:
        return ""
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def count_outcomes(sections: Iterable[Section]) -> str:
    """Return a sentence on how many of the paper's claims hold."""
    outcomes = Counter(v.outcome for section in sections for v in section.verdicts if v.source == PAPER)
    held, not_held, open_ = (outcomes[name] for name in ("holds", "does not hold", "undecided"))
    return (
        f"Of {outcomes.total()} claims of the paper, {held} hold{'s' * (held == 1)} here, {not_held} "
        f"do{'es' * (not_held == 1)} not and {open_} {'is' if open_ == 1 else 'are'} undecided."
    )


def _format_source(verdict: Verdict) -> str:
    return "" if verdict.source == PAPER else f"; asked by {verdict.source}"


def _draw_figures(folder: Path, section: Section) -> list[dict[str, str]]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from mumon.experiments.plot_style import STYLE, save_figure

    shown = []
    for figure in section.figures:
        with rc_context(STYLE):
            drawn = Figure(figsize=figure.size, layout="constrained")
            figure.draw(drawn)
            svg = next(path for path in save_figure(drawn, folder / "figures" / figure.name) if path.suffix == ".svg")
        uri = SVG_PREFIX + base64.b64encode(svg.read_bytes()).decode()
        shown.append({"name": figure.name, "caption": figure.caption, "uri": uri})
    return shown


def _format_csv(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _write_text(path: Path, text: str) -> None:
    with atomic_file(path) as file:
        file.write(text.encode())
