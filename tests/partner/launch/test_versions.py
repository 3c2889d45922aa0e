"""What doctor says of Prefect."""

import pytest

from fakes.command_line import partner
from fakes.prefect_server import server_home
from partner.launch import PrefectServer, unfit


def prefect_line() -> str:
    return next(line for line in partner("doctor").text.splitlines() if line[2:].startswith("prefect"))


def test_versions_that_break_the_server_are_named() -> None:
    """What is locked is fit; SQLAlchemy from 2.1 and FastAPI from 0.151 are not."""
    assert unfit() == []
    assert unfit({"fastapi": "0.150.2", "sqlalchemy": "2.0.60"}) == []
    assert unfit({"fastapi": "0.151.0", "sqlalchemy": "2.1.0b1"}) == [
        "with fastapi 0.151.0 its server does not start",
        "with sqlalchemy 2.1.0b1 its schedules stop silently",
    ]


@pytest.mark.usefixtures("partner_home")
def test_doctor_says_where_the_server_is(
    session_prefect_server: PrefectServer, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """None yet, one that is up, one that is named, and one that is named and does not answer."""
    assert prefect_line() == "✓ prefect    3.8.8, its local server starts with the first run"
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    assert prefect_line().startswith("✗ prefect    no Prefect server answers at PREFECT_API_URL=http://127.0.0.1:9/api")
    monkeypatch.setenv("PREFECT_API_URL", session_prefect_server.api_url)
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", session_prefect_server.auth)
    assert prefect_line().endswith(f"the server that PREFECT_API_URL names: {session_prefect_server.api_url}")
    monkeypatch.delenv("PREFECT_API_URL")
    base = tmp_path_factory.getbasetemp()
    monkeypatch.setenv("PARTNER_HOME", str(next(h for h in map(server_home, (base, base.parent)) if h.exists())))
    assert prefect_line().startswith("✓ prefect    3.8.8, local server up ")
    assert prefect_line().endswith(session_prefect_server.ui_url)
