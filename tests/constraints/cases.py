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
}
