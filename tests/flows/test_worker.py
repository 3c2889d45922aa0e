"""Recipes in a real Prefect worker, which knows nothing of ours but the entrypoint of a deployment."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.deployments.runner import RunnerDeployment
from prefect.types.entrypoint import EntrypointType

from fakes.kitchen import Kitchen
from fakes.prefect_server import wait_until
from flows.recipe_flow import recipe_flow
from recipes.catalog import Catalog
from run_record import RunId, RunState, read_journal

SLEEPS = 'open("begun.txt", "w").write(str(1))\nimport time\ntime.sleep(60)'


@pytest.fixture
def pool(kitchen: Kitchen) -> Iterator[str]:
    """A work pool and the worker of it."""
    name = f"pool-{kitchen.top.name}"
    with get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name=name, type="process"))
    variables = {"PARTNER_HOME": str(kitchen.home.root), "PARTNER_RECIPES": str(kitchen.recipes)}
    environment = {**os.environ, **variables, "PARTNER_HOST_IDLE_S": "5", "PREFECT_WORKER_QUERY_SECONDS": "1"}
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", name, "--type", "process"]
    worker = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield name
    worker.send_signal(signal.SIGTERM)
    try:
        worker.wait(20)
    except subprocess.TimeoutExpired:
        worker.kill()


def ask_for(kitchen: Kitchen, pool: str, name: str) -> UUID:
    """A run of a deployment of that recipe."""
    flow = recipe_flow(Catalog([kitchen.recipes]).find(name))
    deployment = RunnerDeployment.from_flow(
        flow, name=pool, work_pool_name=pool, entrypoint_type=EntrypointType.MODULE_PATH
    )
    assert deployment.entrypoint == f"flows.any_recipe.{name}"
    with get_client(sync_client=True) as client:
        return client.create_flow_run_from_deployment(cast("UUID", deployment.apply())).id


def state_of(flow_run_id: UUID) -> str:
    with get_client(sync_client=True) as client:
        return client.read_flow_run(flow_run_id).state_name or ""


def folders(kitchen: Kitchen) -> list[Path]:
    return list(kitchen.home.runs.glob("*-*"))


def test_a_deployment_of_a_users_recipe_runs_in_a_worker(kitchen: Kitchen, pool: str) -> None:
    """It finds the recipe by its name and the home by the settings; the run is like any other."""
    kitchen.write("short", {"only": 'open("a.txt", "w").write("a")'})
    flow_run_id = ask_for(kitchen, pool, "short")
    wait_until(lambda: state_of(flow_run_id) in ("Completed", "Failed", "Crashed"), "the flow run ends")
    assert state_of(flow_run_id) == "Completed"
    (folder,) = folders(kitchen)
    assert kitchen.ran(folder.name).file("a.txt") == b"a"


def test_a_flow_killed_under_a_worker_gives_back_its_sandbox(kitchen: Kitchen, pool: str) -> None:
    """The worker calls the hook for crashes: the session is ended and the attempt recorded as lost, with no other run."""
    kitchen.write("sleeps", {"only": SLEEPS})
    flow_run_id = ask_for(kitchen, pool, "sleeps")
    wait_until(lambda: list(kitchen.home.runs.glob("*-*/tmp/begun.txt")), "the cell begins")
    (folder,) = folders(kitchen)
    os.kill(int(str((folder / "lease").read_text()).partition('"pid": ')[2].partition("}")[0]), signal.SIGKILL)
    wait_until(lambda: state_of(flow_run_id) == "Crashed", "the worker sees it")

    def is_lost() -> bool:
        steps = RunState(read_journal(kitchen.home.folder(RunId(folder.name))).entries).steps.values()
        return [step.done.cause for step in steps] == ["lost"]

    wait_until(is_lost, "the hook records what was lost")
    command = [sys.executable, "-m", "partner", "--home", str(kitchen.home.root), "sandbox", "status", "--json"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert folder.name not in shown
