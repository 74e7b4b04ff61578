"""An estimate for people, as lines, and for programs, as JSON."""

from __future__ import annotations

from typing import Any

from mumon.estimate.estimator import Estimate
from mumon.training.checkpoints import KEPT
from mumon.training.memory import WORD_BYTES
from mumon.utils.memory import format_bytes
from mumon.utils.paths import cache_directory

LONG = 2 * 86_400.0  # seconds; whoever waits longer than that should hear of clusters
BUSY = 0.75  # of the processors' time, below which others must have had it
INDENT, NAMES = "  ", 14


def format_time(seconds: float) -> str:
    """A time in the unit that fits.

    >>> format_time(0.4), format_time(72), format_time(5000), format_time(400_000)
    ('0.4 s', '1.2 min', '1.4 h', '4.6 days')
    """
    for least, unit in ((2 * 86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= least:
            return f"{seconds / min(least, 86_400):,.1f} {unit}"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def format_number(number: float) -> str:
    """A number of tokens or words.

    >>> format_number(950), format_number(78_287), format_number(15_711_509), format_number(160e9)
    ('950', '78,300', '15.7 M', '160 G')
    """
    for size, letter in ((10**9, " G"), (10**6, " M")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:,.0f}" if number < 1000 else f"{float(f'{number:.3g}'):,.0f}"


def format_lines(found: Estimate) -> list[str]:
    """The estimate as lines of at most 80 columns."""
    plan, text, speed = found.plan, found.text, found.speed
    settings, columns = plan.model.settings, plan.model.vector_size
    passes = f"{plan.epochs} epoch{'s' * (plan.epochs > 1)}"
    nodes = f" on each of {plan.nodes} nodes" if plan.nodes > 1 else ""
    remarks = {"training": f"{passes}, {format_number(speed.tokens_per_second)} tokens/s{nodes}"}
    if text.sample.encoded:
        remarks["reading"] = "an earlier run has encoded it"
    kind = settings.record.title
    threads = f"{settings.workers} thread{'s' * (settings.workers > 1)}"
    told = [
        f"{format_number(text.tokens)} tokens, {format_number(text.sentences)} sentences; "
        f"{format_number(text.words)} words × {columns}",
        f"{INDENT}{text.how}",
        f"{INDENT}{kind}{', exact' * settings.exact}, {threads}; nothing is trained yet",
        "",
        _row("time", format_time(sum(found.seconds.values())), "", 0),
        *(_row(name, format_time(value), remarks.get(name, "")) for name, value in found.seconds.items()),
        "",
        _row("memory", format_bytes(found.peak_memory), _free(found.free_memory), 0),
        *_memory_rows(found),
        "",
        _row("disk", format_bytes(found.peak_disk), _free(min(found.free_disk.values())), 0),
        *_disk_rows(found),
    ]
    return [*told, *(part for sentence in [*find_notes(found), *find_problems(found)] for part in ("", sentence))]


def _row(name: str, value: str, remark: str, depth: int = 1) -> str:
    return f"{INDENT * depth + name:<{NAMES}}{value:>10}  {remark}".rstrip()


def _free(size: int | None) -> str:
    return "" if size is None else f"of {format_bytes(size)} that are free"


def _memory_rows(found: Estimate) -> list[str]:
    memory, on_disk = found.memory, found.plan.model.matrices == "disk"
    python = _row("Python", format_bytes(memory["Python"]), "with all that it loads")
    if memory["reading"] > memory["training"]:
        tables = format_bytes(memory["reading"] - memory["Python"])
        return [python, _row("word tables", tables, "while the text is read")]
    rows = "of frequent words; more if there is room" if on_disk else "two"
    return [
        python,
        _row("words", format_bytes(memory["words"]), "and what there is to know of each"),
        _row("matrices", format_bytes(memory["matrices"]), rows),
        _row("text", format_bytes(found.peak_memory - found.needed_memory), "mapped; given back if memory is short"),
    ]


def _disk_rows(found: Estimate) -> list[str]:
    remarks = {
        "encoded text": "in the cache, for the next run too" if found.plan.nodes == 1 else "spread over the cluster",
        "checkpoints": f"at once, until the model is saved; {KEPT} are kept",
        "matrices": "in the cache, while training runs",
    }
    told = []
    for name, size in found.disk.items():
        if size or name in ("model", "encoded text"):
            remark = "there already" if name == "encoded text" and not size else remarks.get(name, "")
            told.append(_row(name, format_bytes(size), remark))
    return told


def find_notes(found: Estimate) -> list[str]:
    """What a reader should know of how the figures were made, where it is not obvious."""
    told = []
    if len(found.speed.rows) > 1:
        sizes = ", ".join(format_number(rows) for rows in found.speed.rows)
        told.append(f"The speed was measured with {sizes} words and extrapolated.")
    if found.speed.cpu_share < BUSY:
        share = f"{100 * found.speed.cpu_share:.0f} % of the time of its threads"
        told.append(f"Other programs were busy: training got {share}. Without them it is faster.")
    if found.plan.nodes > 1:
        told.append(
            f"Assumed: {found.plan.nodes} nodes like this one, each with as much memory; their network is not counted."
        )
    if found.plan.model.matrices == "disk" and sum(_rows(found)) > (found.free_memory or 0):
        told.append("Waiting for the disk where rows are not in memory is not counted.")
    return told


def _rows(found: Estimate) -> list[int]:
    return [found.disk["matrices"], found.memory["Python"] + found.memory["words"]]


def find_problems(found: Estimate) -> list[str]:
    """What does not fit, a sentence each, with the next step."""
    told, model, free = [], found.plan.model, found.free_memory
    if free is not None and found.needed_memory > free:
        about = f"It needs {format_bytes(found.needed_memory)} of memory where {format_bytes(free)} are free"
        if found.memory["reading"] > max(free, found.memory["training"]):
            step = "read with fewer threads (--workers), each of which has a table of its own"
        else:
            step = _fewer_words(found, free) + "or find larger machines (--ray)"
            step = step if model.matrices == "disk" else f"keep the matrices on disk (--matrices disk), {step}"
        told.append(f"{about}: {step}.")
    for place, left in found.free_disk.items():
        needed = found.peak_disk if len(set(found.free_disk.values())) == 1 else _at(found, place)
        if needed > left:
            step = "make room there, move the cache (MUMON_CACHE), or choose another -o"
            told.append(f"It needs {format_bytes(needed)} of disk where {place} has {format_bytes(left)} left: {step}.")
            break
    if sum(found.seconds.values()) > LONG and found.plan.nodes == 1:
        told.append(f"{format_time(sum(found.seconds.values()))} are long: a cluster divides them (--ray, --nodes).")
    return told


def _fewer_words(found: Estimate, free: int) -> str:
    """How many words would fit, if any number does."""
    each = found.memory["matrices"] / found.text.words + WORD_BYTES
    most = (free - found.memory["Python"]) / each
    step = 10 ** (len(str(int(most))) - 2)
    return f"train fewer words (--max-vocab {int(0.95 * most) // step * step}) " if most > 1000 else ""


def _at(found: Estimate, place: Any) -> int:
    """What is taken at one of two places on different disks."""
    cached = found.disk["encoded text"] + found.disk["matrices"]
    return cached if place == cache_directory() else found.peak_disk - cached


def to_json(found: Estimate) -> dict[str, Any]:
    """All figures, in tokens, seconds and bytes."""
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
