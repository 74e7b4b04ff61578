"""Which options are best? Many trainings on one encoded corpus, chosen on the dev halves, tested once.

The folder of a sweep is its memory:

- `sweep.json` is the plan, with digests of the corpus and of the questions,
- `runs.jsonl` has one line for each finished run, which is on the disk before the next run begins,
- `best.mumon` is the chosen model,
- `result.json` is the result, and `curve.png` and `curve.svg` are the plots.

A model is saved before its line is written, so an interrupted run is either there or repeated. Runs are scored on tasks
that were cut down to their dev items. Only the chosen model is asked the test items.

The modules, in the order of a sweep: `space` (options and their values), `plan`, `runner` with `scoring`, `runs` and
`model_store`, `selection`, `result`, `plots`. `search` has the function `sweep`.
"""

from mumon.experiments.sweep.result import SweepResult, Tested, TestScore
from mumon.experiments.sweep.runs import Run
from mumon.experiments.sweep.search import sweep
from mumon.experiments.sweep.selection import Configuration
from mumon.experiments.sweep.space import DEFAULT_RATES, Range

__all__ = ["DEFAULT_RATES", "Configuration", "Range", "Run", "SweepResult", "TestScore", "Tested", "sweep"]
