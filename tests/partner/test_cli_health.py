"""partner verify, config and doctor."""

import hashlib
from pathlib import Path

import pytest

from fakes.command_line import partner

pytestmark = pytest.mark.usefixtures("partner_home")


def test_verify_finds_damage_and_says_where(run: str, partner_home: Path) -> None:
    """A whole run is exit 0; a damaged object is exit 6, names the file and the step."""
    assert partner("verify", run).code == 0
    sha256 = hashlib.sha256(b'{"facts": []}').hexdigest()
    damaged = partner_home / "objects" / sha256[:2] / sha256[2:]
    damaged.chmod(0o600)
    damaged.write_bytes(b'{"facts": [1]}')
    answer = partner("verify", run)
    assert answer.code == 6
    assert "✗ facts.json (step 1): object" in answer.text
    report = partner("verify", run, "--json")
    assert (report.code, report.json["ok"], report.json["damage"][0]["where"]) == (6, False, "facts.json (step 1)")


def test_config_shows_values_and_origins(partner_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting is shown with its origin; a secret is masked in both forms."""
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-123")
    answer = partner("config", "--json").json
    assert answer["home"] == {"value": str(partner_home), "source": "environment PARTNER_HOME"}
    assert answer["tavily_api_key"] == {"value": "**********", "source": "environment TAVILY_API_KEY"}
    assert "tvly" not in partner("config").text
    assert answer["cell_cpu_s"] == {"value": None, "source": "default"}


def test_doctor_puts_the_worst_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trouble comes before good news, with its remedy; a fault of the home is exit 1."""
    monkeypatch.delenv("PARTNER_SANDBOX_ENVIRONMENT")
    monkeypatch.setenv("PARTNER_HMOE", "x")
    answer = partner("doctor")
    assert answer.code == 0
    assert answer.text.splitlines()[0] == "! settings   PARTNER_HMOE sets nothing   → did you mean PARTNER_HOME?"
    (tmp_path / "home").write_text("in the way")
    bad = partner("doctor", "--json")
    assert (bad.code, bad.json["findings"][0]["level"]) == (1, "✗")


def test_doctor_says_where_searches_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The web with a key, else the documents; neither is trouble, with its remedy."""

    def search_line() -> str:
        return next(line for line in partner("doctor").text.splitlines() if line[2:].startswith("search"))

    assert "there is no folder of documents at" in search_line()
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.md").write_text("# A\n")
    assert "! search     no TAVILY_API_KEY: searching 1 document in" in search_line()
    monkeypatch.setenv("PARTNER_SEARCH", "folder")
    assert search_line().startswith("✓ search     searching 1 document in")
    monkeypatch.setenv("PARTNER_SEARCH", "tavily")
    assert search_line().startswith("✗ search     set to the web, and there is no key   → ")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-123")
    assert search_line() == "✓ search     the web, by Tavily"


def test_doctor_reports_what_it_cannot_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home is fine; a broken setting is a line of the report, not the end of it."""
    monkeypatch.delenv("PARTNER_SANDBOX_ENVIRONMENT")
    (tmp_path / "empty").mkdir()
    assert partner("--home", tmp_path / "empty", "doctor").code == 0
    (tmp_path / "partner.toml").write_text("home = 3")
    monkeypatch.delenv("PARTNER_HOME")
    answer = partner("doctor")
    assert answer.code == 1
    assert answer.text.startswith("✗ settings   the setting home is refused")
    assert "✓ versions" in answer.text
