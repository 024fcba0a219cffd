"""What a cohort is exported as."""

import io

import pandas as pd
import pytest
from tests.apps.projects import loans

from ssba.apps.cohort_files import FILE_NAMES
from ssba.apps.requests import CohortRequest
from ssba.apps.service import Service
from ssba.errors import ArgumentError


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(loans())


def test_tables_hold_queries_and_answers_by_the_numbers_of_their_rows(service: Service) -> None:
    reply, files = service.cohort(CohortRequest(rows=(7, 3, 21)))
    assert (reply.rows, reply.ids) == ((7, 3, 21), ("c007", "c003", "c021"))
    csv, parquet = files.get("answers.csv"), files.get("answers.parquet")
    assert csv is not None
    assert parquet is not None
    table = pd.read_csv(io.BytesIO(csv.content))
    assert list(dict.fromkeys(table["query"])) == [7, 3, 21]
    queries = table[table["row"] == "query"]
    assert list(queries["income"]) == list(loans().rows["income"].iloc[[7, 3, 21]])
    assert pd.read_parquet(io.BytesIO(parquet.content))["distance"].tolist() == table["distance"].tolist()


def test_every_name_has_a_file_and_no_other(service: Service) -> None:
    _, files = service.cohort(CohortRequest(search="north"))
    made = {name: files.get(name) for name in FILE_NAMES}
    assert all(one is not None and one.content for one in made.values())
    assert files.get("service.py") is None


def test_without_rows_there_is_nothing_to_export(service: Service) -> None:
    reply, files = service.cohort(CohortRequest(search="nobody has this"))
    assert reply.rows == ()
    assert files.get("report.html") is None
    with pytest.raises(ArgumentError, match="ssba batch"):
        files.get("answers.csv")
