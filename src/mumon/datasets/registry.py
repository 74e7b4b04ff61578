"""The data sets that mumon knows by name: their files, where they come from, their licences, and what to cite."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DataFile:
    """One file: its path in a mirror and in the cache, its size and checksum, and its address."""

    path: str
    size: int
    sha256: str
    url: str | None = None

    def matches(self, path: Path) -> bool:
        """Return whether the file `path` has exactly these bytes."""
        if path.stat().st_size != self.size:  # quicker than reading a user's own corpus of many gigabytes
            return False
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        return digest.hexdigest() == self.sha256


@dataclass(frozen=True)
class Dataset:
    """A data set and what its users must know: licence, citation, and the page it comes from."""

    name: str
    title: str
    files: tuple[DataFile, ...]
    licence: str
    citation: str
    home: str


ALIASES = {"google": "mixed", "msr": "syn"}

# path, size, SHA-256; the files of one set are together
_FILES = """
similarity/EN-WS-353-ALL.txt 7405 ce12919b240af45bdf46d243601eaca2b6212b159b5e7e9b435ee7ee40c5619c
similarity/EN-MEN-TR-3k.txt 53593 888b13580faa362c7b11da0a670258cf1b1eb4bf0ecbcd418918729a3bd3f43a
similarity/EN-RW-STANFORD.txt 49851 5108d54dfc746f44f9c3d7e31d2857c37cf71430bc1594175a61a3b89bb0ae1f
analogy/questions-words.txt 603955 8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36
analogy/msr.txt 239628 6e8d8a1d83165250631e5d74689837ab11bd00b7547a1d5e7000fa8bb4e259ef
corpus/enwiki.sents.txt.xz 94841048 163eb09b49e89cb1628f1bc248e3a58b0ff6d1b4ddf3eece17424423c45b5f95
vectors/glove.6B.100d.top50k.txt.xz 14276392 508de823fd5e49db85d675cf016904def0da7bf675ced0184316586110bde185
glue/SST-2/train.tsv 3738731 c75796b01672b41c38cd4b35f4ff1ade88ca79b7577f3926e01ff69739d85ec9
glue/SST-2/dev.tsv 94415 f7271f7a919ea884ca8563e13ed03028aa44296d1f738c003af3142b9a2188f8
glue/SST-2/test.tsv 193577 1da6e04ccd65c1ade32864afa62129b3b3d5df0f1b314961ec345af304274093
glue/QNLI/train.tsv 2191951 b641bdb88a9f7b75b6f8971c3522daa2b21fa7da7b20c26ec2516ab53b18c7a9
glue/QNLI/dev.tsv 1367342 ac19409dcb04631eaaa094bdebdcf621086bc352503dfb6a1a648b614986f4fd
glue/QNLI/test.tsv 240957 ba90955c4b6449d4154e938e36d1813b4de31ab8d39b23f6741c3fd759693f35
glue/MNLI/train.tsv 1701905 8f03e08cc848ee3c173a247d0ec9e52f9d0e0a4e6a5ffd75a225e1a136f085eb
glue/MNLI/dev.tsv 182269 ec0c4cffbe84d6d3600f902251e46169a045c3b1dbf2daa7806a6aa8f2a6ea9e
glue/MNLI/test_matched.tsv 187601 7752e471da784b4514388e9fa803a3e6661cc34561f74cd56e863ea192e43236
glue/MNLI/test_mismatched.tsv 203754 c6031ba0cd147f5d68d73831ec03ff34d97a792bbb7e359ca61d9994bab003f5
ner/eng.train 3281528 eac0822f501353f265383ddf1edb0dcd42a1b6eefd3e383d7074db98c38eb41c
ner/eng.testa 827012 aedc4ccbd1ae9795feaa0e86fe72d195b0258abed9d705b630d1c889276fac1e
ner/eng.testb 748096 0632f32c090ef31c223135b7fee3187a7cf8e65c4015c7866bb7783428cdd9a6
"""

# Public copies, pinned to a commit. The other files are cuts and subsets that are not published, or (CoNLL-2003) must
# not be published.
_GITHUB = "https://raw.githubusercontent.com/"
_WORD_SIM = _GITHUB + "mfaruqui/eval-word-vectors/56ebe3699df6e745d506fb3cd97d4f7b1e615d32/data/word-sim/"
_ADDRESSES = {
    "similarity/EN-WS-353-ALL.txt": _WORD_SIM + "EN-WS-353-ALL.txt",
    "similarity/EN-MEN-TR-3k.txt": _WORD_SIM + "EN-MEN-TR-3k.txt",
    "similarity/EN-RW-STANFORD.txt": _WORD_SIM + "EN-RW-STANFORD.txt",
    "analogy/questions-words.txt": _GITHUB
    + "tmikolov/word2vec/20c129af10659f7c50e86e3be406df663beff438/questions-words.txt",
    "analogy/msr.txt": _GITHUB + "zhezhaoa/ngram2vec/8021b7b63b9b07ff76e06a85c1103347948d396f/testsets/analogy/msr.txt",
}


def _list_files(start: str) -> tuple[DataFile, ...]:
    """List the files whose path begins with `start`."""
    rows = (row.split() for row in _FILES.split("\n") if row.startswith(start))
    return tuple(DataFile(path, int(size), sha256, _ADDRESSES.get(path)) for path, size, sha256 in rows)


_GLUE = "; Wang et al., GLUE: A Multi-Task Benchmark and Analysis Platform, ICLR 2019"
_SETS = (
    Dataset(
        "ws353",
        "WordSim-353: relatedness of 353 pairs",
        _list_files("similarity/EN-WS"),
        licence="CC BY 4.0",
        citation="Finkelstein et al., Placing Search in Context: The Concept Revisited, ACM TOIS 20(1), 2002",
        home="http://gabrilovich.com/resources/data/wordsim353/wordsim353.html",
    ),
    Dataset(
        "men",
        "MEN: relatedness of 3,000 pairs",
        _list_files("similarity/EN-MEN"),
        licence="CC BY 2.0",
        citation="Bruni, Tran, Baroni, Multimodal Distributional Semantics, JAIR 49, 2014",
        home="https://staff.fnwi.uva.nl/e.bruni/MEN",
    ),
    Dataset(
        "rw",
        "Stanford rare words: similarity of 2,034 pairs",
        _list_files("similarity/EN-RW"),
        licence="not stated",
        citation="Luong, Socher, Manning, Better Word Representations with Recursive Neural Networks for Morphology, "
        "CoNLL 2013",
        home="https://nlp.stanford.edu/~lmthang/morphoNLM/",
    ),
    Dataset(
        "mixed",
        "Google's 19,544 analogies, semantic and syntactic",
        _list_files("analogy/questions-words"),
        licence="Apache 2.0 (part of word2vec)",
        citation="Mikolov, Chen, Corrado, Dean, Efficient Estimation of Word Representations in Vector Space, "
        "ICLR workshop 2013",
        home="https://github.com/tmikolov/word2vec",
    ),
    Dataset(
        "syn",
        "Microsoft's 8,000 syntactic analogies",
        _list_files("analogy/msr"),
        licence="not stated (Microsoft Research)",
        citation="Mikolov, Yih, Zweig, Linguistic Regularities in Continuous Space Word Representations, "
        "NAACL-HLT 2013",
        home="https://aclanthology.org/N13-1090/",
    ),
    Dataset(
        "enwiki",
        "English Wikipedia: 65 M words, a sentence per line",
        _list_files("corpus/enwiki"),
        licence="CC BY-SA (Wikipedia)",
        citation="Wikipedia contributors, Wikipedia, The Free Encyclopedia",
        home="https://dumps.wikimedia.org/enwiki/",
    ),
    Dataset(
        "glove100",
        "GloVe 6B: 50,000 words × 100",
        _list_files("vectors/glove.6B.100d"),
        licence="PDDL 1.0",
        citation="Pennington, Socher, Manning, GloVe: Global Vectors for Word Representation, EMNLP 2014",
        home="https://nlp.stanford.edu/projects/glove/",
    ),
    Dataset(
        "sst2",
        "SST-2: sentiment of sentences",
        _list_files("glue/SST-2"),
        licence="not stated",
        citation="Socher et al., Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank, "
        "EMNLP 2013" + _GLUE,
        home="https://gluebenchmark.com/tasks",
    ),
    Dataset(
        "qnli",
        "QNLI: does the sentence answer? (subset)",
        _list_files("glue/QNLI"),
        licence="CC BY-SA 4.0 (SQuAD)",
        citation="Rajpurkar et al., SQuAD: 100,000+ Questions for Machine Comprehension of Text, EMNLP 2016" + _GLUE,
        home="https://gluebenchmark.com/tasks",
    ),
    Dataset(
        "mnli",
        "MNLI: does it follow? (subset)",
        _list_files("glue/MNLI"),
        licence="OANC; fiction CC BY 3.0 and CC BY-SA 3.0",
        citation="Williams, Nangia, Bowman, A Broad-Coverage Challenge Corpus for Sentence Understanding through "
        "Inference, NAACL-HLT 2018" + _GLUE,
        home="https://gluebenchmark.com/tasks",
    ),
    Dataset(
        "conll2003",
        "CoNLL-2003: named entities in English news",
        _list_files("ner/eng"),
        licence="research only, by agreement with NIST (Reuters)",
        citation="Tjong Kim Sang, De Meulder, Introduction to the CoNLL-2003 Shared Task: Language-Independent Named "
        "Entity Recognition, CoNLL 2003",
        home="https://www.clips.uantwerpen.be/conll2003/ner/",
    ),
)

REGISTRY: dict[str, Dataset] = {dataset.name: dataset for dataset in _SETS}
