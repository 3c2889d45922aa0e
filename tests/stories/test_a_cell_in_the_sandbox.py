"""Code goes in, a result comes out; variables stay, and so does the machine."""

import shutil
import tempfile
from pathlib import Path

from sandbox import Cell, LocalJail, SessionSpec


def test_a_session_of_three_cells() -> None:
    """A session keeps its variables, names what it touched, and survives a cell that does not."""
    top = Path(tempfile.mkdtemp(prefix="partner-test-"))  # where cells, which as root have users of their own, can pass
    top.chmod(0o755)
    work = top / "work"
    work.mkdir()
    (work / "spend.csv").write_text("source,spend\nemail,12000\nevents,48000\n")
    (work / "spend.csv").chmod(0o600)
    jail = LocalJail(top / "home")
    session = jail.open_session(SessionSpec(name="story", work=str(work)))
    try:
        first = session.run(Cell(code="import pandas as pd\nspend = pd.read_csv('spend.csv')\nspend"))
        assert first.touched.read == ("spend.csv",)
        assert first.outputs[-1]["data"]["application/vnd.partner.table+json"]["rows"][0] == ["email", 12000]

        crashed = session.run(Cell(code="spend = None\nimport os; os._exit(1)"))
        assert (crashed.ok, crashed.cause, crashed.state) == (False, "error", "restored")

        second = session.run(Cell(code="spend.spend.sum().item()"))
        assert second.outputs[-1]["data"]["text/plain"] == "60000"
        assert (work / "spend.csv").exists()
    finally:
        session.close()
        jail.stop()
        shutil.rmtree(top)
