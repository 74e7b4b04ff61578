"""`sweep`: train every configuration on one encoded corpus, choose on the dev halves, test the chosen once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mumon.corpus import EncodedCorpus, TextOptions, corpus_from_files
from mumon.errors import OptionError
from mumon.experiments.sweep.plan import build_plan, check_folder, prepare_folder
from mumon.experiments.sweep.result import SweepResult
from mumon.experiments.sweep.runner import Runner
from mumon.experiments.sweep.scoring import load_sweep_tasks
from mumon.experiments.sweep.space import Options, Range, Search, Space, check_fixed, check_space, label
from mumon.utils.progress import Progress, choose_progress
from mumon.utils.validation import check_integer
from mumon.word2vec import Word2Vec

Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def sweep(
    corpus: Files | EncodedCorpus,
    space: Mapping[str, Any] | None = None,
    *,
    folder: str | os.PathLike[str],
    tasks: Sequence[Any] | None = None,
    search: Search = "grid",
    draws: int | None = None,
    seed: int = 1,
    seeds: Sequence[int] = (1,),
    fixed: Mapping[str, Any] | None = None,
    compare: str | None = None,
    progress: bool | Progress | None = None,
) -> SweepResult:
    """Train many configurations on one encoding of a corpus and choose the best by its dev scores.

    The same call on the same folder resumes where an earlier one stopped. If values, draws or seeds were added, only
    what is new is trained. Only the chosen model is asked the test questions.

    Parameters
    ----------
    corpus
        Files, folders or globs, or an encoded corpus.
    space
        Lists of values by option of `Word2Vec`. A random search also accepts `Range(low, high)` or "low..high". By
        default the rates of `DEFAULT_RATES`.
    folder
        Where the plan, the runs, the best model, the result and the plots are saved.
    tasks
        Names or files of similarities and analogies, or `Task`s; by default the paper's five.
    search, draws, seed
        "grid" tries every combination; "random" tries `draws` of them, from a sequence that `seed` decides.
    seeds
        Each configuration is trained once with each of these; the mean of their scores decides.
    fixed
        Options of `Word2Vec` that all runs share.
    compare
        A swept option: the best model of each of its values is tested, too, and compared with the others.
    progress
        True or False to show progress or not, an object that reports it, or None for a terminal alone.

    Returns
    -------
    SweepResult
        All configurations, the best one, its test scores and the files.

    Raises
    ------
    OptionError
        If an argument cannot be used, or if the folder holds another sweep.
    TrainingError
        If all configurations failed.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mumon.corpus import corpus_from_sentences
    >>> from mumon.evaluation import Task
    >>> text = corpus_from_sentences([["cat", "dog", "sun"], ["dog", "cat"], ["sun", "sky"], ["sky", "sun"]] * 200)
    >>> pairs = [(a, b) for a in ("cat", "dog") for b in ("sun", "sky")] + [("cat", "dog"), ("dog", "cat")]
    >>> task = Task("pairs", "similarity", tuple(pairs), ("",) * 6, np.arange(6.0))
    >>> common = {"vector_size": 8, "min_count": 1, "workers": 1}
    >>> result = sweep(text, {"alpha": [0.05, 0.1]}, folder=tempfile.mkdtemp(), tasks=[task], fixed=common)
    >>> len(result.configurations), sorted(result.tested[0].scores["pairs"])
    (2, ['dev', 'test'])
    """
    home = Path(folder)
    checked = check_space(space, search)
    common = check_fixed(fixed, checked)
    check_folder(home)
    _check_compare(compare, checked)
    chosen_seeds = [check_integer("seed", number, least=0) for number in seeds]
    if not chosen_seeds:
        raise OptionError("seeds has 0 seeds; give at least one")
    with choose_progress(progress) as reporter:
        questions = load_sweep_tasks(tasks, reporter)
        encoded = _encode(corpus, home, common, reporter)
        plan = build_plan(encoded, questions, checked, common, chosen_seeds, search, draws, seed)
        runner = Runner(plan, home, encoded, questions, common, compare, reporter)
        prepare_folder(plan, home)
        runner.train_all()
        return runner.conclude(_list_names(corpus))


def _check_compare(compare: str | None, space: Space) -> None:
    if compare is not None and (isinstance(values := space.get(compare), Range | None) or len(values) < 2):
        raise OptionError(f"compare is {label(compare)}, which has no list of values to compare; sweep it over several")


def _encode(corpus: Files | EncodedCorpus, home: Path, common: Options, progress: Progress) -> EncodedCorpus:
    """Encode the corpus once for all runs."""
    if isinstance(corpus, EncodedCorpus):
        return corpus
    names = _list_names(corpus)
    for name in names:
        if Path(name).is_dir() and home.resolve().is_relative_to(Path(name).resolve()):
            raise OptionError(f"{home} lies inside {name}, all of which is read as text; choose a folder elsewhere")
    text = TextOptions(**{name: common[name] for name in TextOptions.__dataclass_fields__ if name in common})
    workers = Word2Vec(**{name: value for name, value in common.items() if name == "workers"}).settings.workers
    encoded = corpus_from_files(names, text, workers=workers, progress=progress)
    for note in encoded.notes():
        progress.note(note)
    return encoded


def _list_names(corpus: Files | EncodedCorpus) -> list[str]:
    if isinstance(corpus, EncodedCorpus):
        return ["CORPUS"]
    return [os.fspath(name) for name in ([corpus] if isinstance(corpus, str | os.PathLike) else corpus)]
