"""What lies in `<home>/prefect`: the local server's database, its secret, its log, and where it can be found."""

import fcntl
import os
import secrets
import shutil
import stat
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from partner.errors import ServerFailed

_USER = "partner"
_LOG_TAIL_BYTES = 4096
_LOG_TAIL_LINES = 12
_LOOK_S = 0.1


class ServerRecord(BaseModel):
    """Where a server said that it is. A claim: whoever reads it asks the server itself before believing it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    port: int = Field(description="The port of 127.0.0.1 that it listens on.")
    pid: int = Field(description="Its process.")
    started_at_ms: int = Field(description="When it began to answer.")
    prefect: str = Field(description="The version of Prefect that it runs.")


class ServerFolder:
    """The files of one home's server, each for its owner's eyes only."""

    def __init__(self, home: Path) -> None:
        self.path = home.absolute() / "prefect"
        self.log = self.path / "server.log"
        self.database = self.path / "prefect.db"
        self._record = self.path / "server.json"
        self._running = self.path / "running.lock"
        self.auth_file = self.path / "auth"

    def make(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.path.mkdir(mode=0o700)
        status = self.path.stat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise ServerFailed(f"{self.path} is not a folder of yours", "remove it, or name another home with --home")
        self.path.chmod(0o700)

    def auth(self) -> str:
        """`user:password` for the server's API; made when there is none yet."""
        with suppress(FileNotFoundError):
            if ":" in (found := self.auth_file.read_text().strip()):
                self.auth_file.chmod(0o600)
                return found
        made = f"{_USER}:{secrets.token_urlsafe(32)}"
        self._replace(self.auth_file, made)
        return made

    def is_told_by(self, environ: Mapping[str, str]) -> bool:
        """Whether Prefect's variables are there because this home's server was found before, here or in a parent."""
        with suppress(FileNotFoundError):
            return environ.get("PREFECT_API_AUTH_STRING") == self.auth_file.read_text().strip()
        return False

    def read_record(self) -> ServerRecord | None:
        try:
            return ServerRecord.model_validate_json(self._record.read_bytes())
        except (OSError, ValidationError):  # also where the home is no folder
            return None

    def write_record(self, record: ServerRecord) -> None:
        self._replace(self._record, record.model_dump_json())

    def remove_record(self, record: ServerRecord) -> None:
        """Remove it if it is still this one."""
        if self.read_record() == record:
            self._record.unlink(missing_ok=True)

    def identity(self) -> tuple[int, ...] | None:
        """Which folder and which database this is; None when one of them is gone."""
        try:
            folder, database = self.path.stat(), self.database.stat()
        except OSError:
            return None
        return folder.st_dev, folder.st_ino, database.st_dev, database.st_ino

    def bound_log(self, size_bytes: int) -> None:
        """Set a log aside that has grown too long; whoever appends to it goes on at its beginning."""
        if self.log.stat().st_size > size_bytes:
            shutil.copy(self.log, self.log.with_suffix(".log.1"))
            os.truncate(self.log, 0)

    def log_end(self) -> str:
        """The last lines of the log, for who must be told why nothing started."""
        with suppress(FileNotFoundError), open(self.log, "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
            return "\n".join(log.read().decode(errors="replace").splitlines()[-_LOG_TAIL_LINES:])
        return ""

    @contextmanager
    def only_one_starts(self) -> Generator[None]:
        with open(self.path / "starting.lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def is_running(self) -> bool:
        """Whether a process is this home's server, answering or not."""
        with open(self._running, "ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    @contextmanager
    def only_one_runs(self, patience_s: float) -> Generator[None]:
        """Two servers on one database would confuse everyone; one that is just ending is waited for."""
        with open(self._running, "ab") as lock:
            until_s = time.monotonic() + patience_s
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until_s:
                        raise ServerFailed("another server of this home is running", "end it") from None
                    time.sleep(_LOOK_S)
            yield

    def _replace(self, path: Path, text: str) -> None:
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        draft.replace(path)
