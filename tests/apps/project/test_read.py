"""Reading project files: what they say, and every problem with its file, line, key and the likely fix."""

from pathlib import Path
from typing import Any

import pytest

from ssba.apps.project.heart import heart_settings
from ssba.apps.project.problems import ProjectFileError
from ssba.apps.project.read import read_project
from ssba.apps.project.settings import FeatureSettings

TOML = """\
# Whom we ask about.
title = "Heart patients"
model = "../models/heart.skops"
data = "heart.csv"
target = "well"
constraints = [
    "age == x.age",  # nobody gets younger
    "chol <= x.chol",
]
classes = { 0 = "well", 1 = "ill" }

[features.chol]
unit = "mg/dl"
low = 100

[features."resting pressure"]
kind = "integer"

[budget]
rows = 500
"""

YAML = """\
title: Heart patients
model: ../models/heart.skops
data: heart.csv
target: well
constraints:
  - age == x.age
  - chol <= x.chol
classes: {0: well, 1: ill}
features:
  chol: {unit: mg/dl, low: 100}
  resting pressure:
    kind: integer
budget: {rows: 500}
"""


def write(folder: Path, text: str, name: str = "ssba.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def problems(folder: Path, text: str, name: str = "ssba.toml") -> list[str]:
    with pytest.raises(ProjectFileError) as refused:
        read_project(write(folder, text, name))
    return str(refused.value).splitlines()


def test_toml_and_yaml_say_the_same(tmp_path: Path) -> None:
    settings, _ = read_project(write(tmp_path, TOML))
    assert settings == read_project(write(tmp_path, YAML, "ssba.yaml"))[0]
    assert settings.constraints == ("age == x.age", "chol <= x.chol")
    assert settings.classes == {"0": "well", "1": "ill"}
    assert settings.features["chol"] == FeatureSettings(unit="mg/dl", low=100)
    assert settings.budget.rows == 500
    assert settings.model == "../models/heart.skops", "paths that lead upward are the user's own"


def test_every_setting_has_a_default_but_model_and_data(tmp_path: Path) -> None:
    settings, _ = read_project(write(tmp_path, 'model = "m.onnx"\ndata = "d.csv"'))
    assert settings.seed == heart_settings().seed
    assert (settings.target, settings.features, settings.constraints) == (None, {}, ())


def test_a_mark_at_the_beginning_of_the_file_is_no_part_of_it(tmp_path: Path) -> None:
    assert read_project(write(tmp_path, f"\ufeff{TOML}"))[0].title == "Heart patients"


@pytest.mark.parametrize(("text", "name"), [(TOML, "ssba.toml"), (YAML, "ssba.yaml")])
def test_places_are_known_by_line(tmp_path: Path, text: str, name: str) -> None:
    _, where = read_project(write(tmp_path, text, name))
    lines = text.splitlines()
    for key, said in [
        (("title",), "Heart patients"),
        (("constraints", 1), "chol <= x.chol"),
        (("features", "chol", "low"), "low"),
        (("features", "resting pressure"), "resting pressure"),
        (("budget", "rows"), "rows"),
        (("classes", "1"), "ill"),
    ]:
        line = where.line(key)
        assert line is not None
        assert said in lines[line - 1], key
    assert where.line(("seed",)) is None
    assert where("seed") == f"{name}: seed"
    assert (
        where("data") == f"{name}, line {lines.index(next(one for one in lines if 'data' in one)) + 1}: data"
    )


BASE = 'model = "m"\ndata = "d"\n'


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            '[features.chol]\nkind = "int"',
            "line 4: features.chol.kind is 'int'; allowed are numeric, integer, ordinal, categorical or "
            "boolean (did you mean integer?)",
        ),
        ("seed = -1", "line 3: seed is -1; allowed are numbers from 0"),
        ('seed = "x"', "line 3: seed is 'x'; allowed are whole numbers"),
        ('seed = "3"', "line 3: seed is '3'; allowed are whole numbers"),
        ("seed = true", "line 3: seed is True; allowed are whole numbers"),
        ('weights = { age = "2" }', "line 3: weights.age is '2'; allowed are numbers"),
        ("weights = { age = -2 }", "line 3: weights.age is -2; allowed are numbers above 0"),
        ('features.chol.low = "3"', "line 3: features.chol.low is '3'; allowed are numbers"),
        ("[budget]\nseconds = 0", "line 4: budget.seconds is 0; allowed are numbers above 0"),
        ("features.chol.step = nan", "line 3: features.chol.step is nan; allowed are finite numbers"),
        ('constraints = "a <= 3"', "line 3: constraints is 'a <= 3'; allowed are lists"),
        ('ignore = [\n  "a",\n\n  7,\n]', "line 6: ignore[1] is 7; allowed are text"),
        ("index = 3", "line 3: index is 3; allowed are text"),
        (
            "target = []",
            "line 3: target is of type list; allowed are text or whole numbers or numbers or true and false",
        ),
        ('distance = "L1"', "line 3: distance is 'L1'; allowed are l2, l1 or gower (did you mean l1?)"),
        ('scale = { age = "x" }', "line 3: scale.age is 'x'; allowed are numbers"),
        (
            'scale = "st"',
            "line 3: scale is 'st'; allowed are std, mad, range or none or tables (did you mean std?)",
        ),
        ("features = { chol = 3 }", "line 3: features.chol is 3; allowed are tables"),
        ('titel = "x"', "line 3: titel is not a setting; did you mean title?"),
        (
            "[budget]\nmoney = 3",
            "line 4: budget.money is not a setting; allowed are rows, seconds",
        ),
        (
            '[features.chol]\nunit = "g"\nseed = 3',
            "line 5: features.chol.seed is not a setting; it belongs to the project as a whole: move it "
            "above the first [table]",
        ),
        (
            "trust_pickle = true",
            "line 3: trust_pickle is not a setting; a file cannot vouch for itself: give --trust-pickle on "
            "the command line",
        ),
    ],
)
def test_wrong_setting_is_told_by_line_key_and_what_is_allowed(tmp_path: Path, said: str, told: str) -> None:
    assert problems(tmp_path, BASE + said) == [f"ssba.toml, {told}"]


def test_all_problems_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = 'seed = -1\ntitel = "x"\n[features.a]\nkind = "x"\n'
    assert [one.partition(" is ")[0] for one in problems(tmp_path, text)] == [
        "ssba.toml: model",
        "ssba.toml: data",
        "ssba.toml, line 1: seed",
        "ssba.toml, line 2: titel",
        "ssba.toml, line 4: features.a.kind",
    ]
    assert problems(tmp_path, 'data = "d"') == [
        "ssba.toml: model is missing; it names the file of the trained model"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "a = 1\nb = well",
            'line 2: a value is missing or not understood; text is written in quotes, "like this"',
        ),
        ("a = 1\na = 2", "line 2: a key is said twice; keep one of them"),
        ("[a]\nb = 1\n[a]\n", "line 3: cannot declare ('a',) twice"),
        ("a = [1,\n2\n", "line 2: "),
    ],
)
def test_what_is_no_toml_is_told_by_its_line(tmp_path: Path, text: str, told: str) -> None:
    (problem,) = problems(tmp_path, text)
    assert problem.startswith(f"ssba.toml, {told}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model: m\ndata: d\nseed: [1", "line 3: expected ',' or ']', but got '<stream end>'"),
        ("model: m\nmodel: n", "line 2: model is said twice; keep one of them"),
        (
            "constraints:\n  - a >= 1\n  - exang: 'yes' -> {'no'}",
            "line 3: expected <block end>, but found '<scalar>'; quote a constraint that has a colon: \"",
        ),
        (
            "model: m\ndata: d\nconstraints:\n  - exang: yes",
            "line 4: constraints[0] is of type dict; allowed are text; quote a constraint that has a colon",
        ),
        ("features:\n  a: {unit: g}\n  a: {unit: mg}", "line 3: a is said twice; keep one of them"),
        ("model: &m x\ndata: *m", "line 2: *m refers elsewhere; write the value itself"),
        ("a: &a [*a]", "line 1: *a refers elsewhere; write the value itself"),
        ("? [a]\n: 1", "line 1: a key is a list or a table; give text"),
        ("model: !!python/name:os.system x", "line 1: could not determine a constructor for the tag"),
        ("model: m\ndata: d\nseed: -1", "line 3: seed is -1; allowed are numbers from 0"),
        (
            "model: m\ndata: d\nfeatures:\n  a:\n    kin: x",
            "line 5: features.a.kin is not a setting; did you",
        ),
        ("model: m\n---\nmodel: n", "line 2: but found another document"),
    ],
)
def test_problems_of_yaml_are_told_by_line_too(tmp_path: Path, text: str, told: str) -> None:
    (problem,) = problems(tmp_path, text, "ssba.yaml")
    assert problem.startswith(f"ssba.yaml, {told}")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("ssba.toml", f"seed = {'[' * 20_000}", "ssba.toml: lists or tables in it are nested too deeply"),
        ("ssba.toml", f"seed = {'9' * 5000}", "ssba.toml: a number in it has too many digits"),
        ("ssba.yaml", f"model: m\nseed: {'[' * 20_000}", "ssba.yaml, line 2: lists or tables are nested too"),
        ("ssba.yaml", f"model: m\n{'- ' * 20_000}", "ssba.yaml, line 2: "),
        ("ssba.yaml", f"seed: {'9' * 5000}", "ssba.yaml, line 1: '9999"),
        ("ssba.yaml", "seed: !!int many", "ssba.yaml, line 1: 'many' cannot be read as a number"),
    ],
)
def test_a_file_that_could_exhaust_its_reader_is_refused(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    (problem,) = problems(tmp_path, text, name)
    assert problem.startswith(told)
    assert len(problem) < 200


@pytest.mark.parametrize("name", ["ssba.toml", "ssba.yaml"])
def test_a_file_that_says_nothing_names_what_it_needs(tmp_path: Path, name: str) -> None:
    told = problems(tmp_path, "# nothing\n", name)
    assert " ".join(told).count("model") == 1 + ("model is missing" in " ".join(told))
    assert "data" in " ".join(told)


@pytest.mark.parametrize(
    ("said", "value"), [("yes", "yes"), ("no", "no"), ("true", True), ("2020-01-01", "2020-01-01")]
)
def test_words_that_old_yaml_takes_for_something_else_are_text(tmp_path: Path, said: str, value: Any) -> None:
    text = f"model: m\ndata: d\ntarget: {said}\n"
    assert read_project(write(tmp_path, text, "ssba.yml"))[0].target == value


def test_no_other_kind_of_file_is_a_project(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, "{}", "ssba.json")
    assert told == "ssba.json: the name of a project file ends in .toml, .yaml, .yml"
    file = tmp_path / "ssba.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ProjectFileError, match=r"^ssba\.toml is not UTF-8 text; save it as UTF-8$"):
        read_project(file)


def test_the_environment_does_not_reach_into_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    text = 'model = "$SECRET"\ndata = "${SECRET}.csv"'
    settings, _ = read_project(write(tmp_path, text))
    assert (settings.model, settings.data) == ("$SECRET", "${SECRET}.csv")
