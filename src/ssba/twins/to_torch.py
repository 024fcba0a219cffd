"""The way to a twin: what the user calls. Torch is imported by what is imported in here, and not before."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ssba.arguments import came
from ssba.columns.frames import is_frame, read_columns
from ssba.columns.space import Matrix, Space, build_space
from ssba.errors import ArgumentError, ModelError, SchemaError
from ssba.extras import require
from ssba.models.calls import Needs
from ssba.models.model import adapt
from ssba.models.tensors import is_torch_module
from ssba.models.twin import Agreement, original_of
from ssba.whitebox.check_reading import NotReadable, sent_through, the_users_code
from ssba.whitebox.structure import take_apart

if TYPE_CHECKING:
    import torch

    from ssba.twins.twin import Twin

# Background rows that are compared; and the share of them on which a twin may answer otherwise.
_MOST_ROWS, _MOST_DIFFERING = 10_000, 0.01
_SUPPORTED = (
    "linear models; SVC, NuSVC, SVR and NuSVR with the kernels linear, poly, rbf and sigmoid; MLPClassifier "
    "and MLPRegressor; DecisionTree, ExtraTree, RandomForest, ExtraTrees, GradientBoosting and "
    "HistGradientBoosting; XGBoost and LightGBM; and pipelines of these behind StandardScaler, MinMaxScaler, "
    "MaxAbsScaler, RobustScaler, OneHotEncoder and ColumnTransformer"
)


def to_torch(
    estimator: Any,
    data: Any,
    *,
    device: "torch.device | str | None" = None,
    dtype: "torch.dtype | None" = None,
) -> "Twin":
    """Make a torch module of a fitted scikit-learn, XGBoost or LightGBM model, so that it runs on a GPU.

    An `Explainer` of the module searches with it, and has every answer verified by `estimator` itself.

    Parameters
    ----------
    estimator
        A fitted model; ``docs/gpu.md`` has the list of those that are known. It is asked, never changed.
    data
        Background rows as the model takes them, all of numbers: a frame or a 2-D array. The module's answers
        are compared with the model's on them, and on rows beside its boundary.
    device : optional
        Where the module computes, such as ``"cuda"``; on the processor without it.
    dtype : optional
        What it computes in: ``torch.float64``, unless another one is given. ``torch.float32`` is quicker on
        most devices, and differs from the model beside the boundary. Trees compare as the model does with
        either.

    Returns
    -------
    torch.nn.Module
        In eval mode, from rows [n, columns] to scores [n, classes] in the order of its `classes`, or to
        numbers [n]. Its `agreement` says how many rows were compared, and on how many labels differ;
        `original` is the model.

    Raises
    ------
    ArgumentError
        Torch cannot use the device, or the dtype is none of real numbers.
    ModelError
        The model is of no known kind, or the module disagrees with it on more than 1% of the background rows.

    Examples
    --------
    >>> import numpy as np, ssba
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> twin = ssba.to_torch(forest, X)
    >>> twin.classes, twin.agreement.rows, twin.agreement.differing
    ((False, True), 200, 0)
    """
    require("torch", "torch", "ssba.to_torch")
    name = type(estimator).__name__
    if isinstance(estimator, type):
        raise ModelError(f"{estimator.__name__} is a class, not a model: give a fitted object of it")
    if is_torch_module(estimator):
        raise ModelError(f"{name} is a torch module already: give it to ssba.Explainer as it is")
    _refuse_target(device, dtype)
    _refuse_text(estimator, data)
    space, Z = build_space(data)
    background = _asked_about(estimator, space, Z)
    try:
        twin = _built(estimator, space, background)
    except NotReadable as reason:
        raise ModelError(
            f"ssba.to_torch cannot make a torch module of {name}: {reason}. It knows {_SUPPORTED}"
        ) from reason
    twin.to(device=device, dtype=dtype)
    twin.agreement = _checked(twin, name, space, background)
    return twin


def _asked_about(estimator: Any, space: Space, Z: Matrix) -> Matrix:
    """Return the rows to compare on; those with missing cells only where the model takes them.

    It is asked before it is read: that a model was not fitted is told by its own error.
    """
    rows = Z[np.unique(np.linspace(0, len(Z) - 1, min(len(Z), _MOST_ROWS)).astype(np.int64))]
    complete = rows[~np.isnan(rows).any(axis=1)]
    if 0 < len(complete) < len(rows):
        try:
            adapt(estimator, space.decode(rows))
            return rows
        except ModelError:
            rows = complete
    adapt(estimator, space.decode(rows[:1]))
    return rows


def _refuse_target(device: Any, dtype: Any) -> None:
    """Refuse a device that torch cannot use here, and what is no dtype of real numbers, before any work."""
    import torch

    if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise ArgumentError(
            f"dtype is {dtype!r:.80}; give a torch dtype of real numbers, such as torch.float32"
        )
    try:
        torch.zeros(1, device=device).cpu()
    # Without CUDA torch raises an AssertionError.
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0].rstrip(". ")
        raise ArgumentError(
            f"device is {came(device)}, which torch cannot use here ({reason:.200}); give one that it can, "
            "such as 'cpu', or 'cuda' where torch.cuda.is_available()"
        ) from None


def _refuse_text(estimator: Any, data: Any) -> None:
    columns = read_columns(data)
    for column in columns:
        if column.family not in ("boolean", "integer", "float"):
            raise SchemaError(
                f"column {column.name!r} holds {column.dtype}, and a torch module takes numbers: write codes "
                "in its place, fit the model on them (a OneHotEncoder in its pipeline reads codes as well), "
                "and give the same data here and to ssba.Explainer"
            )
    fitted = [str(one) for one in getattr(estimator, "feature_names_in_", ())]
    given = [column.name for column in columns]
    if is_frame(data) and fitted and fitted != given:
        raise SchemaError(
            f"the columns of data are {given}, but {type(estimator).__name__} was fitted on {fitted}; give "
            "them in this order"
        )


def _built(estimator: Any, space: Space, background: Matrix) -> "Twin":
    from torch import nn

    from ssba.twins.heads import head_of
    from ssba.twins.steps import layers_of
    from ssba.twins.twin import Twin

    parts = take_apart(estimator)
    if parts.threshold is not None:
        raise NotReadable("it decides by a threshold of its own")
    width = len(space.features)
    steps, _ = layers_of(parts.steps, width)
    with the_users_code():
        rows = sent_through(parts.steps, space.decode(background))
    head = head_of(parts.last, rows)
    layers = nn.Sequential(steps, head.layers) if parts.steps else head.layers
    return Twin(layers, estimator, columns=width, classes=head.classes, method=head.method)


def _checked(twin: "Twin", name: str, space: Space, background: Matrix) -> Agreement:
    """Compare a twin with its original; refuse one that answers otherwise too often."""
    from ssba.twins.comparing import compare

    original = original_of(twin, space.decode(background), Needs(), adapt)
    agreement, apart = compare(twin, original, space, background)
    if apart > _MOST_DIFFERING:
        raise ModelError(
            f"the torch module made of {name} does not answer as the model does on {apart:.1%} of the "
            f"background rows, where {_MOST_DIFFERING:.0%} is allowed: {agreement}; "
            f"{_advice(twin)}"
        )
    return agreement


def _advice(twin: "Twin") -> str:
    own = "explain the model itself"
    return own if str(twin.dtype) == "torch.float64" else f"give dtype=torch.float64, or {own}"
