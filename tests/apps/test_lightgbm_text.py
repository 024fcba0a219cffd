"""LightGBM files that would make LightGBM read beyond its memory, or walk in circles, are refused before."""

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest

from ssba.apps.lightgbm_text import broken_tree
from ssba.apps.model_files import ModelFile, load_model
from ssba.errors import ModelError

ROWS = np.random.default_rng(0).normal(size=(200, 3))
LEVELS = np.column_stack([ROWS[:, :2], np.random.default_rng(1).integers(0, 5, 200)])


def trained(labels: Any, rounds: int = 2, **settings: Any) -> str:
    rows = LEVELS if settings.pop("levels", False) else ROWS
    data = lightgbm.Dataset(rows, labels, categorical_feature=[2] if rows is LEVELS else [])
    chosen = {"objective": "regression", "num_leaves": 4, "verbose": -1, **settings}
    return str(lightgbm.train(chosen, data, rounds).model_to_string())


@pytest.mark.parametrize(
    "text",
    [
        trained(ROWS[:, 0]),
        trained(np.ones(200)),
        trained(ROWS[:, 0], num_leaves=2),
        trained(LEVELS[:, 2] % 2, levels=True),
        trained(ROWS[:, 0], linear_tree=True),
        trained(ROWS[:, 0], boosting="dart", num_leaves=31),
    ],
)
def test_what_lightgbm_writes_is_fine(tmp_path: Path, text: str) -> None:
    file = tmp_path / "m.txt"
    file.write_text(text)
    assert broken_tree(file) is None
    assert load_model(ModelFile(file)).num_feature() == 3


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("left_child", "1 -1 99999999", "has children that are not its nodes"),
        ("right_child", "2 -99999999 -4", "has children that are not its nodes"),
        ("left_child", "0 -1 -2", "has children that are not its nodes"),
        ("left_child", "1 -1", "has 4 leaves, but not 3 splits"),
        ("split_feature", "0 0 3", "splits columns that are not there; the last is 2"),
        ("split_feature", "-1 0 0", "splits columns that are not there; the last is 2"),
        ("num_leaves", "400000", "has 400000 leaves, but not 399999 splits"),
        ("num_leaves", "", "does not say how many leaves it has"),
    ],
)
def test_a_tree_that_points_elsewhere_is_refused_in_one_line(
    tmp_path: Path, name: str, value: str, said: str
) -> None:
    lines = trained(ROWS[:, 0]).splitlines()
    last = max(at for at, line in enumerate(lines) if line.startswith(f"{name}="))
    lines[last] = f"{name}={value}"
    file = tmp_path / "m.txt"
    file.write_text("\n".join(lines))
    with pytest.raises(ModelError) as caught:
        load_model(ModelFile(file))
    assert f"m.txt is damaged: tree 1 {said}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_whole_number_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "m.txt"
    file.write_text(trained(ROWS[:, 0]).replace("left_child=", "left_child=x "))
    with pytest.raises(ModelError, match=r"m\.txt cannot be loaded"):
        load_model(ModelFile(file))
