"""fastText, with or without subwords, from a text file to saved vectors.

`python -m mumon.experiments.bench.peers.fasttext_train JSON`
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Train a job, except for the seed, which fastText does not accept here."""
    import fasttext
    import numpy as np

    job = json.loads(sys.argv[1])
    options = job["options"]
    model = fasttext.train_unsupervised(
        job["corpus"],
        model="skipgram" if job["sg"] else "cbow",
        minn=options["min_n"],
        maxn=options["max_n"],
        bucket=options.get("bucket", 2_000_000),
        dim=job["dim"],
        ws=job["window"],
        neg=job["negative"],
        epoch=job["epochs"],
        minCount=job["min_count"],
        t=job["sample"],
        thread=job["threads"],
        verbose=0,
    )
    if job.get("whole"):  # with its n-grams
        model.save_model(job["output"])
        return
    words = model.get_words(on_unicode_error="replace")
    if options["max_n"]:
        rows = np.array([model.get_word_vector(word) for word in words], np.float32)
    else:  # a word's vector is its row of the input matrix
        rows = np.asarray(model.get_input_matrix(), np.float32)
    with open(job["output"], "wb") as out:  # noqa: PTH123
        out.write(f"{len(words)} {job['dim']}\n".encode())
        for word, row in zip(words, rows, strict=True):
            out.write(word.encode() + b" " + row.tobytes())


if __name__ == "__main__":
    main()
