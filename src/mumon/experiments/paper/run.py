"""`run_paper`: measure the experiments that were asked for, and write a report of all that are measured."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mumon import __version__
from mumon.errors import DataError, MumonError, OptionError, TrainingError
from mumon.experiments.paper.experiment_context import ExperimentContext, read_json
from mumon.experiments.paper.results import Item, Section
from mumon.experiments.paper.scales import Scale, find_scale
from mumon.experiments.result_store import write_json
from mumon.utils.progress import Progress, choose_progress

if TYPE_CHECKING:
    from mumon.evaluation import SentenceTask, Task

FORMAT, VERSION = "mumon-paper", 2  # of the data of a report
DATA_FOLDER = "data"
WITHOUT_TEXT = ("gradcheck", "sampler")
WITH_SENTENCES = ("both-sides", "sentences", "growth")  # they share trainings, which answer pairs of sentences
Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def items() -> dict[str, Item]:
    """Return every experiment by name, in the order of the report.

    Returns
    -------
    dict
        Items by name.
    """
    from mumon.experiments.paper import (
        angle,
        both_sides,
        c4,
        curves,
        extrinsic,
        gradients,
        growth,
        intrinsic,
        negatives,
        norms,
        position_weights,
        rates,
        sampler,
        sentence_similarity,
        sizes,
        subwords,
        times,
    )

    paper = (intrinsic, extrinsic, times, norms, angle, curves, sampler, negatives, rates, gradients, sizes)
    modules = (*paper, both_sides, sentence_similarity, growth, position_weights, subwords, c4)
    return {module.ITEM.name: module.ITEM for module in modules}


@dataclass(frozen=True)
class PaperReport:
    """A written report.

    Attributes
    ----------
    page
        The HTML page.
    sections
        Sections by the name of the experiment.
    seconds
        How long it took.
    failed
        Experiments that failed, and why.
    """

    page: Path
    sections: dict[str, Section]
    seconds: float
    failed: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the verdicts, for programs."""
        return {
            "page": str(self.page),
            "seconds": self.seconds,
            "failed": self.failed,
            "verdicts": [
                {"item": name, **vars(verdict)}
                for name, section in self.sections.items()
                for verdict in section.verdicts
            ],
        }


def run_paper(
    names: Sequence[str] = ("all",),
    *,
    scale: str = "small",
    corpus: Files | None = None,
    output: str | os.PathLike[str] = "paper-report",
    cache: str | os.PathLike[str] | None = None,
    extrinsic: str | os.PathLike[str] | None = None,
    bench: str | os.PathLike[str] | None = None,
    c4: Files | None = None,
    more: Files | None = None,
    german: Files | None = None,
    threads: int | None = None,
    command: str = "mumon.experiments.paper.run_paper",
    progress: bool | Progress | None = None,
) -> PaperReport:
    """Repeat the paper's experiments and write a report.

    Parameters
    ----------
    names
        Experiments (see `items`), or "all".
    scale
        "small" (minutes), "medium" (an hour or two on two cores) or "full" (the paper's settings).
    corpus
        Text with one sentence per line. Without it, "small" uses a made-up language with its own questions.
    output, cache
        Folders of the report and of the measurements (by default inside the report's); the same call resumes.
    extrinsic, bench
        JSON of an earlier `mumon eval --extrinsic`, and results.json of an earlier `mumon bench`, to include.
    c4
        A second corpus for large vectors: 768 dimensions and 5 M words at the full scale.
    more
        More text, which the experiment `growth` adds to the corpus for its largest part.
    german
        German text, on which the experiment `subwords` trains, too.
    threads
        Threads of every training; by default all cores.
    command
        The command line, for the report.
    progress
        True or False to show progress or not, an object that reports it, or None for a terminal alone.

    Returns
    -------
    PaperReport
        Where the report is, its sections, and which experiments failed.

    Raises
    ------
    OptionError
        If an argument cannot be used, or if the folder holds something else.
    TrainingError
        If no experiment could be measured.

    Examples
    --------
    >>> import tempfile
    >>> report = run_paper(["gradcheck"], output=tempfile.mkdtemp(), progress=False)
    >>> report.sections["gradcheck"].verdicts[0].outcome
    'holds'
    """
    from mumon.experiments.paper.report import check_installed
    from mumon.utils.threads import available_cores

    started, home, chosen_scale = time.perf_counter(), Path(output), find_scale(scale)
    wanted, asked = choose_items(names)
    check_installed()
    earlier, files = _read_earlier_results(extrinsic, bench), _list_names(corpus)
    metadata = _describe_report(chosen_scale, files, command)
    check_folder(home, metadata)
    failed: dict[str, str] = {}
    with choose_progress(progress) as reporter:
        folder = Path(cache) if cache is not None else home / "cache"
        folder.mkdir(parents=True, exist_ok=True)
        inputs, tasks = _prepare_text(chosen_scale, files, wanted, folder, reporter)
        context = ExperimentContext(
            chosen_scale,
            inputs,
            tasks,
            folder,
            threads or available_cores(),
            reporter,
            earlier_results=earlier,
            c4=_list_names(c4),
            more=_list_names(more),
            german=_list_names(german),
            sentence_tasks=_load_sentences(wanted, bool(files), reporter),
        )
        for number, item in enumerate(wanted, 1):
            reason = _find_reason_to_skip(item.name, context, asked)
            if reason is not None:
                reporter.note(f"{item.name} is left out: {reason}")
                continue
            reporter.note(f"{item.name} ({number} of {len(wanted)}): {item.summary}")
            context.label = item.name
            try:
                _save_data(home, item, item.measure(context), metadata)
            except MumonError as error:  # the other experiments continue
                failed[item.name] = str(error)
                reporter.note(f"{item.name} failed: {error}")
        if not any((home / DATA_FOLDER).glob("*.json")):
            raise TrainingError(
                f"none of the {len(wanted)} experiments could be made: "
                f"{next(iter(failed.values()), 'all are left out')}"
            )
        page, sections = _write_pages(home, metadata)
    return PaperReport(page, sections, time.perf_counter() - started, failed)


def render_paper(folder: str | os.PathLike[str], bench: str | os.PathLike[str] | None = None) -> PaperReport:
    """Write the pages, tables and figures of a report again from its data; nothing is measured.

    Parameters
    ----------
    folder
        The folder of the report.
    bench
        results.json of a newer `mumon bench`, which takes the place of the one that the report includes.

    Returns
    -------
    PaperReport
        Where the report is, and its sections.

    Raises
    ------
    OptionError
        If the folder holds no report of this version.
    """
    from mumon.experiments.paper.report import check_installed

    started, home = time.perf_counter(), Path(folder)
    check_installed()
    if not any((home / DATA_FOLDER).glob("*.json")):
        raise OptionError(f"{home} holds 0 experiments of a report; name the folder of one, or measure some first")
    check_version(home)
    if bench is not None:
        _replace_bench(home, Path(bench))
    page, sections = _write_pages(home)
    return PaperReport(page, sections, time.perf_counter() - started, {})


def _replace_bench(home: Path, bench: Path) -> None:
    """Put the results of another `mumon bench` into the section on times."""
    from mumon.experiments.paper.times import ITEM, read_bench

    path = home / DATA_FOLDER / f"{ITEM.name}.json"
    if not path.exists():
        raise OptionError(f"{home} has 0 training times, where {bench} would be included; measure {ITEM.name} first")
    record = read_json(path, "data of a report")
    record["data"]["given"] = read_bench(bench)
    write_json(path, record)


def _write_pages(home: Path, metadata: Mapping[str, Any] | None = None) -> tuple[Path, dict[str, Section]]:
    """Write a report from its data; without metadata of a new run, its head is that of the newest section."""
    from mumon.experiments.paper.report import write_report

    sections, measured, newest = render_sections(home)
    origins = list_origins(home)
    return write_report(home, sections, measured, {**(metadata or newest), "origins": origins}), sections


def render_sections(folder: Path) -> tuple[dict[str, Section], dict[str, str], dict[str, Any]]:
    """Render the sections of a report from its data.

    Parameters
    ----------
    folder
        The folder of the report.

    Returns
    -------
    tuple
        The sections, when each was put together, and scale, corpus, machine and command of the newest.
    """
    records = _read_data(folder)
    sections = {name: items()[name].build_section(record["data"]) for name, record in records.items()}
    measured = {name: _describe_measurement(record["about"]) for name, record in records.items()}
    return (
        sections,
        measured,
        max((record["about"] for record in records.values()), key=lambda metadata: metadata["machine"]["date"]),
    )


def list_origins(folder: Path) -> list[dict[str, Any]]:
    """List the runs that a report was put together from, oldest first: sections may come from different commits.

    Parameters
    ----------
    folder
        The folder of the report.

    Returns
    -------
    list of dict
        Date, commit, command and the names of the experiments of each run.
    """
    runs: dict[tuple[str, str | None, str], list[str]] = {}
    for name, record in _read_data(folder).items():
        about = record["about"]
        machine = about["machine"]
        runs.setdefault((machine["date"], machine.get("commit"), about["command"]), []).append(name)
    return [
        {"date": date, "commit": commit, "command": command, "names": names}
        for (date, commit, command), names in sorted(runs.items(), key=lambda run: run[0][0])
    ]


def _read_data(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the records of a report by the name of the experiment, in the order of the report."""
    paths = {name: folder / DATA_FOLDER / f"{name}.json" for name in items()}
    return {name: read_json(path, "data of a report") for name, path in paths.items() if path.exists()}


def check_folder(home: Path, metadata: Mapping[str, Any]) -> None:
    """Refuse a folder that holds anything but a report of this scale on this text.

    Parameters
    ----------
    home
        The folder of the report.
    metadata
        Scale and corpus of this call.

    Raises
    ------
    OptionError
        If it holds something else.
    """
    if home.exists() and not home.is_dir():
        raise OptionError(f"{home} is a file, and a report needs a folder; choose another name")
    entries = [path.name for path in home.iterdir()] if home.exists() else []
    known = sorted((home / DATA_FOLDER).glob("*.json"))
    if entries and not known and entries != ["cache"]:
        raise OptionError(f"{home} has {len(entries)} entries and is no report; choose another name")
    check_version(home)
    for path in known:
        about = read_json(path, "data of a report")["about"]
        for name, what in (("scale", "scale"), ("corpus", "text")):
            found, new = about.get(name), metadata[name]
            if found != new:
                raise OptionError(
                    f"{home} holds a report of the {what} {found} and this is {new}; choose another folder"
                )


def check_version(home: Path) -> None:
    """Refuse data that are not of a report, or of another version.

    Parameters
    ----------
    home
        The folder of the report.

    Raises
    ------
    OptionError
        If a file is something else.
    """
    known = sorted((home / DATA_FOLDER).glob("*.json"))
    for path in known:
        record = read_json(path, "data of a report")
        if record.get("format") != FORMAT or not isinstance(record.get("about"), dict):
            entries = len(list(home.iterdir()))
            raise OptionError(f"{home} has {entries} entries, and {path.name} in it is no report; choose another name")
        if record.get("version") != VERSION:
            raise OptionError(
                f"{home} holds a report of version {record.get('version', 1)} and this is version {VERSION}; choose "
                "another folder"
            )


def choose_items(names: Sequence[str]) -> tuple[list[Item], set[str]]:
    """Choose experiments by name.

    Parameters
    ----------
    names
        Names, or "all".

    Returns
    -------
    tuple
        The experiments in the order of the report, and the names that were asked for one by one.

    Raises
    ------
    OptionError
        If a name is unknown.
    """
    known = items()
    unknown = [name for name in names if name not in known and name != "all"]
    if unknown:
        raise OptionError(
            f"no experiment is called {', '.join(unknown)}; the {len(known)} known ones are {', '.join(known)}, or all"
        )
    asked = set(names) - {"all"}
    chosen = known if "all" in names or not names else asked
    return [item for name, item in known.items() if name in chosen], asked


def _find_reason_to_skip(name: str, context: ExperimentContext, asked: set[str]) -> str | None:
    """Return why an experiment is left out, or None."""
    if (
        name == "extrinsic"
        and "extrinsic" not in context.earlier_results
        and context.scale.name != "full"
        and name not in asked
    ):
        return "its networks train for hours; give the JSON of mumon eval --extrinsic, or ask for it by name"
    if name == "c4" and not context.c4:
        return "it takes a second, larger corpus (--c4)"
    if name == "sentences" and not context.sentence_tasks:
        return "the pairs of sentences are not on this machine"
    return None


def _read_earlier_results(
    extrinsic: str | os.PathLike[str] | None, bench: str | os.PathLike[str] | None
) -> dict[str, Any]:
    """Read the results of earlier commands, before anything is measured."""
    from mumon.experiments.paper.extrinsic import read_extrinsic
    from mumon.experiments.paper.times import read_bench

    readers = {"extrinsic": (extrinsic, read_extrinsic), "bench": (bench, read_bench)}
    return {name: read(Path(path)) for name, (path, read) in readers.items() if path is not None}


def _prepare_text(
    scale: Scale, corpus: list[str], wanted: Sequence[Item], folder: Path, progress: Progress
) -> tuple[list[str], list[Task]]:
    """Return the corpus and the tasks: the user's, made-up ones, or none if no experiment needs them."""
    from mumon.evaluation import load_tasks
    from mumon.experiments.paper.generated import SENTENCES, make_questions, write_text

    if all(item.name in WITHOUT_TEXT for item in wanted):
        return [], []
    if corpus:
        return corpus, load_tasks(progress=progress)
    if scale.name != "small":
        raise OptionError(f"the scale {scale.name} needs a corpus of millions of sentences; name it with --corpus")
    path = folder / "generated.txt"
    if not path.exists():
        progress.note(f"making up {SENTENCES:,} sentences and questions about them …")
        write_text(path)
    return [str(path)], make_questions()


def _load_sentences(wanted: Sequence[Item], real: bool, progress: Progress) -> list[SentenceTask]:
    """Return pairs of sentences for the experiments that want them: real ones, or made-up ones for made-up text."""
    from mumon.evaluation.sentence_files import SENTENCE_SUITE, load_sentence_tasks
    from mumon.experiments.paper.generated import make_sentence_tasks

    if not any(item.name in WITH_SENTENCES for item in wanted):
        return []
    if not real:
        return make_sentence_tasks()
    try:
        return load_sentence_tasks(("stsb-dev", *SENTENCE_SUITE), progress=progress)
    except DataError as error:  # words can be measured without them
        progress.note(f"pairs of sentences are left out: {error}")
        return []


def _describe_report(scale: Scale, files: list[str], command: str) -> dict[str, Any]:
    """Describe a report; the text by names and sizes, without the folders of this machine."""
    from mumon.corpus.sources import find_files
    from mumon.experiments.bench.machine import describe_machine

    texts = (
        [f"{Path(name).name} ({Path(name).stat().st_size / 1e6:,.1f} MB)" for name in find_files(files)]
        if files
        else []
    )
    corpus = ", ".join(texts) or "a made-up language"
    return {
        "scale": scale.name,
        "corpus": corpus,
        "mumon": __version__,
        "machine": describe_machine(),
        "command": command,
    }


def _describe_measurement(metadata: Mapping[str, Any]) -> str:
    """Describe when and with what a section was put together; its trainings may be older."""
    machine = metadata["machine"]
    commit = f", commit {machine['commit']}" if machine.get("commit") else ""
    return f"put together {machine['date']} with mumon {metadata['mumon']}{commit}, from trainings that are kept"


def _save_data(home: Path, item: Item, data: dict[str, Any], metadata: Mapping[str, Any]) -> None:
    (home / DATA_FOLDER).mkdir(parents=True, exist_ok=True)
    record = {"format": FORMAT, "version": VERSION, "item": item.name, "about": metadata, "data": data}
    write_json(home / DATA_FOLDER / f"{item.name}.json", record)


def _list_names(files: Files | None) -> list[str]:
    if files is None:
        return []
    return [os.fspath(name) for name in ([files] if isinstance(files, str | os.PathLike) else files)]
