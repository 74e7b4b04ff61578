"""`mumon explore`: a local web page that shows word vectors."""

from __future__ import annotations

import importlib.util
from enum import Enum
from typing import Annotated

import typer

from mumon.cli import options

LIBRARIES = ("starlette", "uvicorn")


class Projection(str, Enum):
    """How words are laid out on the map."""

    pca = "pca"
    umap = "umap"


def explore(
    model: options.Model,
    model2: Annotated[str | None, typer.Argument(help="Another model to compare with.", show_default=False)] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Read only this many rows of each model.", show_default=False)
    ] = None,
    map_words: Annotated[
        int, typer.Option("--map-words", min=2, max=50_000, help="The number of frequent words on the map.")
    ] = 5000,
    projection: Annotated[
        Projection, typer.Option(help="How the map is laid out at first; PCA is always available.")
    ] = Projection.pca,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65_535, help="The port, or 0 for any free one.", show_default="8765, or the next free one"
        ),
    ] = None,
    open_: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open a browser (default: if there is a screen).", show_default=False),
    ] = None,
) -> None:
    """Explore MODEL on a web page: neighbours, analogies, a map, the training. Ctrl-C ends it.

    Example: mumon explore king.mumon
    """
    from mumon.errors import OptionError
    from mumon.integrations.explore import serve
    from mumon.integrations.explore.maps import Maps
    from mumon.integrations.explore.models import open_models
    from mumon.integrations.explore.projection import require_umap

    if missing := [name for name in LIBRARIES if importlib.util.find_spec(name) is None]:
        which = "neither is" if len(missing) == len(LIBRARIES) else f"{missing[0]} is not"
        raise OptionError(
            f"mumon explore needs {' and '.join(LIBRARIES)}, and {which} installed; pip install 'mumon[explore]'"
        )
    if projection is Projection.umap:
        require_umap()
    from mumon.integrations.explore.app import LOOPBACK, build_application

    progress = options.reporter(quiet=False)
    listener = serve.listen(host, port)  # before the models are read: a wrong address should not cost that time
    paths = [model] if model2 is None else [model, model2]
    for path in paths:
        progress.note(f"reading {path} …")
    models = open_models(paths, limit)
    maps = Maps(models, map_words, progress.note)
    maps.prepare(umap=projection is Projection.umap)
    local = serve.is_loopback(host)
    page = build_application(models, maps, LOOPBACK if local else ["*"], projection.value)
    taken = listener.getsockname()[1]
    if port is None and taken != serve.DEFAULT_PORT:
        progress.note(f"port {serve.DEFAULT_PORT} is taken; using {taken}")
    if not local:
        progress.note("warning: there is no password, so everyone who can reach this machine can read these models")
    url = serve.find_address(listener)
    print(f"{url} shows {' and '.join(one.name for one in models)}; Ctrl-C ends it", flush=True)
    if open_ if open_ is not None else serve.has_screen():
        serve.open_browser(url)
    serve.run(page, listener)
