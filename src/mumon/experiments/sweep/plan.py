"""The plan of a sweep: everything that decides its runs, and so whether a folder holds this sweep or another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from mumon import __version__
from mumon.corpus import EncodedCorpus
from mumon.corpus.encoded import compute_digest
from mumon.errors import FormatError, OptionError, to_one_line
from mumon.experiments.result_store import digest_json, write_json
from mumon.experiments.sweep.space import (
    Options,
    Range,
    Search,
    Space,
    check_fixed,
    check_space,
    format_value,
    label,
    list_configurations,
    parse_values,
)
from mumon.utils.strict_json import parse

if TYPE_CHECKING:
    from mumon.evaluation.tasks import Task

PLAN_NAME = "sweep.json"
FORMAT = "mumon-sweep"
FORMAT_VERSION = 1
FIELD_TYPES: dict[str, Any] = {  # of the fields of sweep.json
    **dict.fromkeys(("corpus", "search", "version"), str),
    **dict.fromkeys(("tasks", "space", "fixed"), dict),
    **dict.fromkeys(("draws", "seed"), int | None),
    "tokens": int,
    "seeds": list,
}
UNPLANNED_OPTIONS = ("workers",)  # the number of threads changes the time, not the plan


@dataclass(frozen=True)
class Plan:
    """What a sweep tries and by which tasks it chooses. `corpus` and `tasks` are digests of their content."""

    corpus: str
    tokens: int
    tasks: dict[str, str]
    space: Space
    fixed: Options
    seeds: tuple[int, ...]
    search: Search = "grid"
    draws: int | None = None
    seed: int | None = None  # of the draws; a grid has none
    version: str = __version__

    def list_configurations(self) -> list[Options]:
        """Return the configurations to train, in order."""
        return list_configurations(self.space, self.search, self.draws, self.seed or 0)

    def to_json(self) -> dict[str, Any]:
        """Return the content of `sweep.json`."""
        space = {name: str(values) if isinstance(values, Range) else values for name, values in self.space.items()}
        return {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(self), "space": space}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Plan:
        """Return the plan that `to_json` wrote; raise ValueError or KeyError for anything else."""
        known = {name: record[name] for name in cls.__dataclass_fields__}
        for name, kind in FIELD_TYPES.items():
            if not isinstance(known[name], kind):
                raise ValueError(f"its {name} is a {type(known[name]).__name__}")
        if not all(type(seed) is int for seed in known["seeds"]) or known["search"] not in get_args(Search):
            raise ValueError("its seeds are not whole numbers, or its search is neither grid nor random")
        space = {
            name: parse_values(name, values) if isinstance(values, str) else values
            for name, values in record["space"].items()
        }
        known["seeds"], known["space"] = tuple(known["seeds"]), check_space(space, known["search"])
        known["fixed"] = check_fixed(known["fixed"], known["space"])
        return cls(**known)

    def find_difference(self, old: Plan) -> str | None:
        """Return why this plan cannot continue an old one, or None if it can. It may have more values, draws or seeds.

        Parameters
        ----------
        old
            The plan of the folder.

        Returns
        -------
        str or None
            The first difference, as a clause about the old sweep.
        """
        if self.version != old.version:
            return f"it was begun by mumon {old.version} and this is {self.version}"
        if self.corpus != old.corpus:
            return f"its corpus is another text (of {old.tokens:,} tokens; this one has {self.tokens:,})"
        if self.tasks != old.tasks:
            same_names = list(self.tasks) == list(old.tasks)
            return "the questions of its tasks have changed" if same_names else f"its tasks are {', '.join(old.tasks)}"
        if self.search != old.search:
            return f"it is a {old.search} search"
        return self._compare_space(old) or self._compare_fixed(old) or self._compare_draws(old)

    def _compare_space(self, old: Plan) -> str | None:
        if set(self.space) != set(old.space):
            return f"it sweeps {', '.join(map(label, old.space))}"
        for name, values in old.space.items():
            new = self.space[name]
            if isinstance(values, Range) or isinstance(new, Range) or self.search == "random":
                if values != new:
                    return f"it draws the {label(name)} from {_format_values(name, values)}"
            elif gone := [value for value in values if value not in new]:
                return f"it has also the {label(name)} {_format_values(name, gone)}"
        return None

    def _compare_fixed(self, old: Plan) -> str | None:
        for name in {**old.fixed, **self.fixed}:
            if old.fixed.get(name) != self.fixed.get(name):
                was = format_value(name, old.fixed[name]) if name in old.fixed else "the default"
                return f"its {label(name)} is {was}"
        return None

    def _compare_draws(self, old: Plan) -> str | None:
        if self.seed != old.seed:
            return f"its search has the seed {old.seed}"
        if (self.draws or 0) < (old.draws or 0):
            return f"it has {old.draws} draws and this one only {self.draws}"
        if gone := [seed for seed in old.seeds if seed not in self.seeds]:
            return f"it trains with the seed {gone[0]}, too"
        return None


def build_plan(
    corpus: EncodedCorpus,
    tasks: Sequence[Task],
    space: Space,
    fixed: Options,
    seeds: Sequence[int],
    search: Search,
    draws: int | None,
    seed: int,
) -> Plan:
    """Build the plan from the checked arguments of `sweep`, which documents them."""
    return Plan(
        corpus=compute_digest(corpus),
        tokens=corpus.tokens,
        tasks={task.name: digest_task(task) for task in tasks},
        space=space,
        fixed={name: value for name, value in fixed.items() if name not in UNPLANNED_OPTIONS},
        seeds=tuple(dict.fromkeys(seeds)),
        search=search,
        draws=draws if search == "random" else None,
        seed=seed if search == "random" else None,
    )


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything but a sweep.

    Raises
    ------
    OptionError
        If the folder is a file, has no parent, or has entries and no plan.
    """
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder} is a file, and a sweep needs a folder; choose another name")
    if not folder.parent.is_dir():
        raise OptionError(f"the directory {folder.parent} does not exist; create it before {folder.name}")
    entries = len(list(folder.iterdir())) if folder.exists() else 0
    if entries and not (folder / PLAN_NAME).exists():
        raise OptionError(f"{folder} has {entries} entries and no {PLAN_NAME}: it is not a sweep; choose another name")


def prepare_folder(plan: Plan, folder: Path) -> None:
    """Create the folder of a sweep, or check that the plan continues the sweep in it, and write the plan.

    Parameters
    ----------
    plan
        The plan of this call.
    folder
        The folder of the sweep.

    Raises
    ------
    OptionError
        If the folder holds another sweep.
    """
    check_folder(folder)
    path = folder / PLAN_NAME
    if path.exists():
        old = _read_plan(path)
        if difference := plan.find_difference(old):
            difference = to_one_line(difference)
            raise OptionError(f"{folder} holds another sweep: {difference}; choose another folder, or the same options")
    folder.mkdir(exist_ok=True)
    write_json(path, plan.to_json())


def digest_task(task: Task) -> str:
    """Return a digest of the questions and answers of a task."""
    gold = None if task.gold is None else task.gold.tolist()
    return digest_json([task.kind, task.items, task.sections, gold], size=16)


def _read_plan(path: Path) -> Plan:
    try:
        record = parse(path.read_bytes())
        if not isinstance(record, dict):
            raise ValueError("it holds no object")
        if record.get("format") != FORMAT or record.get("format_version") != FORMAT_VERSION:
            raise ValueError(f"format {record.get('format')!r}, version {record.get('format_version')!r}")
        return Plan.from_json(record)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"{path} is not the plan of a sweep ({to_one_line(error)}); choose another folder") from None


def _format_values(name: str, values: list[Any] | Range) -> str:
    return str(values) if isinstance(values, Range) else ", ".join(format_value(name, value) for value in values)
