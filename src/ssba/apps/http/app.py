"""The HTTP API: routes in front of a service, which answers."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

from anyio import create_task_group, to_thread
from anyio.abc import TaskGroup
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

import ssba
from ssba.apps.cohort_files import FILE_NAMES
from ssba.apps.http.guard import Guard
from ssba.apps.http.jobs import Job, JobReply, Jobs, events
from ssba.apps.http.logs import log_job
from ssba.apps.http.metrics import CONTENT_TYPE, Metrics
from ssba.apps.http.observe import Observe, record_of
from ssba.apps.http.openapi import (
    ENDPOINTS,
    Endpoint,
    SchemaReply,
    asks_for,
    document,
    refusals_of,
    request_schemas,
    rows_parameters,
)
from ssba.apps.http.page import add_page
from ssba.apps.http.problems import refused, reply_to
from ssba.apps.http.reading import read_body, read_query, unless_gone
from ssba.apps.http.settings import HEALTH, MCP, METRICS, ServeSettings
from ssba.apps.limits import Closed, Meter
from ssba.apps.mcp import mcp_app
from ssba.apps.page_requests import PopulationReply
from ssba.apps.refusals import is_about_the_request
from ssba.apps.requests import (
    CohortRequest,
    Reply,
    RowsReply,
    RowsRequest,
)
from ssba.apps.service import LIGHT, Service
from ssba.apps.work import Desk
from ssba.errors import SsbaError
from ssba.results.schemas import results_schema

Answer = TypeVar("Answer")

_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
_REPORT_HEADERS = {"Content-Security-Policy": _REPORT_POLICY}


class Server:
    """What the routes share: the service, the desk in front of it, jobs and metrics."""

    def __init__(self, service: Service, settings: ServeSettings) -> None:
        self.service, self.settings = service, settings
        self.desk = Desk(settings.workers, settings.waiting)
        self.jobs = Jobs(service, settings.job_limits, settings.jobs, self._job_ended)
        self.metrics = Metrics(self.desk, self.jobs)
        self.agents = mcp_app(service, self.desk, MCP)
        self.group: TaskGroup | None = None

    async def work(self, request: Request, ask: Callable[[Meter], Answer], *, light: bool = False) -> Answer:
        """Let the service answer, as long as somebody waits for it."""
        meter = Meter(self.service.limits)
        try:
            return await unless_gone(request, lambda: self.desk.run(ask, meter, light=light))
        except SsbaError:
            if self.desk.is_closed:
                raise Closed from None
            raise
        finally:
            record_of(request.scope).rows = meter.rows

    def job(self, job_id: str) -> Job:
        """Return a job, or refuse an id that is none's."""
        job = self.jobs.get(job_id)
        if job is None:
            raise HTTPException(404, "there is no such job; those that ended are kept for an hour at most")
        return job

    def close(self) -> None:
        """Stop all work, and take no more."""
        self.desk.close()
        self.jobs.close()

    def _job_ended(self, job: Job, failure: Exception | None) -> None:
        log_job(job.status, job.meter.rows, job.meter.seconds, failure, self.settings.log_values)


def create_app(service: Service, settings: ServeSettings | None = None) -> FastAPI:
    """Make the application; `app.state.server.close()` stops its work before it is shut down.

    Parameters
    ----------
    service : Service
        What answers.
    settings : ServeSettings
        Whom to answer, and how much at once.
    """
    settings = settings or ServeSettings()
    server = Server(service, settings)
    app = FastAPI(
        title=f"ssba: {service.project.settings.title or 'counterfactual explanations'}",
        version=ssba.__version__,
        lifespan=_lifespan(server),
        # Served below, as a route like all others.
        openapi_url=None,
        # These pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.server = server
    for endpoint in ENDPOINTS:
        _add_endpoint(app, server, endpoint)
    _add_rows(app, server)
    _add_cohorts(app, server)
    _add_jobs(app, server)
    _add_about(app, server)
    add_page(app)
    app.router.routes.extend(server.agents.routes)
    document(app, service)
    app.add_exception_handler(SsbaError, _tell)
    app.add_exception_handler(HTTPException, _tell_http)
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(Observe, metrics=server.metrics, log_values=settings.log_values)
    return app


def _lifespan(server: Server) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(server.agents.router.lifespan_context(server.agents))
            server.group = await stack.enter_async_context(create_task_group())
            yield
            server.close()

    return lifespan


def _json(reply: Reply, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(reply.model_dump_json(), status, headers, media_type="application/json")


def _add_endpoint(app: FastAPI, server: Server, endpoint: Endpoint) -> None:
    """Add a route that takes a request as JSON and returns what the service replies."""

    async def answer(request: Request) -> Response:
        asked = await read_body(request, endpoint.request)
        ask = getattr(server.service, endpoint.method)
        reply = await server.work(request, lambda meter: ask(asked, meter), light=endpoint.method in LIGHT)
        if isinstance(reply, str):
            return HTMLResponse(reply, headers=_REPORT_HEADERS)
        return _json(reply)

    app.add_api_route(
        endpoint.path,
        answer,
        methods=["POST"],
        operation_id=endpoint.method,
        summary=endpoint.summary,
        response_model=endpoint.reply,
        response_class=HTMLResponse if endpoint.reply is None else JSONResponse,
        responses=refusals_of(),
        openapi_extra=asks_for(endpoint.request),
    )


def _add_rows(app: FastAPI, server: Server) -> None:
    async def find(request: Request, asked: RowsRequest) -> Response:
        return _json(await server.work(request, lambda meter: server.service.rows(asked, meter), light=True))

    @app.get(
        "/api/rows",
        operation_id="rows",
        summary="Rows of the data, by a query string",
        response_model=RowsReply,
        responses=refusals_of(),
        openapi_extra={"parameters": rows_parameters()},
    )
    async def rows(request: Request) -> Response:
        return await find(request, read_query(request))

    @app.post(
        "/api/rows",
        operation_id="find_rows",
        summary="Rows of the data; what is asked for does not stand in the address",
        response_model=RowsReply,
        responses=refusals_of(),
        openapi_extra=asks_for(RowsRequest),
    )
    async def find_rows(request: Request) -> Response:
        return await find(request, await read_body(request, RowsRequest))


def _add_cohorts(app: FastAPI, server: Server) -> None:
    @app.post(
        "/api/cohort",
        status_code=202,
        operation_id="cohort",
        summary="Explain many rows in the background",
        response_model=JobReply,
        responses=refusals_of(),
        openapi_extra=asks_for(CohortRequest),
    )
    async def start(request: Request) -> Response:
        asked = await read_body(request, CohortRequest)
        if server.group is None or server.desk.is_closed:
            raise Closed
        job = server.jobs.start(asked, server.group)
        return _json(job.reply(), 202, {"Location": f"/api/cohort/{job.id}"})


def _add_jobs(app: FastAPI, server: Server) -> None:
    """Add the routes about a cohort that was started."""
    about_jobs = refusals_of(404)

    @app.get(
        "/api/cohort/{job_id}",
        operation_id="cohort_status",
        summary="How far a job is, and what came of it",
        response_model=JobReply,
        responses=about_jobs,
    )
    async def look(job_id: str) -> Response:
        return _json(server.job(job_id).reply())

    @app.delete(
        "/api/cohort/{job_id}",
        operation_id="cancel_cohort",
        summary="Cancel a job",
        response_model=JobReply,
        responses=about_jobs,
    )
    async def cancel(job_id: str) -> Response:
        job = server.job(job_id)
        server.jobs.cancel(job)
        return _json(job.reply())

    @app.get(
        "/api/cohort/{job_id}/events",
        operation_id="cohort_events",
        summary="Server-sent events: progress, and at last result, error or cancelled",
        response_class=StreamingResponse,
        responses={**about_jobs, 200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def follow(job_id: str) -> Response:
        return StreamingResponse(events(server.job(job_id)), media_type="text/event-stream")

    @app.get(
        "/api/cohort/{job_id}/files/{name}",
        operation_id="cohort_file",
        summary="A table, page or picture of a cohort: " + ", ".join(FILE_NAMES),
        response_class=Response,
        responses=about_jobs,
        openapi_extra={"parameters": [_file_name()]},
    )
    async def export(request: Request, job_id: str) -> Response:
        name = request.path_params["name"]
        files = server.job(job_id).files
        found = None if files is None else await to_thread.run_sync(files.get, name)
        if found is None:
            raise HTTPException(404, f"this job has no {name:.40}; it has one once it is done")
        return Response(found.content, media_type=found.media_type, headers=_REPORT_HEADERS)


def _file_name() -> dict[str, Any]:
    schema = {"type": "string", "enum": list(FILE_NAMES)}
    return {"name": "name", "in": "path", "required": True, "schema": schema}


def _add_about(app: FastAPI, server: Server) -> None:
    said = server.service.describe().model_dump()
    about = SchemaReply(**said, requests=request_schemas(), results=results_schema())

    @app.get(
        "/api/schema",
        operation_id="schema",
        summary="What the service is about: columns, target, constraints, and the form of all JSON",
        response_model=SchemaReply,
        responses=refusals_of(),
    )
    async def schema() -> Response:
        return _json(about)

    @app.get(
        "/api/population",
        operation_id="population",
        summary="How the rows of the data are spread, and what the model says about them",
        response_model=PopulationReply,
        responses=refusals_of(),
    )
    async def population(request: Request) -> Response:
        return _json(await server.work(request, server.service.population, light=True))

    @app.get("/api/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return JSONResponse(app.openapi())

    @app.get(HEALTH, include_in_schema=False)
    async def health() -> Response:
        return PlainTextResponse("ok\n")

    @app.get(METRICS, include_in_schema=False)
    async def metrics() -> Response:
        return Response(server.metrics.text(), media_type=CONTENT_TYPE)


async def _tell(request: Request, error: Exception) -> Response:
    if not is_about_the_request(error) and not isinstance(error, Closed):
        record_of(request.scope).failure = error
    return reply_to(error)


async def _tell_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {404: "NotFound", 405: "MethodNotAllowed"}
    said = {404: "there is nothing at this address", 405: "this address does not take this method"}
    message = said[error.status_code] if error.detail in ("Not Found", "Method Not Allowed") else error.detail
    return refused(error.status_code, names.get(error.status_code, "HTTPError"), message, error.headers)
