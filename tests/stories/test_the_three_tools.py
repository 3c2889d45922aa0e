"""The fourth story: a question answered with the three tools, each call guarded, recorded and judged.

Recipes, agents and doors do nothing else than what stands here.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from run_record import Home, Question
from sandbox import HostSettings, LocalJail
from three_tools.after_call import Ask
from three_tools.contracts import BrowserSearchResult, SandboxExecResult
from three_tools.evaluator import Expectations, ExpectedFile, Range
from three_tools.run import Equipment, open_run
from three_tools.search.local_folder import LocalFolderSearch

REPORT = "---\nurl: https://trade.example/email\ndate: 2026-09-30\n---\nEmail leads cost a tenth of event leads.\n"
KPIS = """
import pandas as pd
kpis = pd.read_csv("spend.csv").assign(cost_per_lead=lambda d: (d.spend / d.leads).round(2))
kpis.to_parquet("kpis.parquet")
kpis
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that the users cells run as can pass through, with one document."""
    top = Path(tempfile.mkdtemp(prefix="partner-test-"))
    top.chmod(0o755)
    (top / "documents").mkdir()
    (top / "documents" / "email.md").write_text(REPORT)
    yield top
    shutil.rmtree(top, ignore_errors=True)


@pytest.fixture
def jail(place: Path) -> Iterator[LocalJail]:
    jail = LocalJail(place / "home", HostSettings(host_idle_s=60))
    yield jail
    jail.stop()


def test_from_a_question_to_an_answer_with_sources(place: Path, jail: LocalJail) -> None:
    """Evidence is searched, data uploaded, a cell computes, and the answer stands on both."""
    equipment = Equipment(
        backend=lambda: jail,
        search=lambda: LocalFolderSearch(place / "documents", place / "home" / "search.sqlite"),
    )
    with open_run(Home(place / "home"), equipment, Question(objective="Email or events?", by="anna")) as run:
        found = run.call("browser.search", {"query": "email leads"}).outcome.result
        assert isinstance(found, BrowserSearchResult)
        assert found.results[0].url == "https://trade.example/email"

        run.call("tmp.write", {"path": "spend.csv", "text": "source,spend,leads\nemail,12000,310\nevents,48000,95\n"})

        # What a step is to make, and what must be true of it, is declared with the call; the Evaluator opens the files.
        cost = ExpectedFile(path="kpis.parquet", min_rows=2, ranges={"cost_per_lead": Range(least=0, most=1000)})
        kpis = run.call("sandbox.exec", {"code": KPIS}, Ask(name="kpis", expects=Expectations(files=(cost,))))
        assert isinstance(kpis.outcome.result, SandboxExecResult)
        assert [file.path for file in kpis.outcome.result.files_out] == ["kpis.parquet"]
        assert kpis.evaluation
        assert kpis.evaluation.verdict == "PASS"

        # A claim needs a source that a search brought, or a file of the run.
        facts = f'{{"facts": [{{"fact": "Email leads cost a tenth.", "url": "{found.results[0].url}"}}]}}'
        judged = run.call("tmp.write", {"path": "facts.json", "text": facts}).evaluation
        assert judged
        assert judged.evidence == 1.0
        answer = "Email: 38.71 a lead, events: 505.26 (kpis.parquet).\n"
        brief = Ask(needs=("kpis",), expects=Expectations(files=(ExpectedFile(path="answer.md", has_claims=True),)))
        judged = run.call("tmp.write", {"path": "answer.md", "text": answer}, brief).evaluation
        assert judged
        assert (judged.verdict, judged.evidence) == ("PASS", 1.0)

        assert [step.tool for step in run.context().passed][:2] == ["browser.search", "tmp.write"]

    log = (run.workspace.root / "CEL.md").read_text()
    assert "## Step 3: sandbox.exec (kpis)" in log
    assert "kpis.parquet 2 rows × 4 columns" in log
    assert log.count("**Evaluation (by Evaluator):** PASS") == 5
