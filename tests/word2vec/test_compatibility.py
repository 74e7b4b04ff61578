"""docs/compatibility.md against gensim itself: every public name is there, and is what the table says."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import mumon
from mumon.models import callbacks, keyedvectors, phrases, word2vec

gensim = pytest.importorskip("gensim")
from gensim.models import callbacks as their_callbacks  # noqa: E402
from gensim.models import keyedvectors as their_keyedvectors  # noqa: E402
from gensim.models import phrases as their_phrases  # noqa: E402
from gensim.models import word2vec as their_word2vec  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
ROW = re.compile(r"^\| `(\w+)[^`]*` \| (same|better|refused) \|(.*)\|$")
SENTENCES = [["the", "cat", "sat"]] * 9
THEIRS, OURS = gensim.models.Word2Vec(SENTENCES, min_count=1), mumon.Word2Vec(SENTENCES, min_count=1, workers=1)


def tables():
    """The rows of each section: {heading: {name: (verdict, note)}}."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            rows = found.setdefault(line.removeprefix("## "), {})
        elif line.startswith("| `"):
            match = ROW.match(line)
            assert match, f"not a row of name, verdict and note: {line}"
            assert match[1] not in rows, f"{match[1]} is there twice"
            rows[match[1]] = (match[2], match[3].strip())
    return found


def methods(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


def attributes(thing):
    return {name for name in vars(thing) if not name.startswith("_")} - methods(type(thing))


def of_module(module):
    """What a module itself defines: classes, functions and constants."""
    found = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    constants = {name for name, value in found.items() if name.isupper() and not isinstance(value, type)}
    return constants | {name for name, value in found.items() if getattr(value, "__module__", None) == module.__name__}


def parameters(kind):
    return set(inspect.signature(kind.__init__).parameters) - {"self"}


# Where each section's names come from, and where ours are looked for.
SECTIONS = {
    "Arguments of `Word2Vec(...)`": (parameters(gensim.models.Word2Vec), None),
    "`Word2Vec`: methods": (methods(gensim.models.Word2Vec), OURS),
    "`Word2Vec`: attributes": (attributes(THEIRS) - {"load"}, OURS),
    "`KeyedVectors`: methods": (methods(gensim.models.KeyedVectors), OURS.wv),
    "`KeyedVectors`: attributes": (attributes(THEIRS.wv), OURS.wv),
    "`gensim.models.word2vec`": (of_module(their_word2vec), word2vec),
    "`gensim.models.keyedvectors`": (of_module(their_keyedvectors), keyedvectors),
    "`gensim.models.phrases`": (of_module(their_phrases), phrases),
    "`Phrases` and `FrozenPhrases`: methods": (methods(their_phrases.Phrases), phrases.Phrases),
    "`gensim.models.callbacks`": (of_module(their_callbacks), callbacks),
}


def test_the_page_has_every_section():
    assert set(tables()) == set(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_public_name_of_gensim_is_in_the_table(section):
    names, _ = SECTIONS[section]
    assert set(tables()[section]) == names


@pytest.mark.parametrize("section", [section for section, (_, ours) in SECTIONS.items() if ours is not None])
def test_what_the_table_offers_is_there_and_what_it_refuses_is_not(section):
    _, ours = SECTIONS[section]
    for name, (verdict, note) in tables()[section].items():
        assert hasattr(ours, name) == (verdict != "refused"), name
        assert note or verdict == "same", f"{name} is {verdict}: why?"


@pytest.mark.parametrize("name", [n for n, (v, _) in tables()["`Word2Vec`: methods"].items() if v == "refused"])
def test_a_refused_method_says_what_to_do_instead(name):
    with pytest.raises(AttributeError, match=f"model.{name} is not offered: .{{20}}"):
        getattr(OURS, name)
