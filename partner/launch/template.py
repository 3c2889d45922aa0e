"""A migrated, empty database, kept beside the installed Prefect: migrating a new one takes longer than all else."""

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp

_DATABASE = "prefect.db"
_MEMO = "memo_store.toml"
"""Where Prefect notes which block types it has registered in the database."""


def template_folder() -> Path:
    return Path(sys.prefix, "share", "partner", f"prefect-{version('prefect')}")


def use_template(template: Path, folder: Path) -> bool:
    """Give a folder that has no database yet the template's; whether there was one to give."""
    if not (template / _DATABASE).is_file():
        return False
    shutil.copyfile(template / _MEMO, folder / _MEMO)
    draft = folder / f".{_DATABASE}.{os.getpid()}"
    shutil.copyfile(template / _DATABASE, draft)
    draft.replace(folder / _DATABASE)
    return True


def keep_template(template: Path, folder: Path) -> None:
    """Keep a database that was just made, before anyone has used it; an installation that is read-only keeps none."""
    try:
        template.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(dir=template.parent))
    except OSError:
        return
    try:
        with closing(sqlite3.connect(folder / _DATABASE)) as database:
            database.execute("VACUUM INTO ?", (str(draft / _DATABASE),))
        with closing(sqlite3.connect(draft / _DATABASE, isolation_level=None)) as database:
            database.execute("DELETE FROM configuration")  # a key for secrets is each home's own
        shutil.copyfile(folder / _MEMO, draft / _MEMO)
        draft.chmod(0o755)
        draft.rename(template)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
