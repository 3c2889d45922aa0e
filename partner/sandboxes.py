"""The sandbox that the settings ask for."""

from collections.abc import Callable

from partner.settings import Settings
from recipes.library import library
from sandbox import HostSettings, Limits, LocalJail

MEBIBYTE = 1 << 20


def jail(settings: Settings, say: Callable[[str], None] | None = None) -> LocalJail:
    host = HostSettings(
        session_idle_s=settings.session_idle_s,
        host_idle_s=settings.host_idle_s,
        landlock_abi_max=settings.sandbox_landlock_abi_max,
        use_namespaces=settings.sandbox_namespaces,
        use_cgroups=settings.sandbox_cgroups,
    )
    return LocalJail(settings.home, host, settings.sandbox_environment, say, library())


def limits(settings: Settings) -> Limits:
    return Limits(
        timeout_s=settings.cell_timeout_s,
        memory_bytes=settings.cell_memory_mb * MEBIBYTE,
        processes=settings.cell_processes,
        open_files=settings.cell_open_files,
        file_bytes=settings.cell_file_mb * MEBIBYTE,
        disk_bytes=settings.cell_disk_mb * MEBIBYTE,
        output_bytes=settings.cell_output_kb * 1024,
        display_bytes=settings.cell_display_kb * 1024,
        cpu_s=settings.cell_cpu_s,
        cpus=settings.cell_cpus,
    )
