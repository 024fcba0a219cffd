"""What a batch is about, as digests: whether finished chunks belong to it is told by these."""

from typing import Any

import ssba
from ssba.apps.requests import CohortRequest
from ssba.apps.service import Service
from ssba.run.digests import digest, frame_digest

_PLACES = {"model", "data", "index"}
"""What says where files are: a project that was moved is the same; what is in its files is asked instead."""


def project_digest(service: Service) -> str:
    """Return a digest of all that answers depend on in a project: settings, data, model, stored points."""
    project = service.project
    index = project.settings.index
    stored = None if index is None else ssba.boundary_info(project.folder / index)
    facts = (
        project.settings.model_dump_json(exclude=_PLACES),
        frame_digest(project.table),
        service.fingerprint,
        stored,
        ssba.__version__,
    )
    return digest(facts)


def request_digest(request: CohortRequest, **how: Any) -> str:
    """Return a digest of what is asked, and of how the output is made of it."""
    return digest((request.model_dump_json(), sorted(how.items())))
