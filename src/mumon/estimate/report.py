"""An estimate for people, as lines, and for programs, as JSON."""

from __future__ import annotations

from typing import Any

from mumon.estimate.estimator import Estimate
from mumon.training.checkpoints import CHECKPOINTS_KEPT
from mumon.training.memory import WORD_BYTES
from mumon.utils.memory import format_bytes
from mumon.utils.paths import cache_directory

LONG_SECONDS = 2 * 86_400.0  # from which on a cluster is worth a hint
BUSY_SHARE = 0.75  # of the processors' time, below which other programs must have used them
INDENT, NAME_WIDTH = "  ", 14


def format_time(seconds: float) -> str:
    """Write a time in the unit that fits.

    >>> format_time(0.4), format_time(72), format_time(5000), format_time(400_000)
    ('0.4 s', '1.2 min', '1.4 h', '4.6 days')
    """
    for least, unit in ((2 * 86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= least:
            return f"{seconds / min(least, 86_400):,.1f} {unit}"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def format_number(number: float) -> str:
    """Write a number of tokens or words with three digits.

    >>> format_number(950), format_number(78_287), format_number(15_711_509), format_number(160e9)
    ('950', '78,300', '15.7 M', '160 G')
    """
    for size, letter in ((10**9, " G"), (10**6, " M")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:,.0f}" if number < 1000 else f"{float(f'{number:.3g}'):,.0f}"


def format_lines(found: Estimate) -> list[str]:
    """Write an estimate for people.

    Parameters
    ----------
    found
        The estimate.

    Returns
    -------
    list of str
        Lines of at most 80 columns, then notes and problems, a sentence each of any length.
    """
    plan, text, speed = found.plan, found.text, found.speed
    settings, columns = plan.model.settings, plan.model.vector_size
    passes = f"{plan.epochs} epoch{'s' * (plan.epochs > 1)}"
    nodes = f" on each of {plan.nodes} nodes" if plan.nodes > 1 else ""
    remarks = {"training": f"{passes}, {format_number(speed.tokens_per_second)} tokens/s{nodes}"}
    if text.sample.encoded:
        remarks["reading"] = "an earlier run has encoded it"
    kind = settings.objective_record.title
    threads = f"{settings.workers} thread{'s' * (settings.workers > 1)}"
    table = [
        f"{format_number(text.tokens)} tokens, {format_number(text.sentences)} sentences; "
        f"{format_number(text.words)} words × {columns}",
        f"{INDENT}{text.origin}",
        f"{INDENT}{kind}{', exact' * settings.exact}, {threads}; nothing is trained yet",
        "",
        _format_row("time", format_time(sum(found.seconds.values())), "", 0),
        *(_format_row(name, format_time(value), remarks.get(name, "")) for name, value in found.seconds.items()),
        "",
        _format_row("memory", format_bytes(found.peak_memory), _format_free(found.free_memory), 0),
        *_format_memory(found),
        "",
        _format_row("disk", format_bytes(found.peak_disk), _format_free(min(found.free_disk.values())), 0),
        *_format_disk(found),
    ]
    return [*table, *(part for sentence in [*find_notes(found), *find_problems(found)] for part in ("", sentence))]


def _format_row(name: str, value: str, remark: str, depth: int = 1) -> str:
    return f"{INDENT * depth + name:<{NAME_WIDTH}}{value:>10}  {remark}".rstrip()


def _format_free(size: int | None) -> str:
    return "" if size is None else f"of {format_bytes(size)} free"


def _format_memory(found: Estimate) -> list[str]:
    memory, on_disk = found.memory, found.plan.model.matrices == "disk"
    python = _format_row("Python", format_bytes(memory["Python"]), "and the libraries it loads")
    if memory["reading"] > memory["training"]:
        tables = format_bytes(memory["reading"] - memory["Python"])
        return [python, _format_row("word tables", tables, "while the text is read")]
    mapped = found.peak_memory - found.needed_memory
    rows = "rows of frequent words; more if there is room" if on_disk else "two"
    return [
        python,
        _format_row("words", format_bytes(memory["words"]), "their names, counts and tables"),
        _format_row("matrices", format_bytes(memory["matrices"]), rows),
        _format_row("text", format_bytes(mapped), "mapped; released if memory is short"),
    ]


def _format_disk(found: Estimate) -> list[str]:
    remarks = {
        "encoded text": "in the cache, for the next run too" if found.plan.nodes == 1 else "spread over the cluster",
        "checkpoints": f"at once, until the model is saved; {CHECKPOINTS_KEPT} are kept",
        "matrices": "in the cache, while training runs",
    }
    rows = []
    for name, size in found.disk.items():
        if size or name in ("model", "encoded text"):
            remark = "exists already" if name == "encoded text" and not size else remarks.get(name, "")
            rows.append(_format_row(name, format_bytes(size), remark))
    return rows


def find_notes(found: Estimate) -> list[str]:
    """List what a reader should know about how the figures were found, a sentence each."""
    notes = []
    if len(found.speed.rows) > 1:
        sizes = ", ".join(format_number(rows) for rows in found.speed.rows)
        notes.append(f"The speed was measured with {sizes} words and extrapolated.")
    if found.speed.cpu_share < BUSY_SHARE:
        share = f"{100 * found.speed.cpu_share:.0f} % of the time of its threads"
        notes.append(f"Other programs were busy: training got {share}. Without them it is faster.")
    if found.plan.nodes > 1:
        notes.append(
            f"Assumed: {found.plan.nodes} nodes like this one, each with as much memory; their network is not counted."
        )
    if found.plan.model.matrices == "disk" and _count_resident(found) > (found.free_memory or 0):
        notes.append("Waiting for the disk where rows are not in memory is not counted.")
    return notes


def _count_resident(found: Estimate) -> int:
    """Count the bytes that would keep all rows in memory."""
    return found.disk["matrices"] + found.memory["Python"] + found.memory["words"]


def find_problems(found: Estimate) -> list[str]:
    """List what does not fit, a sentence each, with the next step."""
    problems, model, free = [], found.plan.model, found.free_memory
    if free is not None and found.needed_memory > free:
        need = f"It needs {format_bytes(found.needed_memory)} of memory where {format_bytes(free)} are free"
        if found.memory["reading"] > max(free, found.memory["training"]):
            step = "read with fewer threads (--workers), each of which has a table of its own"
        else:
            step = _suggest_fewer_words(found, free) + "or find larger machines (--ray)"
            step = step if model.matrices == "disk" else f"keep the matrices on disk (--matrices disk), {step}"
        problems.append(f"{need}: {step}.")
    for place, left in found.free_disk.items():
        needed = found.peak_disk if len(set(found.free_disk.values())) == 1 else _count_disk_bytes(found, place)
        if needed > left:
            step = "make room there, move the cache (MUMON_CACHE), or choose another -o"
            problems.append(
                f"It needs {format_bytes(needed)} of disk where {place} has {format_bytes(left)} left: {step}."
            )
            break
    if sum(found.seconds.values()) > LONG_SECONDS and found.plan.nodes == 1:
        problems.append(
            f"{format_time(sum(found.seconds.values()))} are long: a cluster divides them (--ray, --nodes)."
        )
    return problems


def _suggest_fewer_words(found: Estimate, free: int) -> str:
    """Suggest a number of words that would fit, if any number does."""
    each = found.memory["matrices"] / found.text.words + WORD_BYTES
    most = (free - found.memory["Python"]) / each
    step = 10 ** (len(str(int(most))) - 2)
    return f"train fewer words (--max-vocab {int(0.95 * most) // step * step}) " if most > 1000 else ""


def _count_disk_bytes(found: Estimate, place: Any) -> int:
    """Count the bytes needed in one of two folders on different disks."""
    cached = found.disk["encoded text"] + found.disk["matrices"]
    return cached if place == cache_directory() else found.peak_disk - cached


def to_json(found: Estimate) -> dict[str, Any]:
    """Return all figures, in tokens, seconds and bytes."""
    text, plan = found.text, found.plan
    return {
        "tokens": text.tokens,
        "sentences": text.sentences,
        "distinct_words": text.types,
        "words": text.words,
        "vector_size": plan.model.vector_size,
        "epochs": plan.epochs,
        "threads": plan.model.settings.workers,
        "nodes": plan.nodes,
        "exact": text.sample.share == 1 and plan.tokens is None and plan.words is None,
        "sampled": text.sample.share if plan.files else None,
        "tokens_per_second": found.speed.tokens_per_second,
        "measured_with_words": list(found.speed.rows),
        "seconds": {**found.seconds, "total": sum(found.seconds.values())},
        "memory_bytes": {**found.memory, "peak": found.peak_memory, "free": found.free_memory},
        "disk_bytes": {**found.disk, "peak": found.peak_disk, "free": min(found.free_disk.values())},
        "cpu_share": found.speed.cpu_share,
        "notes": find_notes(found),
        "problems": find_problems(found),
    }
