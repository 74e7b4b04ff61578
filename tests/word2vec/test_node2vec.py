"""The package node2vec, as it is installed, runs on mumon and finds communities as well as on gensim."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import mumon

nx = pytest.importorskip("networkx")
pytest.importorskip("gensim")
node2vec = pytest.importorskip("node2vec")
from node2vec import node2vec as inner  # noqa: E402
from node2vec.edges import AverageEmbedder, HadamardEmbedder, WeightedL1Embedder, WeightedL2Embedder  # noqa: E402

from mumon.models import KeyedVectors, Word2Vec  # noqa: E402

SEEDS = (1, 2, 3)
FIT = {"window": 10, "min_count": 1, "batch_words": 4}  # as in node2vec's own documentation


def karate(seed):
    """Zachary's karate club, and whose side each member took."""
    graph = nx.karate_club_graph()
    return graph, dict(graph.nodes(data="club"))


def planted(seed):
    """Eight groups of twelve: half of the pairs within one are joined, and one pair in forty of the others."""
    graph = nx.planted_partition_graph(8, 12, 0.5, 0.025, seed=seed)
    return graph, {node: place for place, group in enumerate(graph.graph["partition"]) for node in group}


def walked(graph, seed):
    return node2vec.Node2Vec(graph, dimensions=32, walk_length=20, num_walks=10, quiet=True, seed=seed)


def purity(wv, labels, topn=5):
    """How many of the nearest nodes have the label of the node."""
    same = [labels[int(other)] == labels[node] for node in labels for other, _ in wv.most_similar(str(node), topn=topn)]
    return float(np.mean(same))


@pytest.fixture
def on_mumon(monkeypatch):
    """The one line that a user needs: node2vec says `gensim.models.Word2Vec`."""
    monkeypatch.setattr(inner, "gensim", mumon)


@pytest.fixture
def club(on_mumon):
    return walked(karate(1)[0], 1).fit(**FIT)


@pytest.mark.parametrize("graph_of", [karate, planted])
def test_communities_are_found_as_well_as_by_gensim(graph_of, monkeypatch):
    found = {"mumon": [], "gensim": []}
    for seed in SEEDS:
        graph, labels = graph_of(seed)
        walks = walked(graph, seed)
        found["gensim"].append(purity(walks.fit(**FIT, seed=seed).wv, labels))
        with monkeypatch.context() as patch:
            patch.setattr(inner, "gensim", mumon)
            model = walks.fit(**FIT, seed=seed)
        assert isinstance(model, Word2Vec)
        found["mumon"].append(purity(model.wv, labels))
    sizes = np.array(list(Counter(labels.values()).values()))
    chance = float((sizes * (sizes - 1)).sum() / (sizes.sum() * (sizes.sum() - 1)))
    assert np.mean(found["mumon"]) > np.mean(found["gensim"]) - 0.03, found
    assert np.mean(found["mumon"]) > chance + 0.8 * (1 - chance), found


def test_nodes_are_asked_for_by_their_names(club):
    assert set(club.wv.index_to_key) == {str(node) for node in range(34)}
    near = club.wv.most_similar("0", topn=3)
    assert len(near) == 3 and all(isinstance(name, str) and name != "0" for name, _ in near)
    assert club.wv["0"].shape == (32,) and club.vector_size == 32
    assert club.wv.similarity("0", "1") == pytest.approx(dict(club.wv.most_similar("0", topn=33))["1"], abs=1e-6)


@pytest.mark.parametrize(
    ("embedder", "expected"),
    [
        (AverageEmbedder, lambda a, b: (a + b) / 2),
        (HadamardEmbedder, lambda a, b: a * b),
        (WeightedL1Embedder, lambda a, b: abs(a - b)),
        (WeightedL2Embedder, lambda a, b: (a - b) ** 2),
    ],
)
def test_edges_are_embedded(club, embedder, expected):
    edges = embedder(keyed_vectors=club.wv, quiet=True)
    assert np.array_equal(edges["0", "1"], expected(club.wv["0"], club.wv["1"]))
    with pytest.raises(KeyError, match="nobody"):
        edges["0", "nobody"]


@pytest.mark.parametrize("kind", ["gensim", "mumon"])
def test_all_edges_together_are_vectors_of_their_own(club, kind, monkeypatch):
    if kind == "mumon":
        monkeypatch.setattr("node2vec.edges.KeyedVectors", KeyedVectors)
    edges = HadamardEmbedder(keyed_vectors=club.wv, quiet=True)
    whole = edges.as_keyed_vectors()
    assert isinstance(whole, KeyedVectors) == (kind == "mumon")
    assert len(whole) == 34 * 35 // 2
    assert np.array_equal(whole[str(("0", "1"))], edges["0", "1"])
    assert whole.most_similar(str(("0", "1")), topn=1)[0][1] > 0.5


def test_embeddings_and_the_model_are_saved_as_the_documentation_of_node2vec_does(club, tmp_path):
    from gensim.models import KeyedVectors as Peer

    club.wv.save_word2vec_format(str(tmp_path / "nodes.txt"))
    club.save(str(tmp_path / "nodes.mumon"))
    theirs = Peer.load_word2vec_format(str(tmp_path / "nodes.txt"))
    again = Word2Vec.load(str(tmp_path / "nodes.mumon"))
    assert list(theirs.index_to_key) == list(club.wv.index_to_key) == list(again.wv.index_to_key)
    assert np.allclose(theirs.vectors, club.wv.vectors, atol=1e-6)
    assert np.array_equal(again.wv.vectors, club.wv.vectors)


def test_several_workers_and_weighted_edges_do_as_well(on_mumon):
    graph = nx.les_miserables_graph()
    walks = node2vec.Node2Vec(graph, dimensions=16, walk_length=10, num_walks=4, workers=2, quiet=True, p=0.5, q=2)
    assert len(walks.fit(window=5, min_count=1, sg=0, epochs=2).wv) == len(graph)
