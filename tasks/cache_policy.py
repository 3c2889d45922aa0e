"""How Prefect caches our tasks: under the key that was found before the call, once, and locked while it is done."""

from dataclasses import dataclass
from typing import Any

from prefect.cache_policies import CachePolicy
from prefect.context import TaskRunContext

from tasks.lock_manager import FlockLockManager


@dataclass
class GivenKey(CachePolicy):
    """The task's own parameter `key`.

    It is computed in ordinary code before the call: an error in here would only switch caching off, without a word.
    """

    def compute_key(
        self,
        task_ctx: TaskRunContext,  # noqa: ARG002  (Prefect calls it by name)
        inputs: dict[str, Any],
        flow_parameters: dict[str, Any],  # noqa: ARG002  (likewise)
        **_more: Any,
    ) -> str | None:
        return inputs.get("key")


def cache_policy(locks: FlockLockManager) -> GivenKey:
    """Simultaneous calls under one key run once: the others wait for the result."""
    return GivenKey(isolation_level="SERIALIZABLE", lock_manager=locks)
