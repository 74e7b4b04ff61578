"""Memory: what the machine has free, and what limits of the process leave of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mumon.utils import memory
from mumon.utils.memory import available_memory

MB = 1 << 20


def write_files(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


V2 = {"proc/self/cgroup": "0::/job/step\n", "sys/fs/cgroup/job/step/memory.max": "max\n"}
LIMITS = {
    "what is free": ({}, 500),
    "version 2, the group above": (
        V2
        | {
            "sys/fs/cgroup/job/memory.max": f"{300 * MB}\n",
            "sys/fs/cgroup/job/memory.current": f"{250 * MB}\n",
            "sys/fs/cgroup/job/memory.stat": f"anon 7\ninactive_file {50 * MB}\n",
        },
        100,
    ),
    "version 2, seen from inside a container": (
        {"proc/self/cgroup": "0::/\n"}
        | {"sys/fs/cgroup/memory.max": f"{80 * MB}", "sys/fs/cgroup/memory.current": f"{20 * MB}"},
        60,
    ),
    "version 1": (
        {
            "proc/self/cgroup": "5:cpu:/\n4:memory,hugetlb:/not/in/this/container\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{64 * MB}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{65 * MB}\n",
            "sys/fs/cgroup/memory/memory.stat": f"total_inactive_file {3 * MB}\n",
        },
        2,
    ),
    "a group beyond its limit": (
        {"proc/self/cgroup": "0::/\n"}
        | {"sys/fs/cgroup/memory.max": f"{8 * MB}", "sys/fs/cgroup/memory.current": f"{20 * MB}"},
        0,
    ),
}


@pytest.mark.parametrize("case", LIMITS)
def test_the_least_of_all_limits_counts(tmp_path, monkeypatch, case):
    files, megabytes = LIMITS[case]
    write_files(tmp_path, files)
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=500 * MB))
    assert available_memory(tmp_path) == megabytes * MB


def test_where_the_system_does_not_say_nothing_is_known(tmp_path, monkeypatch):
    assert available_memory(tmp_path) > 0
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: (_ for _ in ()).throw(OSError("no /proc")))
    assert available_memory(tmp_path) is None
