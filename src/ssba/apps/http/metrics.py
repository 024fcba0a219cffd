"""What a server did so far, as Prometheus reads it."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ssba.apps.http.jobs import Jobs
from ssba.apps.http.logs import Record
from ssba.apps.work import Desk

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """Counts requests by route and status, and shows what waits; a registry of its own for each server.

    Parameters
    ----------
    desk : Desk
        Where requests are worked on.
    jobs : Jobs
        The cohorts in the background.
    """

    def __init__(self, desk: Desk, jobs: Jobs) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "ssba_requests", "Requests answered.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "ssba_request_seconds",
            "Seconds that requests took.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._registry.register(_Work(desk, jobs))

    def count(self, record: Record) -> None:
        """Note a request that has ended."""
        self._requests.labels(record.method, record.route, str(record.status)).inc()
        self._seconds.labels(record.route).observe(record.seconds)

    def text(self) -> str:
        """Return all figures in the text format of Prometheus."""
        return generate_latest(self._registry).decode("utf-8")


class _Work(Collector):
    """Reads what others count anyway, when it is asked for."""

    def __init__(self, desk: Desk, jobs: Jobs) -> None:
        self._desk, self._jobs = desk, jobs

    def collect(self) -> Iterator[Metric]:
        rows = CounterMetricFamily("ssba_model_rows", "Rows that the model was asked about.", labels=["by"])
        rows.add_metric(["requests"], self._desk.rows)
        rows.add_metric(["cohorts"], self._jobs.rows)
        yield rows
        yield GaugeMetricFamily("ssba_queue_length", "Requests worked on or waiting.", self._desk.taken)
        jobs = GaugeMetricFamily("ssba_jobs", "Cohorts by status.", labels=["status"])
        for status, number in self._jobs.by_status().items():
            jobs.add_metric([status], number)
        yield jobs
