"""A Dask cluster in place of worker processes: `using_cluster("tcp://host:8786")`, or "local:2" for two processes here.

What is sent to the workers is kept by Dask's scheduler, so that another worker can do the work of one that died. Needs
the package distributed, the extra [cluster].
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import numba

from bayestopics.base.problems import InputError
from bayestopics.base.progress import be_silent

SECONDS = 30  # to wait for the scheduler, and for its first worker

_current: Cluster | None = None


class Cluster:
    """A client of a Dask cluster whose workers have one thread each for Dask; kernels may use more."""

    def __init__(self, client: Any, threads: int | None) -> None:
        self.client, self.threads = client, threads

    @property
    def workers(self) -> int:
        return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def held(self, *values: Any) -> Any:
        """A future of these values, as a tuple, that another worker can make again from the scheduler's copy."""
        return self.client.submit(_received, *values, pure=False)

    def submit(self, function: Callable, *arguments: Any) -> Any:
        """A future of function(*arguments); arguments may be futures."""
        return self.client.submit(function, *arguments, pure=False)


def current() -> Cluster | None:
    """The cluster of the block `using_cluster` around this call."""
    return _current


@contextmanager
def using_cluster(address: str | None) -> Iterator[None]:
    """Within this block, work that would go to worker processes goes to the cluster; None changes nothing.

    Parameters
    ----------
    address : str or None
        The address of a Dask scheduler, such as ``"tcp://10.0.0.1:8786"``, or ``"local:2"`` for two processes on this
        machine.

    Examples
    --------
    >>> import bayestopics
    >>> corpus = bayestopics.simulate(documents=5, length=5, terms=4, topics=2, seed=1)
    >>> with bayestopics.using_cluster(None):  # for example "tcp://10.0.0.1:8786"
    ...     found = bayestopics.fit(corpus, topics=2, sweeps=5, burn_in=0, chains=1)
    >>> len(found.log_joint[0])
    5
    """
    global _current
    if address is None:
        yield
        return
    with _opened(address) as cluster:
        _current, before = cluster, _current
        try:
            yield
        finally:
            _current = before


@contextmanager
def _opened(address: str) -> Iterator[Cluster]:
    kind, _, number = address.partition(":")
    if kind == "local" and (not number.isascii() or not number.isdigit() or not 0 < int(number) <= 1000):
        raise InputError(f"the cluster {address!r} needs a number of workers from 1 to 1000, as in local:2")
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("a cluster needs the package distributed: pip install 'bayestopics[cluster]'") from None
    quiet = {"distributed.admin.large-graph-warning-threshold": "1TB", "distributed.comm.timeouts.connect": SECONDS}
    with dask.config.set(quiet):
        if kind == "local":
            workers = int(number)
            threads = max(1, numba.get_num_threads() // workers)
            place = {"dashboard_address": None, "host": "127.0.0.1", "silence_logs": 50}
            with LocalCluster(n_workers=workers, threads_per_worker=1, **place) as local, Client(local) as client:
                yield Cluster(client, threads)
            return
        try:
            client = Client(address, timeout=SECONDS)
            client.wait_for_workers(1, timeout=SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            said = " ".join(str(error).split())
            raise InputError(f"the cluster {address} cannot be reached, or has no workers ({said})") from None
        with client:
            if any(threads > 1 for threads in client.nthreads().values()):
                raise InputError(
                    f"the cluster {address} has workers with several threads: start them with --nthreads 1"
                )
            yield Cluster(client, None)


@contextmanager
def cluster_pool(cluster: Cluster, shared: tuple[Any, ...], renewed: Callable) -> Iterator[Callable[..., Future]]:
    """`base.processes.pool`, on the cluster: submit(function, *arguments) runs function(*shared, *arguments)."""
    from distributed import KilledWorker

    values, executor = cluster.held(*shared), cluster.client.get_executor(pure=False)

    def submit(function: Callable, *arguments: Any) -> Future:
        return executor.submit(_call, function, values, renewed, os.getpid(), *arguments)

    try:
        yield submit
    except KilledWorker as error:
        raise InputError(f"workers of the cluster died, perhaps because memory ran out ({error})") from None
    finally:
        executor.shutdown(wait=False)  # and cancel what has not begun


# -- in a worker -----------------------------------------------------------------------------------


def _received(*values: Any) -> tuple[Any, ...]:
    return values


def _call(function: Callable, shared: tuple[Any, ...], renewed: Callable, client: int, *arguments: Any) -> Any:
    if os.getpid() != client:
        be_silent()
    return function(*map(renewed, shared), *arguments)
