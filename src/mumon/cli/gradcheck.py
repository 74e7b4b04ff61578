"""`mumon gradcheck`: check that each update is the gradient of its loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mumon.cli import options

if TYPE_CHECKING:
    from mumon.training.gradcheck import Check


def gradcheck(
    contexts: Annotated[int, typer.Option("-C", "--contexts", min=1, help="Context words of every window.")] = 5,
    negative: Annotated[int, typer.Option(min=1, help="Noise words per target.")] = 5,
    dim: Annotated[int, typer.Option("--dim", "--vector-size", min=1, help="Dimensions of the vectors.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the matrices, windows and noise words.")] = 1,
    json: options.Json = False,
) -> None:
    """Compare the update of every kernel with the finite differences of its loss.

    The paper concludes that every implementation should come with such a check. The correct updates pass; the faulty
    one of word2vec.c, gensim and fastText fails, by the factor C. The exit code is 1 if a correct update fails.

    Example: mumon gradcheck --contexts 10
    """
    import json as json_

    from mumon.errors import TrainingError
    from mumon.training.gradcheck import check_gradients

    if json:
        checks = list(check_gradients(contexts, negative, dim, seed))
        print(json_.dumps([check.to_json() for check in checks]))
    else:
        checks = _print_checks(contexts, negative, dim, seed)
    wrong = [check for check in checks if check.passes != (check.update != "faulty" or contexts == 1)]
    if wrong:
        first = wrong[0]
        kind = f"{first.objective} {first.update} ({first.kernel})"
        error = max(first.source_error, first.target_error, first.weights_error)
        raise TrainingError(
            f"{len(wrong)} of {len(checks)} checks gave the wrong result, first {kind} with an error of {error:.2g}; "
            "please report this"
        )


def _print_checks(contexts: int, negative: int, dim: int, seed: int) -> list[Check]:
    from mumon.cli.tables import new_table, print_prose, print_table, show_status
    from mumon.kernels.jit import is_compiled
    from mumon.training.gradcheck import TOLERANCE, check_gradients

    columns = ("source off by", "target off by", "weights off by", "gradient?")
    table = new_table("", "objective", "update", "kernel", *columns)
    table.box = None
    checks = []
    with show_status("differentiating …" if is_compiled("cbow_exact") else "compiling the kernels, once …"):
        for check in check_gradients(contexts, negative, dim, seed):
            checks.append(check)
            answer = "[green]yes[/]" if check.passes else f"[red]no, × {check.factor:.4g}[/]"
            errors = [f"{error:.1e}" for error in (check.source_error, check.target_error)]
            errors.append(f"{check.weights_error:.1e}" if check.weights_error else "")  # most objectives have none
            table.add_row(check.objective, check.update, check.kernel, *errors, answer)
    print_table(table)
    print_prose(
        f"\nC = {contexts} context words, k = {negative} noise words, {dim} dimensions. Deviations from the finite "
        f"differences are relative to the largest of them; up to {TOLERANCE:g} pass. × is how much longer the source "
        "steps are than those of the gradient. “Faulty” is the update of word2vec.c, gensim and fastText."
    )
    return checks
