"""Where torch, scikit-learn or Starlette are not installed, the modules made of them have no doctests to run."""

import importlib.util

TORCH = ("batches", "networks", "training")
MADE_OF = {
    "torch": [f"src/mumon/experiments/extrinsic/{name}.py" for name in TORCH],
    "sklearn": ["src/mumon/sklearn.py", "src/mumon/integrations/sklearn.py"],
    "starlette": ["src/mumon/integrations/explore/app.py"],
}
collect_ignore = [path for name, paths in MADE_OF.items() if importlib.util.find_spec(name) is None for path in paths]
