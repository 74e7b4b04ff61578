"""How the nodes of a Ray cluster best add up their changes: the object store, ray.util.collective, torch's gloo.

    python benchmarks/transport.py [--nodes 2 4] [--sizes 0.001 1 8 64 256] [--rounds 7]

Every actor, one per node, holds some megabytes of bfloat16; after a round each holds the sum of all.

- store: an actor returns a piece for each other; the owner of a piece adds in float32 and returns the sum to all;
- collective: ray.util.collective.allreduce, which is torch's gloo and rounds to bfloat16 after every addition;
- gloo: torch.distributed itself, all_to_all, the same addition in float32, all_gather.

The ways take turns, with idle actors and with a thread in each that trains without the GIL: the difference from what it
trains in a pause is the training that a round costs. Then an actor is killed, or stopped, in the middle of a round. All
nodes share this machine, so CPU seconds say more than seconds. Results go to benchmarks/results/transport.json.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numba
import numpy as np
import psutil
import ray
from common import describe_run
from ray.cluster_utils import Cluster

RESULTS = Path(__file__).parent / "results" / "transport.json"
WAYS = ("store", "collective", "gloo")
TIMEOUT = 5  # seconds until the group of `gloo` gives up; ray.util.collective has no such option
PATIENCE = 15  # seconds until this program gives up
S16, HALF, ONE = np.uint32(16), np.uint32(0x7FFF), np.uint32(1)


@numba.njit(nogil=True)
def add_pieces(pieces: tuple[np.ndarray, ...]) -> np.ndarray:
    """Add arrays of bfloat16 in float32 and round once, to the nearest (even)."""
    out, bits, sums = np.empty(pieces[0].size, np.uint16), np.zeros(2048, np.uint32), np.empty(2048, np.float32)
    for first in range(0, out.size, bits.size):
        length, floats, raw = min(bits.size, out.size - first), bits.view(np.float32), sums.view(np.uint32)
        sums[:] = 0
        for piece in pieces:
            for i in range(length):
                bits[i] = np.uint32(piece[first + i]) << S16
            for i in range(length):
                sums[i] += floats[i]
        for i in range(length):
            out[first + i] = (raw[i] + HALF + ((raw[i] >> S16) & ONE)) >> S16
    return out


@numba.njit(nogil=True)
def train(rows: np.ndarray, steps: np.ndarray, running: np.ndarray) -> None:
    """Pull rows to distant ones until `running` is 0: memory and arithmetic are used as in training."""
    while running[0]:
        for one in range(1000):
            other = (one * 48_271 + steps[0] * 7_919) % len(rows)
            for i in range(rows.shape[1]):
                rows[other, i] += np.float32(0.01) * (rows[one, i] - rows[other, i])
        steps[0] += 1


class Node:
    """One node's share of the work."""

    def connect(self, rank: int, world: int) -> int:
        import torch.distributed as dist
        from ray.util import collective

        self.rank, self.world, self.steps, self.running = rank, world, np.zeros(1, np.int64), np.zeros(1, np.int64)
        collective.init_collective_group(world, rank, backend="gloo")
        self.group = dist.new_group(backend="gloo", timeout=timedelta(seconds=TIMEOUT))
        return os.getpid()

    def fill(self, megabytes: float) -> None:
        count = int(megabytes * 500_000) // 48 * 48  # all pieces have the same length
        changes = np.random.default_rng(self.rank).standard_normal(count, np.float32)
        self.changes = (changes.view(np.uint32) >> 16).astype(np.uint16)
        self.total = np.zeros_like(self.changes)

    def pieces(self) -> Any:
        return np.split(self.changes, self.world)

    def add(self, *pieces: np.ndarray) -> np.ndarray:
        return add_pieces(pieces)

    def take(self, *sums: np.ndarray) -> None:
        np.concatenate(sums, out=self.total)

    def torch_round(self, way: str) -> None:
        import torch
        import torch.distributed as dist
        from ray.util import collective

        changes, total = (torch.from_numpy(array).view(torch.bfloat16) for array in (self.changes, self.total))
        if way == "collective":
            collective.allreduce(total.copy_(changes))
        else:
            theirs = torch.empty_like(changes)
            dist.all_to_all_single(theirs, changes, group=self.group)
            piece = add_pieces(tuple(np.split(theirs.view(torch.uint16).numpy(), self.world)))
            dist.all_gather_into_tensor(total, torch.from_numpy(piece).view(torch.bfloat16), group=self.group)

    def sample(self) -> list[np.ndarray]:
        both = [(bits[-9600:].astype(np.uint32) << 16).view(np.float32) for bits in (self.changes, self.total)]
        self.total[:] = 0  # else the next way would pass with the sums of this one
        return both

    def busy(self, on: bool) -> None:
        if on:
            work = (np.ones((80_000, 300), np.float32), self.steps, self.running)
            train(*work)  # compiles, and ends at once
            self.thread = threading.Thread(target=train, args=work)
        self.running[0] = on
        self.thread.start() if on else self.thread.join()

    def trained(self) -> int:
        return int(self.steps[0])


def ask_all(actors: list[Any], method: str, *arguments: Any) -> list[Any]:
    """Call the same method of all actors."""
    return [getattr(actor, method).remote(*arguments) for actor in actors]


def start_round(way: str, actors: list[Any]) -> list[Any]:
    """Start a round and return what to wait for."""
    if way != "store":
        return ask_all(actors, "torch_round", way)
    pieces = [actor.pieces.options(num_returns=len(actors)).remote() for actor in actors]
    return ask_all(actors, "take", *(actor.add.remote(*(p[j] for p in pieces)) for j, actor in enumerate(actors)))


def measure_error(way: str, actors: list[Any]) -> float:
    """Measure the largest difference between the result of a round and the sum in float32."""
    ray.get(start_round(way, actors))
    changes, totals = np.array(ray.get(ask_all(actors, "sample"))).swapaxes(0, 1)
    return float(np.max(np.abs(totals - changes.sum(axis=0))))


def observe(way: str, actors: list[Any], processes: dict[str, list[psutil.Process]], repeats: int) -> dict[str, float]:
    """Measure what a round takes and costs; `pause` is a second without one."""

    def state() -> dict[str, float]:
        used = {f"cpu of {name}": sum(sum(each.cpu_times()[:2]) for each in group) for name, group in processes.items()}
        used["megabytes sent"] = psutil.net_io_counters(pernic=True)["lo"].bytes_sent / 1e6
        return used | {"steps": np.mean(ray.get(ask_all(actors, "trained"))), "seconds": time.perf_counter()}

    before = state()
    for _ in range(repeats):
        time.sleep(1) if way == "pause" else ray.get(start_round(way, actors))
    return {name: float(value - before[name]) / repeats for name, value in state().items()}


def compare(actors: list[Any], processes: dict[str, Any], size: float, busy: bool, rounds: int) -> list[dict[str, Any]]:
    """Run all the ways in turn and return median, least and most of what each takes and costs."""
    ray.get(ask_all(actors, "fill", size))
    records = [{"nodes": len(actors), "megabytes": size, "training": busy, "way": way} for way in WAYS]
    for record in records:
        record["error"] = measure_error(record["way"], actors)  # compiles, too
    ray.get(ask_all(actors if busy else [], "busy", True))
    seen, ways = [], [*WAYS, "pause"]
    for _ in range(rounds):
        ways = ways[1:] + ways[:1]
        many = int(min(50, max(1, 16 / size)))
        seen.append({way: observe(way, actors, processes, 1 if way == "pause" else many) for way in ways})
        pause = seen[-1]["pause"]
        for got in seen[-1].values():
            got["times the store"] = got["seconds"] / seen[-1]["store"]["seconds"]
            got["training lost"] = got["seconds"] - got["steps"] / pause["steps"] * pause["seconds"] if busy else 0.0
    ray.get(ask_all(actors if busy else [], "busy", False))
    for record in records:
        for name in pause:
            values = [got[record["way"]][name] for got in seen]
            record[name] = [round(f(values), 4) for f in (median, min, max)]
        print(record, flush=True)
    return records


def lose_actor(actors: list[Any], processes: dict[str, Any], size: float, way: str, how: str) -> dict[str, Any]:
    """Lose an actor in the middle of a round; measure the time until an error and until the others answer."""
    ray.get(ask_all(actors, "fill", size))
    measure_error(way, actors)
    half, waiting = observe(way, actors, {}, 1)["seconds"] / 2, start_round(way, actors)
    time.sleep(half)
    lost, outcome = time.perf_counter(), "no error"
    ray.kill(actors[-1]) if how == "kill" else processes["actors"][-1].suspend()
    try:
        ray.get(waiting, timeout=PATIENCE)
    except ray.exceptions.RayError as failure:
        outcome = f"{type(failure).__name__}: {str(failure).strip().splitlines()[-1]}"[:160]
    record = {"nodes": len(actors), "way": way, "how": how, "outcome": outcome, "seconds": time.perf_counter() - lost}
    answers, _ = ray.wait(ask_all(actors[:-1], "trained"), num_returns=len(actors) - 1, timeout=PATIENCE)
    record |= {"others that answer": len(answers), "after seconds": time.perf_counter() - lost}
    print(record, flush=True)
    if how == "stop":
        processes["actors"][-1].resume()  # so that it can be ended, with all the others
    return record


def run_with_actors(task: Callable[..., Any], nodes: int, raylets: list[psutil.Process], *arguments: Any) -> Any:
    """Do something with new actors, which are killed afterwards."""
    remote_class = ray.remote(Node).options(num_cpus=1, allow_out_of_order_execution=True)
    actors = [remote_class.remote() for _ in range(nodes)]
    pids = ray.get([actor.connect.remote(rank, nodes) for rank, actor in enumerate(actors)])
    result = task(actors, {"actors": [psutil.Process(pid) for pid in pids], "raylets": raylets}, *arguments)
    for actor in actors:
        ray.kill(actor)
    return result


def main() -> None:
    """Start a cluster for every number of nodes, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.001, 1, 8, 64, 256])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    record: dict[str, Any] = {"rounds": [], "lost": [], "about": describe_run(), "load": [os.getloadavg()]}
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_IGNORE_UNHANDLED_ERRORS": "1"}
    for nodes in options.nodes:
        with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as os.environ["RAY_TMPDIR"]:
            cluster = Cluster()
            try:
                started = [cluster.add_node(object_store_memory=2**30, include_dashboard=False) for _ in range(nodes)]
                ray.init(address=cluster.address, log_to_driver=False)
                raylets = [psutil.Process(node.all_processes["raylet"][0].process.pid) for node in started]
                for size, busy in product(options.sizes, (False, True)):
                    record["rounds"] += run_with_actors(compare, nodes, raylets, size, busy, options.rounds)
                for how, way in product(("kill", "stop"), WAYS):
                    record["lost"].append(run_with_actors(lose_actor, nodes, raylets, max(options.sizes), way, how))
            finally:
                ray.shutdown()
                cluster.shutdown()
    record["load"].append(os.getloadavg())
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
