"""Where torch is not installed, the modules that are made of it have no doctests to run."""

import importlib.util

TORCH = ("batches", "networks", "training")
collect_ignore = [
    f"src/mumon/evaluation/extrinsic/{name}.py" for name in TORCH if importlib.util.find_spec("torch") is None
]
