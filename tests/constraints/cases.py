"""Columns of every kind, and a query in them, that tests of constraints share."""

from ssba.columns.features import Feature

SCHOOL = ("none", "HS", "BSc", "PhD")
FEATURES = {
    feature.name: feature
    for feature in (
        Feature("age", "integer"),
        Feature("chol", "numeric", data_low=-8.0, data_high=8.0),
        Feature("max HR", "numeric"),
        Feature("school", "ordinal", SCHOOL),
        Feature("parent", "ordinal", SCHOOL),
        Feature("ca", "ordinal", (1, 2, 5)),
        Feature("job", "categorical", ("cook", "nurse", "pilot")),
        Feature("wish", "categorical", ("pilot", "vet", "cook")),
        Feature("fbs", "boolean", (False, True)),
        Feature("smokes", "boolean", (0, 1), data_low=0.0, data_high=1.0),
        Feature("drinks", "boolean", (0, 1), data_low=0.0, data_high=1.0),
        Feature("since", "date", step=1.0, data_low=10_000.0, data_high=20_000.0),
    )
}
X = {
    "age": 50,
    "chol": 200.0,
    "max HR": 150.0,
    "school": "HS",
    "parent": "BSc",
    "ca": 2,
    "job": "cook",
    "wish": "vet",
    "fbs": True,
    "smokes": 1,
    "drinks": 0,
    "since": "2020-01-31",
}
