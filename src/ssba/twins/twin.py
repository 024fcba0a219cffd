"""The module that stands in for a model."""

from typing import Any, final

import torch
from torch import Tensor, nn

from ssba.errors import ModelError
from ssba.models.twin import Agreement


@final
class Twin(nn.Module):
    """A model as a torch module, made by `ssba.to_torch`: rows [n, columns] in, answers out.

    Attributes
    ----------
    original
        The model that it was made from, unchanged.
    classes
        The original's labels, in the order of the columns of scores; None for a regressor.
    method
        The original's method whose scores these are; None where it gives its answer by one call.
    agreement
        How its answers compare with the original's.
    """

    agreement: Agreement

    def __init__(
        self,
        layers: nn.Module,
        original: Any,
        *,
        columns: int,
        classes: tuple[Any, ...] | None,
        method: str | None,
    ) -> None:
        super().__init__()
        self.layers = layers
        self.original, self.columns, self.classes, self.method = original, columns, classes, method
        self.eval()

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return next(self.buffers()).device

    @property
    def dtype(self) -> torch.dtype:
        """What it computes in."""
        return next(one.dtype for one in self.buffers() if one.is_floating_point())

    def forward(self, rows: Tensor) -> Tensor:
        if rows.ndim != 2 or rows.shape[1] != self.columns:
            raise ModelError(
                f"the torch twin of {type(self.original).__name__} takes rows of shape "
                f"[n, {self.columns}], got {list(rows.shape)}"
            )
        answer: Tensor = self.layers(rows)
        return answer

    def __repr__(self) -> str:
        where = f"{str(self.dtype).removeprefix('torch.')} on {self.device}"
        compared = f": {self.agreement}" if hasattr(self, "agreement") else ""
        return f"<torch twin of {type(self.original).__name__}, {where}{compared}>"
