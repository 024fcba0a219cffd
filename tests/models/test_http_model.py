"""A model behind a real HTTP server is explained as the same model would be in this process."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.http_server import Server, replying, serving

import ssba
from ssba.errors import ArgumentError, ModelError

HEART = ssba.datasets.load_heart()
NUMBERS = ["age", "trestbps", "chol", "thalach", "oldpeak", "ca"]
WORDS = [name for name in HEART.frame.columns if name not in NUMBERS]
RULES = [ssba.fixed("age", "sex", "cp", "ca", "thal"), "chol <= x.chol"]


@pytest.fixture(scope="module")
def forest() -> Pipeline:
    columns = make_column_transformer(
        (SimpleImputer(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), WORDS)
    )
    model = make_pipeline(columns, RandomForestClassifier(10, max_depth=4, random_state=0))
    return model.fit(HEART.frame, HEART.target)


@pytest.fixture(scope="module")
def server(forest: Pipeline) -> Iterator[Server]:
    """The forest as a service: labels at ``labels``, probabilities of the disease at ``risk``."""

    def answer(body: Any) -> Any:
        rows = pd.DataFrame(body["rows"])[list(HEART.frame.columns)]
        return {"labels": forest.predict(rows).tolist(), "risk": forest.predict_proba(rows)[:, 0].tolist()}

    with serving(answer) as server:
        yield server


def facts(explanation: ssba.results.Explanation) -> Any:
    best = explanation.best
    return best and (best.changes, best.distance, best.prediction)


def same_answers(remote: Any, local: Any, data: Any, queries: Any, **wishes: Any) -> None:
    there = ssba.Explainer(remote, data, **wishes).explain_many(queries, RULES)
    here = ssba.Explainer(local, data, **wishes).explain_many(queries, RULES)
    assert [one.status for one in there] == [one.status for one in here]
    assert "found" in [one.status.value for one in there]
    assert [facts(one) for one in there] == [facts(one) for one in here]


def test_labels_over_http_give_the_very_answers_of_the_local_model(forest: Pipeline, server: Server) -> None:
    with ssba.http_model(server.url, read="labels") as remote:
        same_answers(remote, forest.predict, HEART.frame, HEART.frame[6:8], target="no disease")
        assert remote.stats.requests < remote.stats.rows / 5


def risk(rows: Any, model: Pipeline) -> Any:
    return model.predict_proba(rows)[:, 0]


def test_probabilities_over_http_give_the_very_answers_of_the_local_model(
    forest: Pipeline, server: Server
) -> None:
    with ssba.http_model(server.url, read="risk") as remote:
        same_answers(
            remote, lambda rows: risk(rows, forest), HEART.frame, HEART.frame[6:8], target=ssba.probability(0)
        )


@pytest.mark.parametrize("backend", ["polars", "pyarrow"])
def test_frames_of_other_libraries_are_explained_alike(
    backend: Any, forest: Pipeline, server: Server
) -> None:
    data = ssba.datasets.load_heart(backend).frame
    queries = nw.from_native(data)[6:8].to_native()

    def local(rows: Any) -> Any:
        return forest.predict(nw.from_native(rows).to_pandas().replace({None: np.nan}))

    with ssba.http_model(server.url, read="labels") as remote:
        same_answers(remote, local, data, queries, target="no disease")


def test_arrays_are_explained_with_the_names_that_are_given() -> None:
    data = np.random.default_rng(0).normal(size=(60, 2))
    with serving(lambda body: [int(row["a"] + row["b"] > 0) for row in body["rows"]]) as server:
        with ssba.http_model(server.url, columns=["a", "b"]) as remote:
            there = ssba.Explainer(remote, data, target=1).explain(np.array([-1.0, -1.0]))
        here = ssba.Explainer(lambda rows: (rows.sum(axis=1) > 0).astype(int), data, target=1).explain(
            np.array([-1.0, -1.0])
        )
    assert there.best is not None
    assert here.best is not None
    assert there.best.changes == here.best.changes


def test_numbers_over_http_are_a_regressor() -> None:
    data = pd.DataFrame({"size": np.linspace(20, 200, 61)})
    with (
        serving(lambda body: [3 * size for (size,) in body["dataframe_split"]["data"]]) as server,
        ssba.http_model(server.url, form="split") as remote,
    ):
        explainer = ssba.Explainer(remote, data, target=ssba.value_between(450, None))
        answer = explainer.explain({"size": 80.0})
    assert answer.best is not None
    # 3 * size >= 450 from size = 150 on, and the data has whole numbers in steps of 3.
    assert answer.best.changes["size"][1] == 150


def inside(body: Any) -> Any:
    """Labels of a disc, which no straight line tells from the rest."""
    return ["in" if sum(cell**2 for cell in row) < 1 else "out" for row in body["instances"]]


def test_many_queries_share_requests() -> None:
    data = np.random.default_rng(0).normal(size=(80, 4))
    queries = data[np.linalg.norm(data, axis=1) > 1][:8]

    def explainer(remote: Any) -> ssba.Explainer:
        return ssba.Explainer(remote, data, target="in")

    with serving(inside) as server:
        with ssba.http_model(server.url, form="instances") as shared:
            together = explainer(shared).explain_many(queries)
        with ssba.http_model(server.url, form="instances") as single:
            one_by_one = [explainer(single).explain(query) for query in queries]
    assert "found" in [one.status.value for one in together]
    assert [one.best for one in together] == [one.best for one in one_by_one]
    assert shared.stats.requests < single.stats.requests / 3


def test_batches_are_cut_and_put_together_again() -> None:
    rows = np.arange(25.0).reshape(-1, 1)
    with serving(lambda body: [row[0] for row in body["instances"]]) as server:
        with ssba.http_model(server.url, form="instances", batch_rows=10) as remote:
            assert remote(rows).tolist() == rows[:, 0].tolist()
            assert repr(remote) == f"<http_model {server.url}: requests=3, rows=25, retries=0>"
        assert [len(one.body["instances"]) for one in server.received] == [10, 10, 5]
        assert server.connections == 1


def test_batches_that_answer_in_different_forms_are_told() -> None:
    replies = iter([["a"], [1]])
    told = r"/predict gave a number and text as answers; expected one answer"
    with (
        serving(lambda body: next(replies)) as server,
        ssba.http_model(server.url, batch_rows=1) as remote,
        pytest.raises(ModelError, match=told),
    ):
        remote(np.zeros((2, 1)))


def test_failure_reaches_the_user_in_the_words_of_the_endpoint(server: Server) -> None:
    with ssba.http_model(server.url, headers={"X-Key": "s3cret-key"}, read="labels") as remote:
        server.script.append(replying("bad key s3cret-key", 401))
        with pytest.raises(ModelError) as refused:
            ssba.Explainer(remote, HEART.frame, target="no disease")
    assert str(refused.value) == (
        f"{server.url} replied with status 401 (Unauthorized); expected status 200 and one answer a row. The "
        "reply begins: 'bad key ***'. Likely fix: give the credentials that the endpoint asks for with "
        "headers=."
    )


def test_answers_that_do_not_fit_the_target_are_told_by_the_model_not_a_function() -> None:
    told = r"^HttpModel, asked about a batch of .* gave floats from 7\.5 to 7\.5"
    with (
        serving(lambda body: [7.5 for _ in body["rows"]]) as server,
        ssba.http_model(server.url) as remote,
        pytest.raises(ModelError, match=told),
    ):
        ssba.Explainer(remote, HEART.frame)


def test_pickle_and_copy_ask_the_same_endpoint_and_count_anew(server: Server) -> None:
    with ssba.http_model(server.url, headers={"X-Key": "s3cret"}, read="labels", batch_rows=7) as remote:
        expected = remote(HEART.frame[:20]).tolist()
        for again in (pickle.loads(pickle.dumps(remote)), deepcopy(remote)):  # noqa: S301
            with again:
                assert again.stats.requests == 0
                assert again(HEART.frame[:20]).tolist() == expected
                assert again.stats.requests == 3
                assert "s3cret" not in repr(again)
        assert {one.headers.get("X-Key") for one in server.received[-9:]} == {"s3cret"}


def test_explainer_of_a_remote_model_can_be_pickled() -> None:
    data = np.random.default_rng(0).normal(size=(80, 4))
    with serving(inside) as server, ssba.http_model(server.url, form="instances") as remote:
        explainer = ssba.Explainer(remote, data, target="in")
        again = pickle.loads(pickle.dumps(explainer))  # noqa: S301
        first, second = explainer.explain(data[0] + 2), again.explain(data[0] + 2)
    assert first.best is not None
    assert facts(first) == facts(second)


def test_no_rows_are_no_request() -> None:
    with ssba.http_model("https://models.example/predict") as remote:
        assert remote(np.zeros((0, 2))).tolist() == []
        assert remote.stats.requests == 0


def test_nothing_secret_is_in_any_text() -> None:
    remote = ssba.http_model("https://me:s3cret@models.example/p?key=s3cret", headers={"X-Key": "s3cret"})
    shown = [repr(remote), str(remote), repr(vars(remote)), repr(remote.stats)]
    assert repr(remote) == "<http_model https://models.example/p: requests=0, rows=0, retries=0>"
    assert "s3cret" not in "".join(shown)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"form": "csv"}, "form is 'csv'; choose one of 'records', 'split', 'instances', or give a function"),
        ({"form": ["records"]}, "form is of type list; choose one of"),
        ({"read": 3}, "read is 3; give a path in the reply, such as 'result.labels', or a function of it"),
        ({"read": ""}, "read is ''; give a path"),
        ({"columns": "age"}, "columns is 'age'; give a list of column names, each once"),
        ({"columns": ["a", "a"]}, "columns is ['a', 'a']; give a list of column names, each once"),
        ({"columns": []}, "columns is []; give a list of column names"),
        ({"columns": [1]}, "columns is [1]; give a list of column names"),
        ({"batch_rows": 0}, "batch_rows is 0; give a whole number, 1 or more"),
        ({"timeout": 0}, "timeout is 0; give seconds, more than 0 and less than a day"),
        ({"timeout": None}, "timeout is None; give seconds"),
        ({"timeout": float("inf")}, "timeout is inf; give seconds"),
        ({"retries": -1}, "retries is -1; give a whole number, from 0 to 20"),
        ({"headers": ["a"]}, "headers is of type list; give a mapping of text"),
    ],
)
def test_bad_argument_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        ssba.http_model("https://models.example/predict", **given)
    assert str(refused.value).startswith(message)


def test_missing_library_is_told_with_the_way_to_install_it() -> None:
    program = (
        "import sys; sys.modules['httpx2'] = None\n"
        "import ssba\n"
        "try: ssba.http_model('https://models.example/predict')\n"
        "except ssba.errors.MissingExtra as missing: print(missing)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "asking a model over HTTP needs httpx2: pip install 'ssba[client]'\n"
