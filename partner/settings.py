"""Settings, read once: flags, then the environment, then partner.toml, then defaults."""

import difflib
import getpass
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from partner.errors import UsageError

FILE = "partner.toml"
PREFIX = "PARTNER_"


def _default_home() -> Path:
    """Root's home must be passable for the uids that cells run as, and a checkout of root's often is not."""
    return Path("/var/lib/partner") if os.geteuid() == 0 else Path(".partner")


def _default_author() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _split_path(value: object) -> object:
    """A list in partner.toml; in the environment, as PATH is written."""
    return [part for part in value.split(os.pathsep) if part] if isinstance(value, str) else value


class Settings(BaseSettings):
    """Everything that can be set. Frozen: what a process reads at its start holds until its end."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", toml_file=FILE, populate_by_name=True
    )

    home: Path = Field(default_factory=_default_home, description="Where runs, objects and caches live.")
    author: str = Field(
        default_factory=_default_author, description="Who signs what is done from the command line.", min_length=1
    )
    tavily_api_key: SecretStr | None = Field(
        default=None,
        description="The key for web search. Without one, searches stay in a local folder.",
        # Tavily's own variable is understood too; in partner.toml it has the same name.
        validation_alias=AliasChoices("partner_tavily_api_key", "tavily_api_key"),
    )

    tavily_api_url: str | None = Field(
        default=None,
        description="Where web searches go, instead of Tavily's own address.",
        pattern=r"^https?://[^/\s]+",
    )
    search: Literal["auto", "tavily", "folder"] = Field(
        default="auto", description="Where to search; auto: the web when there is a key, else the documents."
    )
    documents: Path = Field(default=Path("documents"), description="The folder of documents that searches stay in.")
    recipes: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split_path)] = Field(
        default=(Path("my-recipes"),), description="Folders with recipes of your own; new ones go into the first."
    )
    search_timeout_s: float = Field(default=30, gt=0, le=600, description="How long a web search may take.")
    pass_threshold: float = Field(default=0.8, ge=0, le=1, description="The aggregate from which a step passes.")

    prefect_idle_s: float = Field(
        default=900, gt=0, description="End the local Prefect server when nobody used it for so long."
    )

    sandbox_environment: Path | None = Field(
        default=None, description="The environment cells run in, instead of the one that `make install` made."
    )
    sandbox_namespaces: bool = Field(
        default=True, description="Use namespaces for the walls where the kernel has them."
    )
    sandbox_landlock_abi_max: int = Field(
        default=7, ge=0, le=7, description="Use Landlock up to this version, to see what an older kernel would do."
    )
    sandbox_cgroups: bool = Field(default=True, description="Limit memory by control groups where they can be made.")
    session_idle_s: float = Field(default=1800, gt=0, description="Close a session that was not used for so long.")
    host_idle_s: float = Field(default=300, ge=0, description="End the sandbox host after so long without a session.")
    cell_timeout_s: float = Field(default=120, gt=0, le=86_400, description="How long a cell may run.")
    cell_memory_mb: int = Field(default=2048, ge=64, description="Memory that a session may use.")
    cell_processes: int = Field(default=128, ge=8, le=4096, description="Processes and threads at once.")
    cell_open_files: int = Field(default=512, ge=32, le=65_536, description="Files that a process may have open.")
    cell_file_mb: int = Field(default=1024, ge=1, description="The largest file that a cell may write.")
    cell_disk_mb: int = Field(default=4096, ge=1, description="What a session's files may take on disk together.")
    cell_output_kb: int = Field(default=1024, ge=1, le=65_536, description="How much of each stream is captured.")
    cell_display_kb: int = Field(default=16_384, ge=1, le=65_536, description="How much a cell may display in all.")
    cell_cpu_s: float | None = Field(
        default=None, gt=0, description="Processor time of a cell; none: its timeout only."
    )
    cell_cpus: float | None = Field(default=None, gt=0, description="Processors a session may keep busy, by cgroup.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  (pydantic-settings calls it by name)
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  (likewise)
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


@dataclass(frozen=True, slots=True)
class Origin:
    """A setting's value as it may be shown, and where it comes from."""

    name: str
    value: str | None
    source: str
    description: str


def load_settings(flags: Mapping[str, Any]) -> Settings:  # Any: the values of flags are what pydantic checks
    """The settings of this process; UsageError names the value that cannot be and where it stands."""
    in_file = _file_content()
    _refuse_unknown_keys(in_file)
    try:
        settings = Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).removeprefix(PREFIX.lower())
        source = _source(name, flags, in_file)
        raise UsageError(f"the setting {name} is refused: {first['msg']}", f"it comes from: {source}") from None
    home = expanded("home", settings.home).absolute()
    recipes = tuple(expanded("folder of recipes", folder) for folder in settings.recipes)
    documents = expanded("folder of documents", settings.documents)
    return settings.model_copy(update={"home": home, "recipes": recipes, "documents": documents})


def expanded(what: str, path: Path) -> Path:
    """With a user's home for its ~; UsageError for one of nobody's."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise UsageError(f"the {what} {path} is refused: {error}", "name it without ~") from None


def origins(settings: Settings, flags: Mapping[str, Any]) -> list[Origin]:  # Any: as above
    """Where each value comes from, secrets masked."""
    in_file = _file_content()
    return [
        Origin(name, _shown(getattr(settings, name)), _source(name, flags, in_file), field.description or "")
        for name, field in Settings.model_fields.items()
    ]


def unknown_variables(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """PARTNER_ variables that set nothing, each with the one that may have been meant."""
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    strange = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return [(name, next(iter(difflib.get_close_matches(name, known, 1)), "")) for name in strange]


def _source(name: str, flags: Mapping[str, Any], in_file: Mapping[str, Any]) -> str:
    """The first source that has the setting, in the order in which pydantic-settings asks them."""
    if flags.get(name) is not None:
        return f"flag --{name.replace('_', '-')}"
    for wanted in _variables(name):
        for variable, value in os.environ.items():
            if variable.lower() == wanted and value:
                return f"environment {variable}"
    return FILE if name in in_file else "default"


def _variables(name: str) -> list[str]:
    """The environment variables of a setting, in lower case as they are compared."""
    alias = Settings.model_fields[name].validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [f"{PREFIX}{name}"]
    return [str(choice).lower() for choice in choices]


def _shown(value: object) -> str | None:
    if isinstance(value, tuple):
        return os.pathsep.join(str(part) for part in cast("tuple[object, ...]", value))
    return None if value is None else str(value)  # a SecretStr prints as stars


def _file_content() -> dict[str, Any]:  # Any: TOML values
    try:
        with Path(FILE).open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{Path(FILE).absolute()} is not TOML: {error}", "mend it, or move it away") from None


def _refuse_unknown_keys(in_file: Mapping[str, Any]) -> None:
    for key in in_file:
        if key not in Settings.model_fields:
            close = difflib.get_close_matches(key, Settings.model_fields, 1)
            meant = f"did you mean {close[0]}?" if close else f"it may set {', '.join(Settings.model_fields)}"
            raise UsageError(f"{Path(FILE).absolute()} sets '{key}', which is no setting", meant)
