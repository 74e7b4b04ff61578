"""Every table and figure of the paper, as code: `run_paper` measures, judges and reports. See `mumon paper`.

Each module with an `ITEM` is one experiment. Its `measure` turns an `ExperimentContext` into plain JSON, and its
`build_section` turns that JSON into tables, figures and verdicts. They share nothing else, so a report can be written
again from its `data/` folder; a test does this with the committed report.

`experiment_context` reads parts of the corpus and trains systems on them. Every training is saved under a digest of its
text, questions, options and seed, with the model's answer to every question. So experiments share trainings (the sweeps
of Table 1 are points of the rate curve and of the learning curve), and intervals need no model. gensim runs in a
process of its own, through the same program as in `mumon.experiments.bench`. Times are measured by that package's
runner and are never shared between machines.

`published` has the numbers of the paper's own tables.

`run` has `run_paper`, `results` what a section consists of, `report` writes the page, `scales` the sizes of all
experiments, `estimate` the hours and the memory they need.
"""

from mumon.experiments.paper.run import PaperReport, items, render_paper, run_paper

__all__ = ["PaperReport", "items", "render_paper", "run_paper"]
