"""The web application: a static page and small JSON answers, all by GET. Needs Starlette."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mumon import __version__
from mumon.errors import MumonError, OptionError
from mumon.integrations.explore import questions
from mumon.integrations.explore.maps import Maps
from mumon.integrations.explore.models import AbsentWordError, Model

STATIC = Path(__file__).parent / "static"
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
MOST_NEIGHBOURS = 200
MOST_CHARACTERS = 4000  # of a question
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # the next program at this port may show another model
}


def build_application(
    models: Sequence[Model], maps: Maps, hosts: Sequence[str] = LOOPBACK, start: str = "pca"
) -> Starlette:
    """Build the application for one or two models.

    Parameters
    ----------
    models
        The models that the page shows.
    maps
        Their maps.
    hosts
        The names under which the application may be called. Other names are refused: a foreign page could let its own
        name point here (DNS rebinding).
    start
        The projection that is shown first.

    Returns
    -------
    Starlette
        The application, ready to be served.
    """
    api = Api(models, maps, start)
    routes = [
        Route("/", lambda request: FileResponse(STATIC / "index.html"), methods=["GET"]),
        *(Route(f"/api/{name}", _wrap_answer(answer), methods=["GET"]) for name, answer in api.answers.items()),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    middleware = [
        Middleware(_HeaderMiddleware),
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
        Middleware(GZipMiddleware, minimum_size=500, compresslevel=6),
    ]
    return Starlette(routes=routes, middleware=middleware, exception_handlers={HTTPException: _answer_refusal})


class Api:
    """The requests that the page can send. Each method takes the query and returns JSON."""

    def __init__(self, models: Sequence[Model], maps: Maps, start: str) -> None:
        self.models, self.maps, self.start = models, maps, start
        self.answers: dict[str, Callable[[Request], Response]] = {
            "about": self.about,
            "neighbours": self.neighbours,
            "analogy": self.analogy,
            "similarity": self.similarity,
            "suggest": self.suggest,
            "map": self.map,
            "places": self.places,
        }
        self._map_text = lru_cache(maxsize=8)(self._encode_map)

    def about(self, request: Request) -> Response:
        """Describe the models: their sizes, settings and history."""
        described = [
            {
                "name": model.name,
                "words": len(model.words),
                "dimensions": model.wv.vector_size,
                "settings": list(_flatten_settings(model.settings)),
                "history": model.history,
                "first_rate": model.first_rate,
                "examples": model.examples,
                "analogy": [word for word in ("man", "king", "woman") if word in model],
            }
            for model in self.models
        ]
        return _answer(
            {"version": __version__, "models": described, "projections": self.maps.kinds, "start": self.start}
        )

    def neighbours(self, request: Request) -> Response:
        """Answer ?q=king - man + woman&topn=10&model=0"""
        model = self._find_model(request)
        asked = questions.read_question(_read_text(request, "q"), self._is_known)
        return _answer(questions.find_neighbours(model, asked, _read_number(request, "topn", 10, MOST_NEIGHBOURS)))

    def analogy(self, request: Request) -> Response:
        """Answer ?a=man&b=king&c=woman&mul=0&topn=5&model=0"""
        a, b, c = (_read_text(request, name).strip() for name in "abc")
        topn, mul = _read_number(request, "topn", 5, MOST_NEIGHBOURS), _read_text(request, "mul") == "1"
        return _answer(questions.solve_analogy(self._find_model(request), a, b, c, topn, mul))

    def similarity(self, request: Request) -> Response:
        """Answer ?a=king&b=queen&model=0"""
        a, b = _read_text(request, "a"), _read_text(request, "b")
        return _answer({"a": a, "b": b, "cosine": questions.compute_similarity(self._find_model(request), a, b)})

    def suggest(self, request: Request) -> Response:
        """Answer ?prefix=ki&topn=8 with words of all models, the most frequent first."""
        prefix, topn = _read_text(request, "prefix"), _read_number(request, "topn", 8, 50)
        found: dict[str, dict[str, Any]] = {}
        for model in self.models if prefix else ():
            for row in model.complete(prefix, topn):
                entry = {"word": model.words[row], "rank": int(model.ranks[row]) + 1, "count": model.find_count(row)}
                found.setdefault(model.words[row], entry)
        return _answer({"prefix": prefix, "words": sorted(found.values(), key=lambda entry: entry["rank"])[:topn]})

    def map(self, request: Request) -> Response:
        """Answer ?projection=pca&model=0 with the whole map, or with how long UMAP has been running."""
        kind = _read_text(request, "projection") or "pca"
        index = self.models.index(self._find_model(request))
        if self.maps.get(kind, index) is None:
            return _answer({"working": round(self.maps.measure_seconds(), 1)}, 202)
        return Response(self._map_text(kind, index), media_type="application/json")

    def places(self, request: Request) -> Response:
        """Answer ?projection=pca&model=0&word=king&word=queen with the places of words, null where the map has none."""
        model = self._find_model(request)
        made = self.maps.get(_read_text(request, "projection") or "pca", self.models.index(model))
        words = request.query_params.getlist("word")[: 2 * MOST_NEIGHBOURS]
        return _answer({"places": [None] * len(words) if made is None else made.find_places(model, words)})

    def _encode_map(self, kind: str, index: int) -> bytes:
        made = self.maps.get(kind, index)
        assert made is not None  # `map` has just found it
        return _encode_json(made.to_json(self.models[index]))

    def _find_model(self, request: Request) -> Model:
        index = _read_number(request, "model", 0, len(self.models) - 1, least=0)
        return self.models[index]

    def _is_known(self, word: str) -> bool:
        return any(word in model for model in self.models)


def _wrap_answer(answer: Callable[[Request], Response]) -> Callable[[Request], Any]:
    """Run an answer in a thread of the pool; a user's mistake becomes a sentence, with the word to try instead."""

    async def respond(request: Request) -> Response:
        try:
            return await run_in_threadpool(answer, request)
        except AbsentWordError as error:
            return _answer({"error": str(error), "word": error.word, "suggestion": error.suggestion}, 404)
        except MumonError as error:
            return _answer({"error": str(error)}, 400)

    return respond


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _answer({"error": f"{error.detail} (code {error.status_code})"}, error.status_code)


def _read_text(request: Request, name: str) -> str:
    text: str = request.query_params.get(name, "")
    if len(text) > MOST_CHARACTERS:
        raise OptionError(f"{name} has {len(text)} characters; ask with at most {MOST_CHARACTERS}")
    return text


def _read_number(request: Request, name: str, default: int, most: int, least: int = 1) -> int:
    text = _read_text(request, name) or str(default)
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise OptionError(f"{name} is {text[:40]!r}; give a whole number from {least} to {most}")
    return int(text)


def _flatten_settings(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield names and values as people write them; a nested setting has the name of its parent in front."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flatten_settings(value, f"{before}{name}_")
        elif value is not None:
            yield before + name, _format_value(value)


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_format_value, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _encode_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def _answer(value: Any, status: int = 200) -> Response:
    return Response(_encode_json(value), status, media_type="application/json")


class _HeaderMiddleware:
    """Adds headers to every answer, refusals included, that say what a browser may do with it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers)
