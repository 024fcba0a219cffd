"""What the tests of this folder share: a plane in random numbers, and engines around it."""

from typing import Any

import numpy as np

from ssba.engine import Engine, Settings, build_engine

X = np.random.default_rng(0).normal(size=(200, 3))


def plane(rows: Any) -> Any:
    return np.asarray(rows)[:, 0] > 0.5


def engine(model: Any = plane, data: Any = X, **settings: Any) -> Engine:
    return build_engine(model, data, Settings(**{"target": True, **settings}))
