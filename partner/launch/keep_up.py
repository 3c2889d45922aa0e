"""Starting the local server again when it dies while a run needs it."""

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from partner.errors import ServerFailed
from partner.launch.server import PrefectServer, find_server, server_state

_LOOK_S = 1.0


@contextmanager
def kept_up(server: PrefectServer, home: Path, idle_s: float) -> Generator[None]:
    """While this lasts, our server is in use, and started anew, on its port, when it is gone: clients go on with it.

    Not in a home that was removed: what is gone with it stays gone.
    """
    if not server.is_ours:
        yield
        return
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(_LOOK_S):
            if server_state(home, means_use=True) is None and home.is_dir():
                with suppress(ServerFailed):  # its log says why, and the next look tries again
                    find_server(home, idle_s)

    looking = threading.Thread(target=look, name="server watch", daemon=True)
    looking.start()
    try:
        yield
    finally:
        is_over.set()
        looking.join()
