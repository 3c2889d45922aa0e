"""What a process is told of its server."""

from pathlib import Path

import pytest

from partner.launch import PrefectServer, client_settings

OURS = PrefectServer("http://127.0.0.1:1/api", "http://127.0.0.1:1", "partner:secret", is_ours=True, was_started=False)
THEIRS = PrefectServer("https://prefect.example/api", "https://prefect.example", "", is_ours=False, was_started=False)


@pytest.mark.parametrize("proxy", ["http_proxy", "HTTPS_PROXY", "all_proxy"])
def test_a_proxy_for_the_web_is_none_for_our_server(proxy: str) -> None:
    """This machine is left out of it, beside whatever else is; where there is no proxy, nothing is said of one."""
    told = client_settings(OURS, Path("home"), {proxy: "http://proxy.example", "no_proxy": "intranet.example"})
    assert told["NO_PROXY"] == told["no_proxy"] == "intranet.example,127.0.0.1,localhost"
    assert "NO_PROXY" not in client_settings(OURS, Path("home"), {})


def test_a_server_of_somebody_elses_gets_the_users_own_settings() -> None:
    """Neither our secret nor what is true of our server alone is said to it."""
    told = client_settings(THEIRS, Path("home"), {"http_proxy": "http://proxy.example"})
    assert told["PREFECT_API_URL"] == "https://prefect.example/api"
    assert not told.keys() & {"PREFECT_API_AUTH_STRING", "PREFECT_API_KEY", "NO_PROXY", "PREFECT_CLIENT_MAX_RETRIES"}


def test_settings_of_taste_stay_as_the_user_made_them() -> None:
    """Who wants Prefect's logs on the screen has them; nobody has its telemetry."""
    name = "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"
    assert client_settings(OURS, Path("home"), {})[name] == "CRITICAL"
    told = client_settings(OURS, Path("home"), {name: "DEBUG", "DO_NOT_TRACK": "0"})
    assert name not in told
    assert told["DO_NOT_TRACK"] == "1"
