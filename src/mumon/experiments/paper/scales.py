"""The sizes of all experiments: `small` for CI, `medium` for an hour or two on two cores, `full` as in the paper."""

from __future__ import annotations

from dataclasses import dataclass

from mumon.errors import OptionError

WINDOWS = (2, 5, 10, 20, 40)  # the paper's, for norms


@dataclass(frozen=True)
class Scale:
    """Constants of every experiment. Numbers of sentences count from the start of the corpus; None means all."""

    name: str
    dim: int
    epochs: int
    min_count: int
    max_vocab: int | None
    resamples: int
    table_sentences: int | None  # Table 1, rates
    seeds: int  # besides that of the sweep
    fewer_seeds: int  # of the longest runs, and of every k
    sizes: tuple[int | None, ...]  # learning curves
    norm_sentences: int | None
    norm_epochs: int
    negatives: tuple[int, ...]
    negative_sentences: int | None
    angle_sentences: int | None
    angle_windows: int
    curve_sentences: int | None
    curve_step: int  # tokens per point
    curve_batch: int  # tokens per batch that the band is over
    draws: int
    vocabularies: tuple[int, ...]
    time_sentences: int | None
    time_repeats: int
    c4_dim: int
    c4_vocab: int
    c4_epochs: int
    buckets: int  # of n-grams
    window: int = 5
    negative: int = 5


SCALES = {
    scale.name: scale
    for scale in (
        Scale(
            name="small",
            dim=32,
            epochs=5,
            min_count=5,
            max_vocab=None,
            resamples=200,
            table_sentences=6_000,
            seeds=2,
            fewer_seeds=1,
            sizes=(1_500, 6_000),
            norm_sentences=6_000,
            norm_epochs=2,
            negatives=(2, 10),
            negative_sentences=3_000,
            angle_sentences=3_000,
            angle_windows=300,
            curve_sentences=None,
            curve_step=50_000,
            curve_batch=5_000,
            draws=200_000,
            vocabularies=(1_000, 10_000, 100_000),
            time_sentences=6_000,
            time_repeats=1,
            c4_dim=48,
            c4_vocab=5_000,
            c4_epochs=1,
            buckets=20_000,
        ),
        Scale(
            name="medium",
            dim=100,
            epochs=5,
            min_count=5,
            max_vocab=None,
            resamples=4_000,
            table_sentences=700_000,
            seeds=3,
            fewer_seeds=2,
            sizes=(44_000, 175_000, 700_000, None),
            norm_sentences=1_000_000,
            norm_epochs=5,
            negatives=(2, 5, 10, 20),
            negative_sentences=175_000,
            angle_sentences=175_000,
            angle_windows=4_000,
            curve_sentences=None,
            curve_step=5_000_000,
            curve_batch=100_000,
            draws=10_000_000,
            vocabularies=(1_000, 10_000, 100_000, 1_000_000, 10_000_000),
            time_sentences=100_000,
            time_repeats=3,
            c4_dim=200,
            c4_vocab=500_000,
            c4_epochs=1,
            buckets=2_000_000,
        ),
        Scale(
            name="full",
            dim=300,
            epochs=5,
            min_count=10,
            max_vocab=None,
            resamples=4_000,
            table_sentences=None,
            seeds=3,
            fewer_seeds=3,
            sizes=(1_000_000, 4_000_000, 16_000_000, None),
            norm_sentences=1_000_000,
            norm_epochs=5,
            negatives=(1, 2, 5, 10, 20, 40),
            negative_sentences=4_000_000,
            angle_sentences=1_000_000,
            angle_windows=10_000,
            curve_sentences=None,
            curve_step=5_000_000,
            curve_batch=100_000,
            draws=10_000_000,
            vocabularies=(1_000, 10_000, 100_000, 1_000_000, 10_000_000),
            time_sentences=None,
            time_repeats=1,
            c4_dim=768,
            c4_vocab=5_000_000,
            c4_epochs=1,
            buckets=2_000_000,
        ),
    )
}


def find_scale(name: str) -> Scale:
    """Return the scale of that name.

    Raises
    ------
    OptionError
        If there is none.

    Examples
    --------
    >>> find_scale("medium").dim
    100
    """
    if name not in SCALES:
        raise OptionError(f"the scale is {name!r}; it must be one of the {len(SCALES)}: {', '.join(SCALES)}")
    return SCALES[name]
