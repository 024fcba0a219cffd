"""Models of the tests of `ssba.run`, in a module of their own so that actors can import them."""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MARK = 1.375
"""What the last column of a row has that a model makes something of."""


def bowl(rows: Any) -> Any:
    return rows[:, 0] + rows[:, 1] ** 2 > 1.5


def mixed(rows: Any) -> Any:
    frame = rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()
    return np.where(frame["a"] + frame["b"] ** 2 + (frame["kind"] == "r") > 0.9, "up", "down")


@dataclass
class Elsewhere:
    """A model that knows the process that it was made in from all others."""

    home: int = field(default_factory=os.getpid)

    def __call__(self, rows: Any) -> Any:
        if os.getpid() != self.home:
            self.away(rows)
        return bowl(rows)

    def away(self, rows: Any) -> None:
        """Do what others shall not see."""


@dataclass
class Killed(Elsewhere):
    """A model whose process is killed when it is asked about a marked row: so many times in all."""

    folder: Path = Path()
    times: int = 1

    def away(self, rows: Any) -> None:
        if (rows[:, 2] == MARK).any() and len(list(self.folder.iterdir())) < self.times:
            (self.folder / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class KilledLater(Elsewhere):
    """A model whose process is killed once, when it was asked so often that it is at work."""

    sign: Path = Path()
    after: int = 15
    calls: int = 0

    def away(self, rows: Any) -> None:
        self.calls += 1
        if self.calls > self.after and not self.sign.exists():
            self.sign.touch()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Noted(Elsewhere):
    """A model that leaves the number of each process that asks it."""

    folder: Path = Path()

    def away(self, rows: Any) -> None:
        (self.folder / str(os.getpid())).touch()


@dataclass
class SeesGpus(Elsewhere):
    """A model that leaves the number of the GPU that it may use."""

    folder: Path = Path()

    def away(self, rows: Any) -> None:
        (self.folder / os.environ["CUDA_VISIBLE_DEVICES"]).touch()


@dataclass
class Otherwise(Elsewhere):
    """A model that answers otherwise elsewhere."""

    def __call__(self, rows: Any) -> Any:
        return bowl(rows) != (os.getpid() != self.home)


@dataclass
class Unlucky:
    """A model that fails for a marked row until it is cured."""

    cured: bool = False

    def __call__(self, rows: Any) -> Any:
        return bowl(rows) if self.cured else fails_on_marked(rows)


def fails_on_marked(rows: Any) -> Any:
    if (rows[:, 2] == MARK).any():
        raise ValueError("no luck")
    return bowl(rows)
