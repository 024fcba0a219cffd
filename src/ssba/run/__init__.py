"""Large jobs in pieces of a fixed size: any number of machines may share them, and any may drop out.

`on_ray` has actors on a Ray cluster do it, `locally` this process: the same calls, and the same files to the
last byte. See ``docs/clusters.md``.
"""

from typing import Any

from ssba.arguments import instance, number, whole
from ssba.errors import ArgumentError
from ssba.explainer import Explainer, Inside
from ssba.extras import require
from ssba.run.crews import Actors, Here, OnRay
from ssba.run.runner import Output, Runner, Written

__all__ = ["Output", "Runner", "Written", "locally", "on_ray"]

_GIVE = "give an ssba.Explainer"


def on_ray(
    explainer: Explainer,
    address: str | None = None,
    *,
    actors: int | None = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    chunk: int = 512,
    progress: bool | None = None,
) -> Runner:
    """Have actors on a Ray cluster fill indexes and explain files (extra ``ray``).

    Each actor builds an engine once, from what the explainer was built from, and must find that its model
    answers as this one does. What an actor was at that is lost is begun anew by another one.

    Parameters
    ----------
    explainer : Explainer
        Its model must survive being pickled, and every node needs the modules that it is made of.
    address : str, optional
        ``"auto"`` or ``"HOST:PORT"`` of a cluster; one without room for the actors is waited for. Without it,
        a cluster that is started on this machine, listens to it alone and ends with the runner. Where this
        process has called ``ray.init`` already, that cluster is used and left running.
    actors : int, optional
        How many actors; by default as many as the cluster has room for when the work begins.
    num_cpus, num_gpus : float
        What each actor takes of the cluster. A model is used on the device that it lies on: move it to
        ``"cuda"`` before the explainer is built, and give ``num_gpus=1``, for an actor on every GPU.
    chunk : int
        How many rows of a file are explained together, and lost at most when an actor is.
    progress : bool, optional
        Whether to show progress bars; by default in a terminal or notebook only.

    Examples
    --------
    .. code-block:: python

        with ssba.run.on_ray(explainer, "auto", num_gpus=1) as cluster:
            points = cluster.sample_boundary(10_000_000, path="heart.boundary")
            cluster.explain_many("patients.parquet", ["age >= x.age"], out="answers.parquet", boundary=points)
    """
    require("ray", "ray", "ssba.run.on_ray")
    instance("explainer", explainer, Explainer, _GIVE)
    if address is not None:
        instance("address", address, str, 'give "auto" or "HOST:PORT", or leave it out')
    count = None if actors is None else whole("actors", actors, at_least=1, at_most=100_000)
    takes = Actors(count, _share("num_cpus", num_cpus), _share("num_gpus", num_gpus))
    if not takes.num_cpus and not takes.num_gpus:
        raise ArgumentError("num_cpus and num_gpus are both 0; give an actor something to work with")
    inside = Inside(explainer)
    _refuse_no_gpu(inside, takes)
    return Runner(inside, OnRay(inside, address, takes), _chunk(chunk), progress)


def locally(explainer: Explainer, *, chunk: int = 512, progress: bool | None = None) -> Runner:
    """Fill indexes and explain files in this process, in the pieces and with the results of a cluster.

    `chunk` and `progress` are those of `on_ray`.

    >>> import numpy as np, ssba
    >>> data = np.random.default_rng(0).normal(size=(200, 2))
    >>> def model(rows):
    ...     return rows[:, 0] + rows[:, 1] > 1
    >>> runner = ssba.run.locally(ssba.Explainer(model, data, target=True))
    >>> runner.sample_boundary(500)
    <BoundarySet of 500 points toward True, from 500 of ... pairs>
    """
    instance("explainer", explainer, Explainer, _GIVE)
    inside = Inside(explainer)
    return Runner(inside, Here(inside), _chunk(chunk), progress)


def _chunk(given: Any) -> int:
    return whole("chunk", given, at_least=1)


def _share(who: str, value: Any) -> float:
    """Return how much of a resource an actor takes: Ray deals in whole ones, or in parts of a single one."""
    given = number(who, value, "0, a part of 1 or a whole number")
    if given < 0 or (given > 1 and given != int(given)):
        raise ArgumentError(f"{who} is {value!r:.80}; give 0, a part of 1 or a whole number")
    return given


def _refuse_no_gpu(inside: Inside, takes: Actors) -> None:
    on_device = inside.engine.judging.model.on_device
    place = "cpu" if on_device is None else on_device.place()[0]
    if place.startswith("cuda") and not takes.num_gpus:
        raise ArgumentError(
            f"the model lies on {place}, and actors without a GPU cannot read it; give num_gpus=1, or a part "
            'of it, or move the model to "cpu" and build the explainer anew'
        )
