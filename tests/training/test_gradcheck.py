"""`mumon gradcheck`: it finds the mistake of the others, and none of ours."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon import cli
from mumon.errors import OptionError
from mumon.training import gradcheck
from mumon.training.gradcheck import TOLERANCE, check_gradients


def run(capfd, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["mumon", "gradcheck", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return caught.value.code or 0, *capfd.readouterr()


@settings(max_examples=5, deadline=None)
@given(contexts=st.integers(1, 7), negative=st.integers(1, 7), dim=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_correct_kernels_pass_and_the_faulty_ones_miss_by_exactly_c(contexts, negative, dim, seed):
    checks = list(check_gradients(contexts, negative, dim, seed))
    assert len(checks) == 24
    for check in checks:
        assert max(check.target_error, check.weights_error) <= TOLERANCE
        if check.update != "faulty":
            assert check.passes, check
            assert check.factor == pytest.approx(1, abs=1e-5)
        elif "subwords" in check.objective:  # bags have different sizes, so that no one factor is missing
            assert check.factor > 1 and not check.passes
        else:
            factor = contexts if check.objective == "CBOW" else 1 / contexts
            assert check.factor == pytest.approx(factor, rel=1e-5)
            assert check.passes == (contexts == 1)


def test_every_objective_update_and_kernel_is_shown(capfd, monkeypatch):
    code, out, _ = run(capfd, monkeypatch, "-C", "7")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert sum("exact" in line or "fast" in line for line in lines) == 24
    assert sum(line[-2:] == ["×", "7"] for line in lines) == 2  # the two kernels with the faulty mean
    assert sum(line[-1:] == ["yes"] for line in lines) == 14


def test_programs_get_json(capfd, monkeypatch):
    code, out, _ = run(capfd, monkeypatch, "--json")
    assert code == 0
    assert {check["kernel"] for check in json.loads(out)} == {"exact", "fast"}


def test_a_kernel_that_is_not_the_gradient_is_an_error(capfd, monkeypatch):
    honest = gradcheck._take_step

    def off(problem, *arguments):
        source, target, *weights = honest(problem, *arguments)
        return source, 1.001 * target, *weights

    monkeypatch.setattr(gradcheck, "_take_step", off)
    code, _, err = run(capfd, monkeypatch)
    assert code == 1
    assert err.startswith("mumon: 14 of 24 checks gave the wrong result") and err.count("\n") == 1


def test_a_wrong_step_of_weights_that_all_words_share_is_found_too(monkeypatch):
    honest = gradcheck._take_step
    monkeypatch.setattr(
        gradcheck,
        "_take_step",
        lambda *arguments: [*honest(*arguments)[:2], *(1.001 * w for w in honest(*arguments)[2:])],
    )
    wrong = {
        check.objective
        for check in check_gradients(objectives=["cbow"])
        if not check.passes and check.update != "faulty"
    }
    assert wrong == {"CBOW with positions"}


def test_problems_too_large_to_differentiate_are_refused():
    with pytest.raises(OptionError, match="contexts is 21; it must be a whole number of at most 20"):
        next(check_gradients(contexts=21))
