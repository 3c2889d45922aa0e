"""Flows and schedules on the local server."""

import base64
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from uuid import uuid4

from fakes.prefect_server import wait_until
from partner.launch import PrefectServer

FLOW = """
from prefect import flow, task
from prefect.logging import get_run_logger

@task
def double(number: int) -> int:
    get_run_logger().info("doubling")
    return number * 2

@flow
def doubled() -> int:
    return double(21)

print(doubled())
"""


def post(server: PrefectServer, path: str, body: object) -> Any:
    secret = base64.b64encode(server.auth.encode()).decode()
    headers = {"Content-Type": "application/json", "Authorization": f"Basic {secret}"}
    request = urllib.request.Request(f"{server.api_url}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def test_a_flow_of_this_process_completes(prefect_server: PrefectServer) -> None:
    """A flow that a test defines runs on the server, whatever Prefect was told when it was imported."""
    from prefect import flow, task
    from prefect.runtime import flow_run

    @task
    def double(number: int) -> int:
        return number * 2

    @flow
    def doubled() -> tuple[int, str]:
        return double(21), str(flow_run.get_id())

    number, run_id = doubled()
    (run,) = post(prefect_server, "/flow_runs/filter", {"flow_runs": {"id": {"any_": [run_id]}}})
    assert (number, run["state_type"]) == (42, "COMPLETED")


def test_a_flow_of_another_process_completes_in_silence(prefect_server: PrefectServer, tmp_path: Path) -> None:
    """The environment is all it needs; it prints its result and nothing else, and touches no home of the user's."""
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FLOW], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("42\n", "")
    assert not (tmp_path / ".prefect").exists()


def test_a_schedule_creates_runs(prefect_server: PrefectServer) -> None:
    """A deployment that is due every hour gets runs: with SQLAlchemy 2.1 the server is healthy and none ever comes."""
    flow = post(prefect_server, "/flows/", {"name": f"canary-{uuid4()}"})
    schedule = {"schedule": {"interval": 3600}, "active": True}
    body = {"name": "hourly", "flow_id": flow["id"], "schedules": [schedule], "entrypoint": "canary:canary"}
    deployment = post(prefect_server, "/deployments/", body)

    def runs() -> Any:
        return post(prefect_server, "/flow_runs/filter", {"deployments": {"id": {"any_": [deployment["id"]]}}})

    wait_until(runs, "the schedule has created runs")
    assert {run["state_type"] for run in runs()} == {"SCHEDULED"}
