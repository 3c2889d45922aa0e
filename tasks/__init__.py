"""One tool call as a Prefect task: attempts, cache, and the hooks that record and judge."""
