"""Recipes as flows: beside papermill when everything is fresh, beside bare Prefect flows when nothing is.

The long part, a recipe of many cells, is run once; RECIPE_STEPS says how many, 1,000 when it does not.
"""

import os
import shutil
import tempfile
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figure import Figure, medians, report
from benchmarks.kernel_peers import KernelPeers
from benchmarks.measured_host import stop
from benchmarks.recipe_cells import ANALYSIS, trivial, write_recipe
from partner.launch import client_settings, find_server, stop_server
from recipes.library import library
from sandbox import LocalJail

if TYPE_CHECKING:
    from benchmarks.measured_flows import Measured

_ROUNDS = 7
_FEW = 10
_MANY = int(os.environ.get("RECIPE_STEPS", "1000"))
_IDLE_S = 600.0


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="partner-bench-")).resolve()
    folder.chmod(0o755)  # sessions have users of their own
    jail = LocalJail(folder / "jail", libraries=library())
    try:
        jail.start()
        os.environ.update(client_settings(find_server(folder / "home", _IDLE_S, environ={}), folder / "home"))
        from benchmarks.measured_flows import Measured  # it imports Prefect, which reads the environment

        for name, cells in {"analysis": ANALYSIS, "few": trivial(_FEW), "many": trivial(_MANY)}.items():
            write_recipe(folder / "recipes", name, cells, '"page.html"' if name == "analysis" else '"notebook.ipynb"')
        measured = Measured(folder, jail)
        with closing(KernelPeers(folder / "peers")) as peers:
            figures = [*_fresh(measured, peers), *_cached(measured), *_growth(measured)]
    finally:
        stop(jail)
        stop_server(folder / "home")
        shutil.rmtree(folder, ignore_errors=True)
    report("recipe_run", "Recipes as Prefect flows", figures, _REMARKS)


def _fresh(measured: "Measured", peers: KernelPeers) -> list[Figure]:
    def ours() -> float:
        return measured.ours("analysis", refresh=True)[0]

    theirs = partial(peers.measure, "papermill", cells=[code.strip() for code in ANALYSIS.values()])
    for warm_up in (ours, theirs):  # files of libraries are read, and Prefect's client is up
        warm_up()
    spent, peer = medians([ours, theirs], _ROUNDS)
    return [Figure(f"a fresh run of {len(ANALYSIS)} cells with pandas and statsmodels", spent, "papermill", peer, 0.8)]


def _cached(measured: "Measured") -> list[Figure]:
    _, laps = measured.ours("analysis", refresh=True)
    files = measured.made(laps)
    count = len(ANALYSIS)
    measured.bare_cached(count, files)  # fills its cache

    def bare() -> float:
        if (spent := measured.bare_cached(count, files)) < 0:
            raise RuntimeError("a bare task was run that should have been cached")
        return spent

    ours, theirs = medians([lambda: measured.ours("analysis", refresh=False)[0], bare], 2 * _ROUNDS)
    peer = f"a bare flow of {count} cached tasks, and copying {sum(file.stat().st_size for file in files):,} bytes"
    return [Figure("the same run, every cell taken over", ours, peer, theirs, 2)]


def _growth(measured: "Measured") -> list[Figure]:
    """A step's time is from the first cell's beginning to the last one's end, divided: opening and closing is apart."""

    def ours() -> float:
        return measured.ours("few", refresh=True)[1].per_step_s()

    few, bare_few = medians([ours, partial(measured.bare_fresh, _FEW)], _ROUNDS)
    _, laps = measured.ours("many", refresh=True)
    many, last = laps.per_step_s(), laps.per_step_s(_MANY - _FEW * 5)
    bare_many = measured.bare_fresh(_MANY)  # last: the server is busy for a while with so many tasks in so short a time
    return [
        Figure(f"a fresh step of a recipe of {_FEW} cells", few, f"a bare task of {_FEW}", bare_few),
        Figure(f"a fresh step of a recipe of {_MANY:,} cells", many, f"a bare task of {_MANY:,}", bare_many),
        Figure(f"a step of {_MANY:,}", many, f"ours of {_FEW}", few, 1.25),
        Figure(f"one of the last {_FEW * 5} steps of {_MANY:,}", last, f"ours of {_FEW}", few),
        Figure(f"our overhead for each step of {_MANY:,}", many - bare_many, f"that of {_FEW}", few - bare_few),
    ]


_REMARKS = (
    "Prefect, our libraries and papermill are imported, the server and the sandbox host are up.",
    "Each run has a new session, or a new kernel. Ours records, hashes and judges every step; papermill does not.",
    "Ours does two steps more than there are cells: it saves the executed notebook, and looks at the deliverables.",
    "The bare flows use the same server with the same settings, without heartbeat; that a task is cached is checked.",
    "A step's time is from the first cell's beginning to the last one's end.",
    f"{_MANY:,} steps are measured once, and so are as many bare tasks.",
)
