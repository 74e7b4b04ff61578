"""The angle between the faulty update and the gradient: in closed form, and on real minibatches during training."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mumon import __version__
from mumon.errors import CorpusError
from mumon.kernels.reference import sigmoid
from mumon.model import Word2Vec
from mumon.paper.figures import SHADES
from mumon.paper.intervals import Estimate
from mumon.paper.lab import Lab, Labelled, Part
from mumon.paper.results import Figure, Item, Section, Table, Verdict, at_least
from mumon.sampling import SAMPLE, keep_chances, noise_distribution, stream_seed

Array = npt.NDArray[np.float64]
MOST = 1000  # of C and k in the heat map, as in the paper's figure
BATCHES = (1, 10, 100, 1000)  # windows whose gradients are added up before the angle is taken
PAPER = {"C = k = 5": 0.82, "least for C, k ≤ 20": 0.68, "least in the figure": 0.303}
TOLERANCE = 0.005
ELSEWHERE = 0.95  # a mean cosine below this counts as another direction
UPDATES = ("correct", "faulty")
ATTEMPTS = 20


def cosine(C: Any, k: Any) -> Any:
    """The cosine between the faulty and the correct step of one window, if all its rows have gradients of one norm.

    >>> round(float(cosine(5, 5)), 2), round(float(cosine(9, 20)), 2)
    (0.82, 0.68)
    """
    C, k = np.asarray(C, np.float64), np.asarray(k, np.float64)
    return (C**2 + k + 1) / np.sqrt((C**3 + k + 1) * (C + k + 1))


def least(most: int) -> tuple[float, int, int]:
    """The smallest cosine for C and k up to `most`, and where it is.

    >>> least(20)[1:]
    (9, 20)
    """
    values = cosine(np.arange(1, most + 1)[:, None], np.arange(1, most + 1)[None])
    C, k = np.unravel_index(int(values.argmin()), values.shape)
    return float(values.min()), int(C) + 1, int(k) + 1


def measure(lab: Lab) -> dict[str, Any]:
    """The closed form where the paper gives it, and cosines of real gradients after every epoch of training."""
    forms = {
        "C = k = 5": float(cosine(5, 5)),
        "least for C, k ≤ 20": least(20)[0],
        "least in the figure": least(MOST)[0],
    }
    part = lab.part(lab.scale.angle_sentences)
    inputs = {"corpus": part.digest, "options": lab.options(), "windows": lab.scale.angle_windows, "batches": BATCHES}
    inputs |= {"version": __version__}
    measured = lab.cache.record("angle", inputs, lambda: _measured(lab, part))
    return {"forms": forms, "places": {"20": least(20)[1:], str(MOST): least(MOST)[1:]}, **measured}


def _measured(lab: Lab, part: Part) -> dict[str, Any]:
    """After every epoch, with as many noise words as in training and with four times as many, on the same windows."""
    rows: list[dict[str, Any]] = []
    ks = (lab.scale.negative, 4 * lab.scale.negative)
    for update in UPDATES:
        reporter = Labelled(lab.progress, f"{lab.label}, {update}")
        options = {"total_epochs": lab.scale.epochs, "workers": lab.threads, "progress": reporter, **lab.options()}
        model = Word2Vec(update=update, exact=True, **options)  # type: ignore[arg-type]
        model.build_vocab(part.corpus)
        for epoch in range(1, lab.scale.epochs + 1):
            model.train(part.corpus, epochs=1)
            windows = draw_windows(model, part, lab.scale.angle_windows, seed=epoch)
            for k in ks:
                noisy = with_noise(model, windows, k, seed=epoch)
                rows += [
                    {"update": update, "epoch": epoch, "k": k, "batch": batch}
                    | _summary(batch_cosines(model, noisy, batch), len(noisy))
                    for batch in BATCHES
                    if batch <= len(noisy)
                ]
        lab.progress.finish(f"{lab.label}: gradients of {len(windows):,} windows of {update} CBOW after every epoch")
    sizes = np.array([len(context) for _, context in windows])
    about = {"sentences": part.sentences, "tokens": part.tokens, "epochs": lab.scale.epochs, "k": ks[0]}
    closed = {str(k): float(np.mean(cosine(sizes, k))) for k in ks}
    return {**about, "mean_contexts": float(sizes.mean()), "closed": closed, "rows": rows}


Window = tuple[int, list[int]]  # a centre and its context words
Noisy = tuple[int, list[int], list[int]]  # and its noise words


def draw_windows(model: Word2Vec, part: Part, count: int, seed: int) -> list[Window]:
    """So many windows as training sees them, from all over the corpus; the same for models of one vocabulary."""
    from mumon.kernels.blocks import sample_block

    assert model.vocabulary is not None
    settings, random = model.settings, np.random.default_rng(seed)
    lookup, keep = model.vocabulary.lookup(part.corpus), keep_chances(model.vocabulary.counts, settings.sample)
    windows: list[Window] = []
    for attempt in range(ATTEMPTS * count):
        first = int(random.integers(max(1, part.sentences - 20)))
        starts = np.array(part.corpus.offsets[first : first + 21])
        ids, left, right = (np.empty(int(starts[-1] - starts[0]), np.int32) for _ in range(3))
        n = sample_block(
            part.corpus.read(int(starts[0]), int(starts[-1])), starts - starts[0], 0, len(starts) - 1, lookup, keep,
            settings.window, settings.shrink_windows, False, stream_seed(seed, 0, attempt, SAMPLE), ids, left, right,
        )  # fmt: skip
        for i in random.permutation(int(n))[:10]:
            windows.append((int(ids[i]), [int(ids[j]) for j in range(left[i], right[i]) if j != i]))
        if len(windows) >= count:
            return windows[:count]
    raise CorpusError(
        f"{len(windows)} of {count} windows could be drawn: too few sentences have two words; give more text"
    )


def with_noise(model: Word2Vec, windows: list[Window], k: int, seed: int) -> list[Noisy]:
    """Windows with k noise words each, those that are the centre left out."""
    assert model.vocabulary is not None
    noise = noise_distribution(model.vocabulary.counts, model.settings.ns_exponent)
    drawn = np.random.default_rng([seed, k]).choice(len(noise), size=(len(windows), k), p=noise)
    return [
        (centre, context, [int(word) for word in words if word != centre])
        for (centre, context), words in zip(windows, drawn, strict=True)
    ]


def batch_cosines(model: Word2Vec, windows: list[Noisy], batch: int) -> Array:
    """The cosine between the two updates, each summed over the windows of a batch, for batch after batch."""
    source, target = model.wv.vectors, model.syn1neg
    return np.array(
        [
            update_cosine(source, target, windows[first : first + batch])
            for first in range(0, len(windows) - batch + 1, batch)
        ]
    )


def update_cosine(source: Any, target: Any, windows: list[Noisy]) -> float:
    """The cosine between the faulty update and the gradient of some windows, over all rows of both matrices.

    Both are alike in the target rows; in the source rows the faulty one has C times the correct step of each window.
    """
    correct: dict[int, Array] = {}
    faulty: dict[int, Array] = {}
    targets: dict[int, Array] = {}
    for centre, context, noise in windows:
        C = len(context)
        h = np.asarray(source[context], np.float64).sum(axis=0) / C
        words = [centre, *noise]
        rows = np.asarray(target[words], np.float64)
        error = np.asarray(sigmoid(rows @ h)) - np.eye(1, len(words))[0]
        d_h = error @ rows
        for word, weight in zip(words, error, strict=True):
            targets[word] = targets.get(word, 0.0) + weight * h
        for word in context:
            correct[word] = correct.get(word, 0.0) + d_h / C
            faulty[word] = faulty.get(word, 0.0) + d_h
    common = sum(float(row @ row) for row in targets.values())
    dot = common + sum(float(correct[word] @ faulty[word]) for word in correct)
    lengths = [common + sum(float(row @ row) for row in side.values()) for side in (correct, faulty)]
    return dot / float(np.sqrt(lengths[0] * lengths[1]))


def _summary(values: Array, windows: int) -> dict[str, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    error = 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return {"mean": float(values.mean()), "error": error, "low": float(low), "high": float(high), "windows": windows}


def section(data: dict[str, Any]) -> Section:
    """The closed form beside the paper's, and what was measured."""
    last = [row for row in data["rows"] if row["epoch"] == data["epochs"] and row["update"] == "correct"]
    return Section(
        "The angle between the faulty update and the gradient",
        "If every row that a window touches has a gradient of one norm, the cosine between the faulty update and the "
        "gradient is (C² + k + 1) / √((C³ + k + 1)(C + k + 1)) for C context words and k noise words. The paper "
        f"derives it; here it is also measured, on {last[0]['windows']:,} windows as training sees them (first "
        f"{data['sentences']:,} sentences, one SGD step per window), after each of {data['epochs']} epochs of both "
        "updates, with the k of training and with four times as many noise words. ± is the 95 % interval of a mean "
        "over windows, taken as independent.",
        _verdicts(data, last),
        [_forms(data), _table(data)],
        [
            Figure("angle-closed", f"The closed form for C and k up to {MOST:,}.", _draw_closed, (6.4, 4.8)),
            Figure(
                "angle-measured",
                "Measured cosines after each epoch (means, and 95 % of single windows).",
                lambda figure: _draw_measured(figure, data),
            ),
        ],
        ["The rows' gradients are not of one norm, so the closed form need not be the mean that is measured."],
    )


def _verdicts(data: dict[str, Any], last: list[dict[str, Any]]) -> list[Verdict]:
    gaps = [abs(data["forms"][name] - value) for name, value in PAPER.items()]
    usual = {(row["batch"], row["k"]): row for row in last}
    small, large = sorted({row["k"] for row in last})
    one, more, biggest = usual[1, small], usual[1, large], max(row["batch"] for row in last)
    fall = one["mean"] - more["mean"]
    error = (one["error"] ** 2 + more["error"] ** 2) ** 0.5
    return [
        Verdict(
            f"The closed form has the paper's values (within {TOLERANCE}).",
            ", ".join(f"{name}: {value}" for name, value in PAPER.items()),
            ", ".join(f"{name}: {value:.3f}" for name, value in data["forms"].items()),
            "holds" if max(gaps) <= TOLERANCE else "does not hold",
        ),
        Verdict(
            f"The faulty update points elsewhere than the gradient (a mean cosine below {ELSEWHERE}).",
            "derived for rows of equal norm; not measured",
            f"on single windows after training the mean cosine is {one['mean']:.3f} ± {one['error']:.3f} with k = "
            f"{small} (closed form, averaged over the same windows: {data['closed'][str(small)]:.3f}); over batches "
            f"of {biggest:,} windows {usual[biggest, small]['mean']:.3f}",
            "holds" if one["mean"] + one["error"] < ELSEWHERE else "does not hold",
        ),
        Verdict(
            "More noise words turn it further away.",
            "the closed form falls with k until k = C² − 1",
            f"k = {small}: {one['mean']:.3f} ± {one['error']:.3f}, k = {large}: {more['mean']:.3f} ± "
            f"{more['error']:.3f} (closed form: {data['closed'][str(small)]:.3f} and {data['closed'][str(large)]:.3f})",
            at_least(Estimate(fall, fall - error, fall + error)),
        ),
    ]


def _forms(data: dict[str, Any]) -> Table:
    places = {
        "C = k = 5": (5, 5),
        "least for C, k ≤ 20": data["places"]["20"],
        "least in the figure": data["places"][str(MOST)],
    }
    rows = [[name, *places[name], round(value, 3), PAPER[name]] for name, value in data["forms"].items()]
    return Table("angle-closed", "Closed form", ["", "C", "k", "here", "paper"], rows)


def _table(data: dict[str, Any]) -> Table:
    columns = [
        "update in training",
        "after epoch",
        "k",
        "windows per batch",
        "mean cosine",
        "± (95 %)",
        "2.5 %",
        "97.5 %",
    ]
    rows = [
        [
            row["update"],
            row["epoch"],
            row["k"],
            row["batch"],
            *(round(row[name], 4) for name in ("mean", "error", "low", "high")),
        ]
        for row in data["rows"]
    ]
    return Table("angle-measured", "Measured cosines", columns, rows)


def _draw_closed(figure: Any) -> None:
    axes = figure.add_subplot()
    steps = np.unique(np.geomspace(1, MOST, 160).round()).astype(int)
    values = cosine(steps[:, None], steps[None])
    mesh = axes.pcolormesh(steps, steps, values, cmap="cividis", vmin=0.3, vmax=1, shading="nearest", rasterized=True)
    lines = axes.contour(steps, steps, values, levels=[0.4, 0.5, 0.6, 0.7, 0.8, 0.9], colors="white", linewidths=0.8)
    axes.clabel(lines, fontsize=8)
    for (C, k), name in (((5, 5), "0.82"), ((least(20)[1], 20), "0.68"), (least(MOST)[1:], "0.303")):
        axes.plot([k], [C], "o", color="white", markeredgecolor="black")
        axes.annotate(
            name, (k, C), xytext=(-6, 6), textcoords="offset points", color="white", ha="right", fontweight="bold"
        )
    axes.set(xscale="log", yscale="log", xlabel="noise words k", ylabel="context words C", title="Cosine, closed form")
    axes.grid(False)
    figure.colorbar(mesh, ax=axes, label="cosine")


def _draw_measured(figure: Any, data: dict[str, Any]) -> None:
    ks = sorted({row["k"] for row in data["rows"]})
    panels = figure.subplots(1, len(ks), sharey=True, squeeze=False)[0]
    for axes, k in zip(panels, ks, strict=True):
        for update in ("correct", "faulty"):
            for batch, style in zip((1, max(row["batch"] for row in data["rows"])), ("-", ":"), strict=True):
                rows = [r for r in data["rows"] if (r["update"], r["k"], r["batch"]) == (update, k, batch)]
                epochs = [row["epoch"] for row in rows]
                name = f"{update}, {'single windows' if batch == 1 else f'batches of {batch:,}'}"
                axes.plot(epochs, [row["mean"] for row in rows], "o", linestyle=style, color=SHADES[update], label=name)
                if batch == 1:
                    axes.fill_between(epochs, [r["low"] for r in rows], [r["high"] for r in rows], alpha=0.12,
                                      color=SHADES[update], linewidth=0)  # fmt: skip
        axes.axhline(data["closed"][str(k)], color="#333333", linestyle="--", linewidth=1, label="closed form")
        axes.set(title=f"k = {k}", xlabel="after epoch", ylim=(0, 1.02))
        axes.set_xticks(range(1, data["epochs"] + 1))
    panels[0].set_ylabel("cosine of faulty update and gradient")
    panels[0].legend(fontsize=8, loc="lower left")


ITEM = Item("angle", "the angle between the faulty update and the gradient", measure, section)
