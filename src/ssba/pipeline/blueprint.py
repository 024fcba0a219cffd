"""What other processes get of an explainer: how to build an engine like its own, and how that is sent."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ssba.engine import Engine
from ssba.errors import ArgumentError, ModelError


@dataclass(frozen=True)
class Blueprint:
    """How to build the engine that `fingerprint` is of, in whichever process it is read."""

    build: Callable[[], Engine]
    fingerprint: str

    def built(self, otherwise: str) -> Engine:
        """Build the engine; one whose model answers otherwise is refused, with what to do instead."""
        engine = self.build()
        if engine.judging.model.fingerprint != self.fingerprint:
            raise ModelError(
                f"{engine.judging.model.name} answers otherwise in another process: model or data were "
                "changed since the explainer was built, or the model does not survive being pickled; "
                f"{otherwise}"
            )
        return engine


def packed(thing: Any, who: str, otherwise: str, dumps: Callable[..., bytes] = pickle.dumps) -> bytes:
    """Return something as it is sent to other processes, which `who` are; what cannot be sent is refused."""
    try:
        return dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
    except ModelError as error:
        raise ArgumentError(f"{who} are other processes, and {error}") from error
    except Exception as error:
        raise ArgumentError(
            f"{who} are other processes, to which this call cannot be sent "
            f"({type(error).__name__}: {error}); {otherwise}"
        ) from error
