"""Models of `test_sharing`, in a module of their own so that other processes can import them."""

import os
import signal
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def mixed(rows: pd.DataFrame) -> Any:
    return np.where(rows["a"] + rows["b"] ** 2 + (rows["kind"] == "r") > 0.9, "up", "down")


def is_worker() -> bool:
    return parent_process() is not None


def bowl(rows: Any) -> Any:
    return rows[:, 0] + rows[:, 1] ** 2 > 1.5


@dataclass
class Killed:
    """A model whose process is killed when it is asked in a worker: so many times in all."""

    folder: Path
    times: int

    def __call__(self, rows: Any) -> Any:
        if is_worker():
            killed = len(list(self.folder.iterdir()))
            if killed < self.times:
                (self.folder / str(os.getpid())).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return bowl(rows)


@dataclass
class Noted:
    """A model that leaves a sign when it is asked in a worker."""

    sign: Path

    def __call__(self, rows: Any) -> Any:
        if is_worker():
            self.sign.touch()
        return bowl(rows)


def otherwise_in_workers(rows: Any) -> Any:
    return bowl(rows) != is_worker()


def fails_on_large(rows: Any) -> Any:
    if (rows[:, 0] > 50).any():
        raise ValueError("too large")
    return bowl(rows)
