"""The tables and the figure of training times."""

from __future__ import annotations

from statistics import median
from typing import Any

from mumon.experiments.bench.systems import DISTRIBUTIONS
from mumon.experiments.paper.figures import label_log_axis
from mumon.experiments.paper.results import Table, format_score
from mumon.experiments.plot_style import COLOURS, MARKS

PAPER_RATIO = 3.31  # kōan's skip-gram to its CBOW, in hours
TIME_UNITS = ((7200.0, 3600.0, "hours"), (300.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def find_median(data: dict[str, Any], id_: str, threads: int, name: str = "seconds") -> float | None:
    """Return the median time of a system on this many threads, or None if it was not measured."""
    times = [run[name] for run in data["runs"] if (run["system"], run["threads"]) == (id_, threads) and run[name]]
    return median(times) if times else None


def choose_unit(longest: float) -> tuple[float, str]:
    """Return the seconds of a unit that suits the longest time, and its name."""
    return next((divisor, name) for least, divisor, name in TIME_UNITS if longest >= least)


def build_times_table(data: dict[str, Any]) -> Table:
    """Build the table of times by system and threads."""
    rows = []
    for id_, system in data["systems"].items():
        row: list[Any] = [system["name"]]
        for threads in data["threads"]:
            times = [run["seconds"] for run in data["runs"] if (run["system"], run["threads"]) == (id_, threads)]
            row.append(f"{median(times):.1f} [{min(times):.1f}–{max(times):.1f}]" if times else "failed")
        alone = find_median(data, id_, max(data["threads"]), "training_seconds")
        rows.append([*row, "" if alone is None else f"{alone:.1f}"])
    columns = ["", *(f"{threads} thread{'s' * (threads > 1)}, s" for threads in data["threads"]), "training alone, s"]
    return Table("times", "Seconds by threads", columns, rows)


def build_ratio_table(ratios: dict[str, tuple[float, float]]) -> Table:
    """Build the table of what skip-gram costs more than CBOW, by implementation."""
    rows: list[list[Any]] = [[name, f"{low:.2f}", f"{high:.2f}"] for name, (low, high) in ratios.items()]
    return Table(
        "times-ratio",
        "Skip-gram's time over CBOW's",
        ["", "least", "most"],
        [*rows, ["kōan (paper)", PAPER_RATIO, PAPER_RATIO]],
    )


def describe_bench(bench: dict[str, Any]) -> str:
    """Describe the results of an earlier `mumon bench`."""
    return (
        f" The last table is an earlier `mumon bench` on {bench['sentences']:,} sentences, {bench['work']['dim']} "
        "dimensions, with quality (all items) beside the time."
    )


def build_bench_table(bench: dict[str, Any]) -> Table:
    """Build the table of an earlier `mumon bench`."""
    tasks = [task for task in bench["rows"][0]["scores"] if task != "mean"]
    rows = [
        [
            row["name"],
            *(format_score(row["scores"][task]) for task in tasks),
            f"{row['scores']['mean']:.1f} [{row['interval'][0]:.1f} … {row['interval'][1]:.1f}]",
            f"{row['seconds']:.0f} [{row['fastest']:.0f}–{row['slowest']:.0f}]",
            f"{row['peak_bytes'] / 1e6:.0f}",
        ]
        for row in bench["rows"]
    ]
    return Table("times-bench", "Quality and time on the larger corpus", ["", *tasks, "mean", "seconds", "MB"], rows)


def draw_times(figure: Any, data: dict[str, Any]) -> None:
    """Draw times against threads, CBOW and skip-gram side by side."""
    panels = figure.subplots(1, 2, sharey=True)
    colours = {name: COLOURS[place] for place, name in enumerate(["mumon", *DISTRIBUTIONS])}
    divisor, unit = choose_unit(max(run["seconds"] for run in data["runs"]))
    for axes, objective, title in zip(panels, ("cbow", "sg"), ("CBOW", "Skip-gram"), strict=True):
        for id_, system in data["systems"].items():
            if system["objective"] == objective:
                name = system["implementation"]
                known = [threads for threads in data["threads"] if find_median(data, id_, threads)]
                axes.plot(
                    known,
                    [(find_median(data, id_, threads) or 0) / divisor for threads in known],
                    marker=MARKS[list(colours).index(name)],
                    color=colours[name],
                    linestyle="--" if id_.endswith("exact") else "-",
                    label=system["name"],
                )
        axes.set(xscale="log", yscale="log", xlabel="threads", title=title)
        label_log_axis(axes.xaxis, data["threads"])
        axes.legend(fontsize=8)
    ticks = [base * 10.0**power for power in range(-2, 5) for base in (1, 1.5, 2, 3, 5, 7)]
    low, high = panels[0].get_ylim()
    label_log_axis(panels[0].yaxis, [tick for tick in ticks if low <= tick <= high])
    panels[0].set_ylabel(f"training time, {unit}")
