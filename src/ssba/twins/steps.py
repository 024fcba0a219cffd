"""The steps before a model's last one, as layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import nn

from ssba.twins.layers import OneHot, Shifted, SideBySide, Stretched
from ssba.whitebox.check_reading import NotReadable
from ssba.whitebox.structure import is_idle


def layers_of(steps: Sequence[Any], width: int) -> tuple[nn.Module, int]:
    """Return a layer that does what the steps do to rows of `width` columns, and how many they return."""
    layers = []
    for step in steps:
        layer, width = _layer(step, width)
        layers.append(layer)
    return nn.Sequential(*layers), width


def _layer(step: Any, width: int) -> tuple[nn.Module, int]:
    if is_idle(step):
        return nn.Identity(), width
    package, kind = type(step).__module__.partition(".")[0], type(step).__name__
    match kind if package == "sklearn" else "":
        case "Pipeline":
            return layers_of([one for _, one in step.steps], width)
        case "ColumnTransformer":
            return _side_by_side(step)
        case "StandardScaler":
            # The mean is kept whether it is used or not.
            return Shifted(*_or_plain(step.mean_ if step.with_mean else None, step.scale_, width)), width
        case "RobustScaler":
            return Shifted(*_or_plain(step.center_, step.scale_, width)), width
        case "MaxAbsScaler" if not getattr(step, "clip", False):
            return Shifted(*_or_plain(None, step.scale_, width)), width
        case "MinMaxScaler":
            return Stretched(step.min_, step.scale_, step.feature_range if step.clip else None), width
        case "OneHotEncoder":
            categories = _categories(step)
            return OneHot(categories), sum(map(len, categories))
    raise NotReadable(f"the step {kind} in the pipeline is of no kind that is known")


def _or_plain(shift: Any, scale: Any, width: int) -> tuple[Any, Any]:
    return np.zeros(width) if shift is None else shift, np.ones(width) if scale is None else scale


def _side_by_side(step: Any) -> tuple[nn.Module, int]:
    layers, columns, width = [], [], 0
    for name, one, _ in step.transformers_:
        # Names, slices and masks, as columns were chosen by when the step was fitted, are numbers here.
        chosen = list(step._transformer_to_input_indices[name])
        if one == "drop" or not chosen:
            continue
        layer, made = _layer(one, len(chosen))
        layers.append(layer)
        columns.append(chosen)
        width += made
    return SideBySide(layers, columns), width


def _categories(step: Any) -> list[list[float]]:
    """Return the categories that have a column, for each input."""
    if step.min_frequency is not None or step.max_categories is not None:
        raise NotReadable("the step OneHotEncoder in the pipeline puts rare categories together")
    dropped = step.drop_idx_ if step.drop_idx_ is not None else [None] * len(step.categories_)
    return [_kept(mine, drop) for mine, drop in zip(step.categories_, dropped, strict=True)]


def _kept(categories: Any, dropped: int | None) -> list[float]:
    if np.asarray(categories).dtype.kind not in "fiub":
        raise NotReadable(
            "the step OneHotEncoder in the pipeline was fitted on text; fit the pipeline on codes of the "
            "categories, such as 0, 1 and 2"
        )
    return [float(one) for i, one in enumerate(categories) if i != dropped]
