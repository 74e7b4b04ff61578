"""Every table and figure of the paper, as code: `run_paper` measures, judges and reports. See `mumon paper`."""

from mumon.experiments.paper.run import PaperReport, items, run_paper

__all__ = ["PaperReport", "items", "run_paper"]
