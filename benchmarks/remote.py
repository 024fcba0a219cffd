"""How many requests and rows a model behind an HTTP endpoint is asked, alone and side by side.

Run it with ``python -m benchmarks.remote``: a forest on the heart data behind a server on this machine. It
counts, and measures no time; with the same versions of the libraries the counts are the same.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import ssba

if TYPE_CHECKING:
    # `benchmarks.batch` reads this file with the sources of an earlier commit, too.
    from ssba.options import Calls

RULES = [*(f"{name} == x.{name}" for name in ("age", "sex", "cp", "ca", "thal")), "chol <= x.chol"]
CALLS: tuple["Calls", ...] = ("many", "few")
TARGETS = {"labels": "no disease", "scores": 1}
"""What is asked for, by what the endpoint gives; the second class is *no disease*."""


def main(n_queries: int = 20) -> None:
    """Print a table for an endpoint of labels, and one for an endpoint of scores."""
    heart = ssba.datasets.load_heart()
    forest = trained(heart)
    ill = heart.frame[forest.predict(heart.frame) == "disease"][:n_queries]
    with serving(forest) as url:
        for read in TARGETS:
            print(f"\n| {len(ill)} heart patients, an endpoint of {read} | requests | rows |")
            print("|---|---|---|")
            for what, requests, rows in counted(url, read, heart.frame, ill):
                print(f"| {what} | {requests} | {rows} |")


def trained(heart: Any) -> Pipeline:
    numbers = ["age", "trestbps", "chol", "thalach", "oldpeak", "ca"]
    words = [name for name in heart.frame.columns if name not in numbers]
    columns = make_column_transformer(
        (SimpleImputer(), numbers), (OneHotEncoder(handle_unknown="ignore"), words)
    )
    return make_pipeline(columns, RandomForestClassifier(20, max_depth=5, random_state=0)).fit(
        heart.frame, heart.target
    )


@contextmanager
def serving(forest: Pipeline) -> Iterator[str]:
    """Serve a forest's labels and scores on this machine, and give the address."""

    class Endpoint(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            rows = pd.DataFrame(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["rows"])
            answers = {"labels": forest.predict(rows).tolist(), "scores": forest.predict_proba(rows).tolist()}
            reply = json.dumps(answers).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/predict"
    finally:
        server.shutdown()
        server.server_close()


def counted(url: str, read: str, data: Any, queries: Any) -> Iterator[tuple[str, str, str]]:
    """Yield what was asked for, the requests and the rows that it took."""
    with ssba.http_model(url, read=read) as model:
        explainer = ssba.Explainer(model, data, target=TARGETS[read])
        first = model.stats
        yield "making the `Explainer`", f"{first.requests:,}", f"{first.rows:,}"
        distances: dict[Calls, list[float]] = {}
        for calls in CALLS:
            each, distances[calls] = [], []
            for i in range(len(queries)):
                before = model.stats
                found = explainer.explain(queries[i : i + 1], RULES, calls=calls)
                each.append((model.stats.requests - before.requests, model.stats.rows - before.rows))
                distances[calls].append(np.nan if found.best is None else found.best.distance)
            requests, rows = np.array(each).T.tolist()
            yield f'one query alone, `calls="{calls}"`', _spread(requests), _spread(rows)
            if calls == "many":
                yield "all with `explain`, one after the other", f"{sum(requests):,}", f"{sum(rows):,}"
        ratios = np.array(distances["few"]) / np.array(distances["many"])
        yield "distance by few calls over that by many", f"mean {np.nanmean(ratios):.3f}", ""
    with ssba.http_model(url, read=read) as model:
        explainer = ssba.Explainer(model, data, target=TARGETS[read])
        before = model.stats
        explainer.explain_many(queries, RULES)
        requests_together = model.stats.requests - before.requests
        yield "all with `explain_many`", f"{requests_together:,}", f"{model.stats.rows - before.rows:,}"


def _spread(counts: list[int]) -> str:
    return f"{min(counts):,} to {max(counts):,}, median {median(counts):,.0f}"


if __name__ == "__main__":
    main()
