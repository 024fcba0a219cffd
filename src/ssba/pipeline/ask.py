"""What is asked about every one of many rows, as it is sent to whoever works on some of them."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ssba.columns.distance import refuse_too_far
from ssba.columns.frames import row_name
from ssba.constraints.constraint import Constraint
from ssba.engine import Engine
from ssba.index.encoded_points import EncodedPoints
from ssba.options import Budget, Options
from ssba.pipeline.answer import Request, explain_requests
from ssba.pipeline.asking import naming_failing_row
from ssba.results.explanation import Explanation


@dataclass(frozen=True)
class Ask:
    """Constraints, options, budget and boundary points, the same for all rows."""

    constraints: tuple[Constraint, ...] = ()
    options: Options = field(default_factory=Options)
    budget: Budget = field(default_factory=Budget)
    boundary: EncodedPoints | None = None

    def explained(self, engine: Engine, rows: Any) -> list[Explanation]:
        """Explain rows of a frame side by side."""
        encoded = engine.space.encode(rows)
        refuse_too_far(engine.space.features, engine.metric, encoded, partial(row_name, rows))
        requests = [Request(x, self.constraints, self.options) for x in encoded]
        with naming_failing_row(engine.judging, rows, encoded):
            return explain_requests(engine, requests, self.budget, self.boundary)
