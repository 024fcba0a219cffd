"""Who works on the chunks; that all of them write the same is in tests/apps/commands/test_batch.py."""

import os
from functools import partial

import pandas as pd
import pytest

from ssba.apps.batch.crews import in_processes
from ssba.apps.batch.work import Job
from ssba.apps.requests import CohortRequest
from ssba.errors import ModelError
from ssba.run.chunks import Chunk


def test_worker_process_that_dies_is_told_with_what_to_do() -> None:
    # A process that is killed for lack of memory ends without a word, as this one does.
    job = Job("a job", partial(os._exit, 3), CohortRequest())
    chunk = Chunk(0, [0], [None], pd.DataFrame({"x": [1.0]}))
    before = dict(os.environ)
    with pytest.raises(ModelError, match="what is finished is kept: run the same command again"):
        list(in_processes(job, 2)([chunk]))
    assert dict(os.environ) == before
