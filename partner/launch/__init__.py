"""The Prefect server that runs talk to: found, or started under the home, and how a process is told to use it."""

from partner.launch.environment import client_settings
from partner.launch.keep_up import kept_up
from partner.launch.server import PrefectServer, ServerState, find_server, server_state, stop_server
from partner.launch.versions import unfit

__all__ = [
    "PrefectServer",
    "ServerState",
    "client_settings",
    "find_server",
    "kept_up",
    "server_state",
    "stop_server",
    "unfit",
]
