"""Which Ray cluster to train on, and how to connect to it."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mumon.errors import OptionError, to_one_line
from mumon.utils.progress import Progress
from mumon.utils.validation import check_float, check_integer

RESERVED_CPUS = 0.05  # that training leaves on each node, so that Ray can encode there again what a lost node held
GRACE_SECONDS = 30.0  # that a lost node has to come back before the others continue without it
MOST_NODES = 1_024  # more is a typing error


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster to train on: `Word2Vec(..., backend=Cluster("auto"))`, or `backend="ray"` for short.

    Parameters
    ----------
    address
        "local" starts Ray on this machine for as long as training takes. "auto" finds the cluster that this machine
        belongs to, or the one that RAY_ADDRESS names. Anything else is the cluster's HOST:PORT. A program that is
        already connected to Ray keeps its connection.
    nodes
        How many nodes train; by default all that the cluster has, including those that join between epochs. If the
        cluster has fewer machines, some train as several nodes.
    workers
        Threads of each node; by default the CPUs of the smallest machine.
    sync_every
        Tokens that each node trains between two exchanges of the most frequent words; the default depends on the size
        of the vocabulary and of the text.
    grace
        Seconds to wait for Ray to restart a lost node before the others continue without it.

    Raises
    ------
    OptionError
        If a number is out of range, or the address is empty or that of a Ray client (ray://).

    Examples
    --------
    >>> from mumon.distributed import Cluster
    >>> Cluster("local", nodes=2)
    Cluster(address='local', nodes=2, workers=None, sync_every=None, grace=30.0)
    """

    address: str = "auto"
    nodes: int | None = None
    workers: int | None = None
    sync_every: int | None = None
    grace: float = GRACE_SECONDS

    def __post_init__(self) -> None:
        for name, most in (("nodes", MOST_NODES), ("workers", None), ("sync_every", None)):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), most=most)
        check_float("grace", self.grace, least=0)
        if not isinstance(self.address, str) or not self.address or self.address.startswith("ray://"):
            raise OptionError(
                f"the address of the cluster is {self.address!r}; it must be local, auto or HOST:PORT, on a machine of "
                "the cluster (from elsewhere, use ray job submit)"
            )

    @classmethod
    def from_backend(cls, backend: Any) -> Cluster:
        """Return the cluster that an argument `backend=` names.

        Parameters
        ----------
        backend
            A `Cluster`, or "ray" for the default one.

        Returns
        -------
        Cluster
            The cluster to train on; it is not connected yet.
        """
        if isinstance(backend, cls):
            return backend
        if backend == "ray":
            return cls()
        raise OptionError(f"backend is {backend!r}; it must be 'ray', a Cluster, or left out to train on this machine")

    @property
    def plan(self) -> dict[str, Any]:
        """The options that a run must still have when it resumes."""
        return {"backend": "ray"} | ({} if self.sync_every is None else {"sync_every": self.sync_every})

    @contextlib.contextmanager
    def connect(self, progress: Progress) -> Iterator[Any]:
        """Connect to the cluster, and disconnect at the end unless the program was already connected.

        Parameters
        ----------
        progress
            Where to say that Ray starts.

        Returns
        -------
        context manager
            Its value is the module `ray`.
        """
        ray = import_ray()
        if ray.is_initialized():
            with _silence_ray(printing=True):
                yield ray
            return
        self._check_address()
        own = {"num_cpus": self._local_cpus(), "include_dashboard": False} if self.address == "local" else {}
        progress.note("starting Ray …" if own else f"connecting to the Ray cluster at {self.address} …")
        try:
            with _silence_ray():
                ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, **own)
        except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
            raise self._no_answer(error) from None
        try:
            with _silence_ray():
                yield ray
        finally:
            ray.shutdown()

    def _check_address(self) -> None:
        """Check that something listens at HOST:PORT: Ray itself would wait for minutes and print complaints."""
        host, _, port = self.address.rpartition(":")
        if host and port.isdecimal():
            try:
                socket.create_connection((host, int(port)), timeout=5).close()
            except (OSError, OverflowError) as error:
                raise self._no_answer(error) from None

    def _no_answer(self, error: Exception) -> OptionError:
        return OptionError(
            f"no Ray cluster answers at {self.address!r} ({to_one_line(error, 80)}); start one with ray start, or use "
            "--ray local (address='local')"
        )

    def _local_cpus(self) -> int:
        from mumon.utils.threads import available_cores

        return max(available_cores(), (self.nodes or 1) * (self.workers or 1))

    def choose_nodes(self, ray: Any) -> int:
        """Return how many nodes should train now: as many as asked for, or one for each machine with a CPU."""
        return max(len(_read_cpus(ray)), 1) if self.nodes is None else self.nodes

    def choose_workers(self, ray: Any) -> int:
        """Return how many threads each node should have; nodes on one machine share its CPUs."""
        if self.workers is not None:
            return self.workers
        cpus = _read_cpus(ray)
        if not cpus:
            raise OptionError("the cluster has 0 machines with a CPU; add one (ray start --num-cpus)")
        nodes_per_machine = -(-self.choose_nodes(ray) // len(cpus))
        return max(1, min(cpus) // nodes_per_machine)


def _read_cpus(ray: Any) -> list[int]:
    """Return the CPUs of each machine of the cluster that is alive and has at least one."""
    return [int(n["Resources"]["CPU"]) for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= 1]


@contextlib.contextmanager
def _silence_ray(printing: bool = False) -> Iterator[None]:
    """Keep Ray from reporting losses that we repair; with `printing`, leave alone what it prints for a program."""
    private: Any = sys.modules.get("ray._private.worker")
    printer, ignored, log = "print_to_stdstream", "RAY_IGNORE_UNHANDLED_ERRORS", logging.getLogger("ray")
    before = getattr(private, printer, None), os.environ.get(ignored), log.level
    if before[0] is not None and not printing:  # it prints to standard output, and has no switch for it
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
    """Return the module `ray`, or say in one sentence how to install it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of a future change
    try:
        import ray
    except ImportError:
        raise OptionError("training on a cluster needs Ray, which is not installed: pip install 'mumon[ray]'") from None
    return ray
