"""What no query changes: columns, model, metric, target and background rows of one explainer."""

from ssba.engine.engine import Engine, Settings, build_engine

__all__ = ["Engine", "Settings", "build_engine"]
