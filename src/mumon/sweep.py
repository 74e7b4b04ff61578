"""The public name of `mumon.experiments.sweep`."""

from mumon.experiments.sweep import *  # noqa: F403
from mumon.experiments.sweep import __all__ as __all__
