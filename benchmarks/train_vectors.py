"""Trains vectors with the mumon that is on the path, which may be an earlier one: benchmarks/defaults.py runs this.

python benchmarks/train_vectors.py '[{"corpus": "text.txt", "output": "vectors.bin", "options": {"seed": 1}}]'
"""

import json
import sys
from pathlib import Path

from mumon import Word2Vec


def main() -> None:
    """Train every job whose vectors are missing; a job's options are those of Word2Vec."""
    for job in json.loads(sys.argv[1]):
        output = Path(job["output"])
        if not output.exists():
            model = Word2Vec(corpus_file=job["corpus"], workers=2, progress=False, **job["options"])
            part = output.with_suffix(".part.bin")
            model.wv.save(part)
            part.rename(output)


if __name__ == "__main__":
    main()
