"""Which Ray cluster to train on, and with how many workers."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mumon.errors import OptionError, one_line
from mumon.utils.validation import finite_number, whole_number

if TYPE_CHECKING:
    from mumon.corpus import EncodedCorpus, TextOptions
    from mumon.distributed.corpus import DistributedCorpus
    from mumon.utils.progress import Progress

RESERVE = 0.05  # of a CPU: a worker leaves as much for Ray to encode again what a lost node held
GRACE = 30.0  # seconds that a worker may take to come back before the others go on without it


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster to train on: `Word2Vec(..., backend=Cluster("auto"))`, or for that just `backend="ray"`.

    Parameters
    ----------
    address
        "local" starts Ray on this machine for as long as training takes; "auto" finds the cluster that this machine is
        part of, or is told of by RAY_ADDRESS; else its HOST:PORT. A program that is connected already stays so.
    workers
        Nodes to train on; by default all that the cluster has, those included that join it between epochs.
    threads
        Of each worker; by default the CPUs of the smallest node.
    sync_every
        Tokens that each worker trains between two exchanges of the most frequent words; by default chosen by the size
        of the vocabulary and of the text.
    grace
        Seconds to wait for a lost worker, which Ray starts again, before the others go on without it.

    Examples
    --------
    >>> from mumon.distributed import Cluster
    >>> Cluster("local", workers=2)
    Cluster(address='local', workers=2, threads=None, sync_every=None, grace=30.0)
    """

    address: str = "auto"
    workers: int | None = None
    threads: int | None = None
    sync_every: int | None = None
    grace: float = GRACE

    def __post_init__(self) -> None:
        for name in ("workers", "threads", "sync_every"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))
        finite_number("grace", self.grace, least=0)
        if not isinstance(self.address, str) or not self.address or self.address.startswith("ray://"):
            raise OptionError(
                f"the address of the cluster is {self.address!r}; name local, auto or HOST:PORT, on a machine of the "
                "cluster (from elsewhere: ray job submit)"
            )

    @classmethod
    def of(cls, backend: Any) -> Cluster:
        """What an argument `backend=` asks for."""
        if isinstance(backend, cls):
            return backend
        if backend == "ray":
            return cls()
        raise OptionError(f"backend is {backend!r}; it must be 'ray', a Cluster, or left out to train on this machine")

    @property
    def plan(self) -> dict[str, Any]:
        """What of it an unfinished run must have in common with the one that goes on."""
        return {"backend": "ray"} | ({} if self.sync_every is None else {"sync_every": self.sync_every})

    @contextlib.contextmanager
    def connected(self, progress: Progress) -> Iterator[Any]:
        """Ray, connected to the cluster; left again if nobody else had connected before."""
        ray = import_ray()
        if ray.is_initialized():
            with _quiet(printing=True):
                yield ray
            return
        self._check_address()
        own = {"num_cpus": self._local_cpus(), "include_dashboard": False} if self.address == "local" else {}
        progress.note("starting Ray …" if own else f"connecting to the Ray cluster at {self.address} …")
        try:
            with _quiet():
                ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, **own)
        except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
            raise self._nobody(error) from None
        try:
            with _quiet():
                yield ray
        finally:
            ray.shutdown()

    def _check_address(self) -> None:
        """Ask whether anybody is there at all: Ray itself would wait for minutes, and complain meanwhile."""
        host, _, port = self.address.rpartition(":")
        if host and port.isdecimal():
            try:
                socket.create_connection((host, int(port)), timeout=5).close()
            except (OSError, OverflowError) as error:
                raise self._nobody(error) from None

    def _nobody(self, error: Exception) -> OptionError:
        return OptionError(
            f"no Ray cluster answers at {self.address!r} ({one_line(error, 80)}); start one with ray start, or use "
            "--ray local (address='local')"
        )

    def _local_cpus(self) -> int:
        from mumon.utils.threads import available_cores

        return max(available_cores(), (self.workers or 1) * (self.threads or 1))

    def nodes(self, ray: Any) -> int:
        """How many nodes there are to train on."""
        return sum(node["Alive"] and node["Resources"].get("CPU", 0) >= 1 for node in ray.nodes())

    def wanted(self, ray: Any) -> int:
        """How many workers there should be now."""
        return max(self.nodes(ray), 1) if self.workers is None else self.workers

    def threads_of(self, ray: Any) -> int:
        """Threads of each worker: if several must share a node, they share its CPUs."""
        if self.threads is not None:
            return self.threads
        cpus = [int(n["Resources"]["CPU"]) for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= 1]
        if not cpus:
            raise OptionError("the cluster has 0 nodes with a CPU; add one (ray start --num-cpus)")
        per_node = -(-self.wanted(ray) // len(cpus))
        return max(1, min(cpus) // per_node)

    def read(
        self, files: Sequence[str | os.PathLike[str]], options: TextOptions, progress: Progress
    ) -> DistributedCorpus:
        """Encode files on the cluster, which must be able to read them."""
        from mumon.distributed.corpus import encode_on_cluster

        return encode_on_cluster(files, options, progress)

    def hand_out(self, corpus: EncodedCorpus) -> DistributedCorpus:
        """Give the cluster what this machine has encoded."""
        from mumon.distributed.corpus import hand_out

        return hand_out(corpus)


@contextlib.contextmanager
def _quiet(printing: bool = False) -> Iterator[None]:
    """Keep Ray from telling users at length of losses that are mended; from `printing` only if we have connected."""
    private: Any = sys.modules.get("ray._private.worker")
    printer, ignored, log = "print_to_stdstream", "RAY_IGNORE_UNHANDLED_ERRORS", logging.getLogger("ray")
    before = getattr(private, printer, None), os.environ.get(ignored), log.level
    if before[0] is not None and not printing:  # it prints to standard output, and there is no switch for it
        setattr(private, printer, lambda *_, **__: None)
    os.environ.setdefault(ignored, "1")
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        if before[0] is not None:
            setattr(private, printer, before[0])
        if before[1] is None:
            os.environ.pop(ignored, None)
        log.setLevel(before[2])


def import_ray() -> Any:
    """Ray, or the sentence that says how to get it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or it warns of what it will change some day
    try:
        import ray
    except ImportError:
        raise OptionError("training on a cluster needs Ray, which is not installed: pip install 'mumon[ray]'") from None
    return ray
