"""gensim, from a text file to saved vectors: `python -m mumon.experiments.bench.peers.gensim_train JSON`."""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Train a job: from the file itself (corpus_file), or from an iterable of its lines."""
    from gensim.models.fasttext import FastText, save_facebook_model
    from gensim.models.word2vec import LineSentence, Word2Vec

    job = json.loads(sys.argv[1])
    kind = FastText if "max_n" in job.get("options", {}) else Word2Vec
    text = {"sentences": LineSentence(job["corpus"])} if job["iterable"] else {"corpus_file": job["corpus"]}
    model = kind(
        **text,
        sg=job["sg"],
        vector_size=job["dim"],
        window=job["window"],
        negative=job["negative"],
        epochs=job["epochs"],
        min_count=job["min_count"],
        sample=job["sample"],
        workers=job["threads"],
        seed=job["seed"],
        **job.get("options", {}),
    )
    if job.get("whole"):  # with its n-grams
        save_facebook_model(model, job["output"])
    else:
        model.wv.save_word2vec_format(job["output"], binary=True)


if __name__ == "__main__":
    main()
