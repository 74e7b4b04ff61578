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


ALIASES = {
    "google": "mixed",
    "msr": "syn",
    "de-syntactic-google": "de-syntactic",
    "de-semantic-google": "de-semantic",
}

# path, size, SHA-256; the files of one set are together
_FILES = """
similarity/EN-WS-353-ALL.txt 7405 ce12919b240af45bdf46d243601eaca2b6212b159b5e7e9b435ee7ee40c5619c
similarity/EN-MEN-TR-3k.txt 53593 888b13580faa362c7b11da0a670258cf1b1eb4bf0ecbcd418918729a3bd3f43a
similarity/EN-RW-STANFORD.txt 49851 5108d54dfc746f44f9c3d7e31d2857c37cf71430bc1594175a61a3b89bb0ae1f
analogy/questions-words.txt 603955 8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36
analogy/msr.txt 239628 6e8d8a1d83165250631e5d74689837ab11bd00b7547a1d5e7000fa8bb4e259ef
similarity/de/de-gur350.tsv 9678 59f99c61c999022a66881bdd222be0a291f4aefd891fe6b92f31987a9e66a844
similarity/de/de-zg222.tsv 8525 65b7cf6a9dec5baa026b1b2e4c89f44c8e6c667599d4c3d7a40d324afbfb177b
similarity/de/de-schm280.tsv 5625 c9aae6f8df85348b6423a3657b79dbbcf6f1b102e49cc112f1b9b3f6dfb61856
similarity/de/de-yp130.tsv 3245 8c9755e2f0b3791b8ba0e9122030c0a34a9fecedc131b3c1e6e3332754c0024d
analogy/de/de-syntactic-google.tsv 337579 57aed966a3fa2edd2e20c00edf8e4a9c05677b9115cef4fe7fe672001a0507a6
analogy/de/de-semantic-google.tsv 289757 b76196122db4a6c02cebdba52e6ac9ba66fe698ee29579a8ef98f8037f8867ab
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
sts/stsb/stsb-en-train.csv 708863 e1e84fec60bbb598735552f54a35f4949904a484750fd2cb11e2720e49f63da6
sts/stsb/stsb-en-dev.csv 204675 d29586e96558c4eb52cf5ea5d14e9c24d3bf0e44f111b017caba43a5adc33226
sts/stsb/stsb-en-test.csv 158891 11523b625219e94e9ca05d2816b5f02cac1614c5894fe657376fa0806378d053
sts/2012/MSRpar.test.tsv 168264 0152db6de47cb0c309482425118281b8afad65a066ad961c96930d511d62dba1
sts/2012/OnWN.test.tsv 71873 8148c4aea8e70e39c033e16cc0765735669aba0f5de053ac0061f2cf47cf366f
sts/2012/SMTeuroparl.test.tsv 62276 b70cbc8262db9fe178341a2e427d713be2fb440b1cccc1736cd0e66f0ac8ff59
sts/2012/SMTnews.test.tsv 61072 7745b5a11faab3098eacd8ba7ea4530f932d1ee5f82e10d6d1f1b8b03cd8868b
sts/2013/FNWN.test.tsv 46412 ac1fcaf6042fc7f8984b0d6145b5a4028da10c9adc55754ea1ad64d6dd3f6633
sts/2013/OnWN.test.tsv 49248 66aeefda9084f544e2d54e51026d2952e2cb05bd9b5fcf4c6d4efe57dfa3e4fc
sts/2013/headlines.test.tsv 71836 9b40330c1b70017b62a48404bf050211f5cfd990e249fc1b8146163bdcb9924a
sts/2014/OnWN.test.tsv 70871 072ffe5052223b45018a588c3f06d48a3b16bf7a7ea7e9f235fce89342ec8f3f
sts/2014/deft-forum.test.tsv 43999 1bdea70a0f1b44b7697ede61b80a9a566fad928150567a8a46235104847ef484
sts/2014/deft-news.test.tsv 63746 faf2fc618e57f4acac25a7cdb16b131a2055ed4fcead3cf475e411b0482dc51d
sts/2014/headlines.test.tsv 74159 85e98e7c2ed1e95e2a0d1d4047f50497f3a2ca196c0004afa416320f73d46efd
sts/2014/images.test.tsv 72028 c17677ae0fdd667330b8b41585666d2181d1f4b20013cfdd81f5d0f2811b9165
sts/2014/tweet-news.test.tsv 94757 be2ee005c28f3c4359cef6d35323ef5ce32443a85a6bad21cdb30f320054db37
sts/2015/answers-forums.test.tsv 351034 896cd9f26fad335775688ee9829910bb2e7240fb44d89b2e1cc467a73239f65d
sts/2015/answers-students.test.tsv 166143 e3bd0696f2ff514276ddcc830655b84d7d5e48868f71aa3009d6c5ff90756cee
sts/2015/belief.test.tsv 284734 29cc4918023aabd33a270f475914885fa7dd24c9811279d9e0face14f973a7e4
sts/2015/headlines.test.tsv 150011 d45bf6e97f44afc817b39c1e51492cfadce163b0076611f7c85472c8e05271d1
sts/2015/images.test.tsv 148521 820fe1c8cfb1349ba7d7bca3bf1ed38776d9d0d1b193124a8666e3a5f440c5a9
sts/2016/answer-answer.test.tsv 147984 b7152d6d12e7145734b452a9757593259b987bbae0558e769a1ded3e992ba12b
sts/2016/headlines.test.tsv 149945 454c0fa9fdbb133042e84cb7b85f0562b60016d70c1f3caf4b01bd51e6b58a3f
sts/2016/plagiarism.test.tsv 203377 9f556fe320ce95c7b43db74894f0120dcb4dc9745c7ae9936b49fba04a52524a
sts/2016/postediting.test.tsv 793290 e412867621bbabf17d4b44c99f84bb222448eabaef34b37243baed1687812b81
sts/2016/question-question.test.tsv 165644 0b136074715d26425b1b18f566ba319598efa12e1601fd048ad496937c484c06
sts/sick/SICK_train.txt 506243 266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e
sts/sick/SICK_trial.txt 57225 5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56
sts/sick/SICK_test_annotated.txt 559979 2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0
"""

# Public copies, pinned to a commit. The other files are cuts and subsets that are not published, or (CoNLL-2003) must
# not be published.
_GITHUB = "https://raw.githubusercontent.com/"
_WORD_SIM = _GITHUB + "mfaruqui/eval-word-vectors/56ebe3699df6e745d506fb3cd97d4f7b1e615d32/data/word-sim/"
_STS = _GITHUB + "brmson/dataset-sts/e1d3375f5b3bc24f21aa4e46f96eb379e9fc1081/data/sts/"
_SUBS2VEC = _GITHUB + "jvparidon/subs2vec/adb9e72b64dc6dbde3c2060ee0d3964ab623a149/subs2vec/datasets/"
# Whole folders of a mirror, whose files have the same names there.
_FOLDER_ADDRESSES = {
    "similarity/de/": _SUBS2VEC + "similarities/",
    "analogy/de/": _SUBS2VEC + "analogies/",
    "sts/stsb/": _GITHUB + "PhilipMay/stsb-multi-mt/30de0dec4ee199b7f42351d3f1a0b19592955385/data/",
    "sts/sick/": _STS + "sick2014/",
    **{f"sts/{year}/": f"{_STS}semeval-sts/{year}/" for year in range(2012, 2017)},
}
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
    return tuple(DataFile(path, int(size), sha256, _find_address(path)) for path, size, sha256 in rows)


def _find_address(path: str) -> str | None:
    """Return the address of a file, or None if it has none."""
    folder, name = path[: path.rindex("/") + 1], path[path.rindex("/") + 1 :]
    return _FOLDER_ADDRESSES[folder] + name if folder in _FOLDER_ADDRESSES else _ADDRESSES.get(path)


_GLUE = "; Wang et al., GLUE: A Multi-Task Benchmark and Analysis Platform, ICLR 2019"
_KOEPER = (
    "Köper, Scheible, Schulte im Walde, Multilingual Reliability and “Semantic” Structure of Continuous Word Spaces, "
    "IWCS 2015"
)
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
        "de-gur350",
        "Gur350: relatedness of 350 pairs, German",
        _list_files("similarity/de/de-gur350"),
        licence="not stated",
        citation="Gurevych, Using the Structure of a Conceptual Network in Computing Semantic Relatedness, IJCNLP 2005",
        home="https://tudatalib.ulb.tu-darmstadt.de/handle/tudatalib/2440",
    ),
    Dataset(
        "de-zg222",
        "ZG222: relatedness of 222 pairs, German",
        _list_files("similarity/de/de-zg222"),
        licence="not stated",
        citation="Zesch, Gurevych, Automatically Creating Datasets for Measures of Semantic Relatedness, Workshop on "
        "Linguistic Distances 2006",
        home="https://tudatalib.ulb.tu-darmstadt.de/handle/tudatalib/2440",
    ),
    Dataset(
        "de-schm280",
        "Schm280: relatedness of 280 pairs, German",
        _list_files("similarity/de/de-schm280"),
        licence="not stated",
        citation=_KOEPER,
        home="https://aclanthology.org/W15-0105/",
    ),
    Dataset(
        "de-yp130",
        "YP130: similarity of 130 pairs of verbs, German",
        _list_files("similarity/de/de-yp130"),
        licence="not stated",
        citation="Meyer, Gurevych, To Exhibit is not to Loiter: A Multilingual, Sense-Disambiguated Wiktionary for "
        "Measuring Verb Similarity, COLING 2012",
        home="https://github.com/jvparidon/subs2vec",
    ),
    Dataset(
        "de-syntactic",
        "Google's syntactic analogies in German, 9,683",
        _list_files("analogy/de/de-syntactic"),
        licence="not stated",
        citation=_KOEPER,
        home="https://aclanthology.org/W15-0105/",
    ),
    Dataset(
        "de-semantic",
        "Google's semantic analogies in German, 8,869",
        _list_files("analogy/de/de-semantic"),
        licence="not stated",
        citation=_KOEPER,
        home="https://aclanthology.org/W15-0105/",
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
    Dataset(
        "stsb",
        "STS benchmark: similarity of 8,628 pairs of sentences",
        _list_files("sts/stsb"),
        licence="scores CC BY-SA 4.0; each text its own",
        citation="Cer, Diab, Agirre, Lopez-Gazpio, Specia, SemEval-2017 Task 1: Semantic Textual Similarity "
        "Multilingual and Crosslingual Focused Evaluation, SemEval 2017",
        home="https://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark",
    ),
    Dataset(
        "sick",
        "SICK: relatedness of 9,927 pairs of sentences",
        _list_files("sts/sick"),
        licence="CC BY-NC-SA 3.0",
        citation="Marelli et al., A SICK Cure for the Evaluation of Compositional Distributional Semantic Models, "
        "LREC 2014",
        home="https://zenodo.org/record/2787612",
    ),
    *(
        Dataset(
            f"sts{year - 2000}",
            f"STS {year}: similarity of {pairs} pairs of sentences",
            _list_files(f"sts/{year}"),
            licence="each text its own",
            citation=f"Agirre et al., {title}",
            home="https://ixa2.si.ehu.eus/stswiki/",
        )
        for year, pairs, title in (
            (2012, "2,358", "SemEval-2012 Task 6: A Pilot on Semantic Textual Similarity, *SEM 2012"),
            (2013, "1,500", "*SEM 2013 shared task: Semantic Textual Similarity, *SEM 2013"),
            (2014, "3,750", "SemEval-2014 Task 10: Multilingual Semantic Textual Similarity, SemEval 2014"),
            (
                2015,
                "3,000",
                "SemEval-2015 Task 2: Semantic Textual Similarity, English, Spanish and Pilot on Interpretability, "
                "SemEval 2015",
            ),
            (
                2016,
                "1,186",
                "SemEval-2016 Task 1: Semantic Textual Similarity, Monolingual and Cross-Lingual Evaluation, "
                "SemEval 2016",
            ),
        )
    ),
)

REGISTRY: dict[str, Dataset] = {dataset.name: dataset for dataset in _SETS}
