"""A sandbox host: `python -m sandbox.host`, with its configuration as JSON on stdin.

It says one line of JSON on stdout when it is ready, or why there is no safe sandbox here; after that, only its log.
"""

import json
import os
import resource
import socket
import sys
from pathlib import Path

from sandbox.frames import Message
from sandbox.host.foundation import lay
from sandbox.host.refusal import Refusal
from sandbox.host.server import Patience, Server


def main() -> None:
    configuration: Message = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # it is nobody's child: whoever started it neither waits for it nor takes it along
    os.setsid()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        ground = lay(configuration)
    except Refusal as refusal:
        print(json.dumps(refusal.as_message()), flush=True)
        sys.exit(1)
    path = Path(configuration["socket"])
    patience = Patience(configuration["session_idle_s"], configuration["host_idle_s"])
    server = Server(ground, patience, _listen(path))
    print(json.dumps({"ready": True}), flush=True)
    os.dup2(2, 1)  # whoever started us may go; nothing of theirs is held on to
    try:
        server.serve()
    finally:
        path.unlink(missing_ok=True)


def _listen(path: Path) -> socket.socket:
    """The socket, for its owner only from its first moment on."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(64)
    return listener


if __name__ == "__main__":
    main()
