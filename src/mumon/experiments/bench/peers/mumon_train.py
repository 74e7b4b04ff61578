"""mumon, from a text file to saved vectors: `python -m mumon.experiments.bench.peers.mumon_train JSON`."""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Train a job; the last line of the output says how many tokens were trained, and how long it took."""
    from mumon.fasttext import make_model

    job = json.loads(sys.argv[1])
    work = {
        "vector_size": job["dim"],
        "window": job["window"],
        "negative": job["negative"],
        "epochs": job["epochs"],
        "min_count": job["min_count"],
        "sample": job["sample"],
        "workers": job["threads"],
        "seed": job["seed"],
    }
    model = make_model(corpus_file=job["corpus"], progress=False, **{**work, **job["options"]})
    model.wv.save(job["output"], format="word2vec-bin")  # words alone, as the peers
    trained, seconds = (sum(getattr(epoch, name) for epoch in model.history) for name in ("trained_tokens", "seconds"))
    print(json.dumps({"trained_tokens": trained, "training_seconds": seconds, "first_rate": model.alpha}))


if __name__ == "__main__":
    main()
