"""Settings: flags, then the environment, then partner.toml, then defaults."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from partner.errors import UsageError
from partner.settings import load_settings, origins, unknown_variables


def source_of(name: str, flags: dict[str, object]) -> str:
    return next(origin.source for origin in origins(load_settings(flags), flags) if origin.name == name)


def test_each_source_beats_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag beats the environment, which beats partner.toml, which beats the default; the origin says which it was."""
    default = load_settings({}).home
    assert source_of("home", {}) == "default"
    (tmp_path / "partner.toml").write_text('home = "from-file"')
    assert (load_settings({}).home, source_of("home", {})) == (tmp_path / "from-file", "partner.toml")
    monkeypatch.setenv("PARTNER_HOME", "/from/env")
    assert (load_settings({}).home, source_of("home", {})) == (Path("/from/env"), "environment PARTNER_HOME")
    flags: dict[str, object] = {"home": Path("/from/flag")}
    assert (load_settings(flags).home, source_of("home", flags)) == (Path("/from/flag"), "flag --home")
    assert default.is_absolute()


def test_an_empty_variable_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """PARTNER_HOME= is the same as leaving it out."""
    before = load_settings({}).home
    monkeypatch.setenv("PARTNER_HOME", "")
    assert load_settings({}).home == before
    assert source_of("home", {}) == "default"


def test_a_flag_that_was_not_given_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag left out does not hide the environment."""
    monkeypatch.setenv("PARTNER_HOME", "/from/env")
    assert load_settings({"home": None}).home == Path("/from/env")


@pytest.mark.parametrize("variable", ["TAVILY_API_KEY", "PARTNER_TAVILY_API_KEY"])
def test_secrets_are_masked_wherever_they_come_from(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """A secret is never shown, not even its length, and its origin is."""
    monkeypatch.setenv(variable, "tvly-secret-1234")
    settings = load_settings({})
    (origin,) = [origin for origin in origins(settings, {}) if origin.name == "tavily_api_key"]
    assert (origin.value, origin.source) == ("**********", f"environment {variable}")
    assert "tvly" not in repr(settings)
    assert settings.tavily_api_key is not None
    assert settings.tavily_api_key.get_secret_value() == "tvly-secret-1234"


def test_our_own_variable_beats_the_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    """With both set, PARTNER_TAVILY_API_KEY is the value and is named as its origin."""
    monkeypatch.setenv("TAVILY_API_KEY", "theirs")
    monkeypatch.setenv("PARTNER_TAVILY_API_KEY", "ours")
    key = load_settings({}).tavily_api_key
    assert key is not None
    assert key.get_secret_value() == "ours"
    assert source_of("tavily_api_key", {}) == "environment PARTNER_TAVILY_API_KEY"


def test_a_variable_in_lower_case_is_named_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables are understood in any case, and the origin shows the one that was set."""
    monkeypatch.setenv("partner_home", "/lower")
    assert (load_settings({}).home, source_of("home", {})) == (Path("/lower"), "environment partner_home")


def test_a_home_of_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home below a user who does not exist is a usage error."""
    monkeypatch.setenv("PARTNER_HOME", "~nobody-by-that-name/x")
    with pytest.raises(UsageError, match="name it without ~"):
        load_settings({})


def test_a_refused_value_says_where_it_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The remedy names the file or the variable that holds the wrong value."""
    (tmp_path / "partner.toml").write_text("home = 3")
    with pytest.raises(UsageError, match=r"it comes from: partner\.toml"):
        load_settings({})


def test_settings_are_frozen() -> None:
    """What a process read at its start cannot be changed."""
    with pytest.raises(ValidationError):
        load_settings({}).home = Path("/elsewhere")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('hmoe = "x"', "'hmoe', which is no setting\n  → did you mean home?"),
        ('entirely_else = "x"', "it may set home"),
        ("home = ", "is not TOML"),
        ("home = 3", "the setting home is refused"),
        ('author = ""', "the setting author is refused"),
    ],
)
def test_a_wrong_file_is_refused_with_the_remedy(tmp_path: Path, content: str, message: str) -> None:
    """What partner.toml sets wrongly is named, with what may have been meant."""
    (tmp_path / "partner.toml").write_text(content)
    with pytest.raises(UsageError) as refusal:
        load_settings({})
    assert message in str(refusal.value)


def test_a_misspelt_variable_is_found() -> None:
    """A PARTNER_ variable that sets nothing is named with the one that may have been meant."""
    environ = {"PARTNER_HMOE": "x", "PARTNER_HOME": "y", "PATH": "z"}
    assert unknown_variables(environ) == [("PARTNER_HMOE", "PARTNER_HOME")]
