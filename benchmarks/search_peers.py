"""rank_bm25 and bm25s over the same documents; run by the peers' Python, and imports nothing of ours.

Reads a file of words, a document a line; then answers each line of standard input, a JSON object with the peer's
name and the query's words, with the seconds that it took and the numbers of the ten best documents.
"""

import json
import os
import sys
import time
from pathlib import Path

# What is imported here is installed in the peers' environment, not in ours.
import bm25s  # pyright: ignore[reportMissingImports]
import numpy as np  # pyright: ignore[reportMissingImports]
from rank_bm25 import BM25Okapi  # pyright: ignore[reportMissingImports]


class Peers:
    """Both peers, each with an index in memory."""

    def __init__(self, documents: list[list[str]]) -> None:
        self._okapi = BM25Okapi(documents)
        self._bm25s = bm25s.BM25()
        self._bm25s.index(documents, show_progress=False)

    def rank_bm25(self, words: list[str]) -> list[int]:
        return np.argsort(self._okapi.get_scores(words))[::-1][:10].tolist()

    def bm25s(self, words: list[str]) -> list[int]:
        numbers, _ = self._bm25s.retrieve([words], k=10, show_progress=False)
        return numbers[0].tolist()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # libraries may print
    peers = Peers([line.split() for line in Path(sys.argv[1]).read_text().splitlines()])
    print("ready", file=answers)
    for line in sys.stdin:
        asked = json.loads(line)
        search = getattr(peers, asked["peer"])
        began = time.perf_counter()
        found = search(asked["words"])
        print(json.dumps([time.perf_counter() - began, found]), file=answers)


if __name__ == "__main__":
    main()
