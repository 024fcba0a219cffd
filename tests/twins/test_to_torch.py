"""What `ssba.to_torch` returns, reports and refuses."""

import pickle
import re
from collections.abc import Callable
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import ssba
from ssba import extras
from ssba.errors import ArgumentError, MissingExtra, ModelError

_rng = np.random.default_rng(2)
X = _rng.normal(size=(200, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])


class TestTheModule:
    def test_it_is_a_module_of_buffers_in_eval_mode(self) -> None:
        twin = ssba.to_torch(LogisticRegression().fit(X, Y), X)
        assert isinstance(twin, torch.nn.Module)
        assert not twin.training
        assert list(twin.parameters()) == []
        assert len(twin.state_dict()) == 2

    def test_the_original_is_kept_and_not_changed(self) -> None:
        model = MLPClassifier((4,), max_iter=2000, random_state=0).fit(X, Y)
        before = pickle.dumps(model)
        twin = ssba.to_torch(model, X)
        assert twin.original is model
        assert pickle.dumps(model) == before

    def test_gradients_pass_through_where_there_are_some(self) -> None:
        twin = ssba.to_torch(LogisticRegression().fit(X, Y), X)
        rows = torch.tensor(X, requires_grad=True)
        twin(rows)[:, 1].sum().backward()
        assert rows.grad is not None
        assert float(rows.grad.abs().min()) > 0

    def test_dtype_and_device_are_those_asked_for(self) -> None:
        twin = ssba.to_torch(LogisticRegression().fit(X, Y), X, dtype=torch.float32, device="cpu")
        assert (twin.dtype, twin.device) == (torch.float32, torch.device("cpu"))
        assert ssba.to_torch(LogisticRegression().fit(X, Y), X).dtype == torch.float64

    @pytest.mark.parametrize("dtype", ["float32", torch.int32])
    def test_what_is_no_dtype_of_real_numbers_is_refused(self, dtype: Any) -> None:
        said = f"dtype is {dtype!r}; give a torch dtype of real numbers, such as torch.float32"
        with pytest.raises(ArgumentError, match=re.escape(said)):
            ssba.to_torch(SVC().fit(X, Y), X, dtype=dtype)

    @pytest.mark.parametrize("device", ["gpu9", "cuda:4711", "meta", 3.5])
    def test_a_device_that_torch_cannot_use_is_refused(self, device: Any) -> None:
        said = (
            rf"device is {device!r}, which torch cannot use here \(.+\); give one that it can, such as 'cpu'"
        )
        with pytest.raises(ArgumentError, match=said):
            ssba.to_torch(SVC().fit(X, Y), X, device=device)

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
    def test_the_same_answers_on_a_gpu(self) -> None:
        twin = ssba.to_torch(DecisionTreeClassifier().fit(X, THREE), X, device="cuda")
        assert twin.device.type == "cuda"
        assert twin.agreement.differing == twin.agreement.near_differing == 0

    def test_it_can_be_pickled(self) -> None:
        twin = ssba.to_torch(DecisionTreeClassifier().fit(X, Y), X)
        again = pickle.loads(pickle.dumps(twin))  # noqa: S301 - written a moment ago
        assert again.agreement == twin.agreement
        torch.testing.assert_close(again(torch.tensor(X)), twin(torch.tensor(X)))

    def test_rows_of_another_width_are_refused(self) -> None:
        twin = ssba.to_torch(LogisticRegression().fit(X, Y), X)
        with pytest.raises(ModelError, match=r"takes rows of shape \[n, 3\], got \[200, 2\]"):
            twin(torch.tensor(X[:, :2]))


class TestAgreement:
    def test_it_counts_background_rows_and_both_sides_of_the_boundary(self) -> None:
        model = LogisticRegression().fit(X, Y)
        agreement = ssba.to_torch(model, X).agreement
        # A segment from each of the 200 rows, with two ends.
        assert (agreement.rows, agreement.near_rows) == (200, 400)
        assert (agreement.share, agreement.near_share) == (0.0, 0.0)
        assert agreement.largest_difference < 1e-14

    def test_32_bits_differ_beside_the_boundary_and_it_says_so(self) -> None:
        # Far away from zero 32 bits are coarse: next to 1,000 they come in steps of 6e-5.
        far = X + 1e3
        model = LogisticRegression().fit(X, Y)
        model.intercept_ = model.intercept_ - 1e3 * model.coef_.sum(axis=1)
        twin = ssba.to_torch(model, far, dtype=torch.float32)
        assert 0 < twin.agreement.near_share < 1
        assert f"({twin.agreement.near_share:.2%}); scores are at most" in repr(twin)
        assert repr(twin).startswith("<torch twin of LogisticRegression, float32 on cpu: labels differ on ")

    def test_of_a_regressor_numbers_are_compared(self) -> None:
        twin = ssba.to_torch(LinearRegression().fit(X, X[:, 0]), X)
        assert twin.agreement.is_regressor
        assert "numbers differ on 0 of 200 background rows (0.00%) and on 0 of 200 rows between" in repr(twin)

    def test_rows_with_missing_cells_are_left_out_where_the_model_does_not_take_them(self) -> None:
        gaps = np.where(np.arange(600).reshape(200, 3) % 20 == 0, np.nan, X)
        complete = int((~np.isnan(gaps).any(axis=1)).sum())
        linear = ssba.to_torch(LogisticRegression().fit(X, Y), gaps)
        assert linear.agreement.rows == complete < 200
        assert ssba.to_torch(HistGradientBoostingClassifier(max_iter=3).fit(X, Y), gaps).agreement.rows == 200

    def test_one_predicted_class_has_no_boundary(self) -> None:
        model = LogisticRegression().fit(X, Y)
        agreement = ssba.to_torch(model, X[model.predict(X) == 1]).agreement
        assert agreement.near_rows == 0
        assert agreement.near_share == 0.0

    def test_many_rows_are_compared_on_ten_thousand_of_them(self) -> None:
        model = LogisticRegression().fit(X, Y)
        assert ssba.to_torch(model, _rng.normal(size=(25_000, 3))).agreement.rows == 10_000

    def test_labels_that_do_not_follow_are_refused(self) -> None:
        model: Any = LogisticRegression().fit(X, Y)
        model.predict = lambda rows: np.where(
            rows[:, 2] > 0.5, 0, (model.decision_function(rows) > 0).astype(int)
        )
        with pytest.raises(
            ModelError, match=r"LogisticRegression does not answer as .* 1% is allowed: labels differ"
        ):
            ssba.to_torch(model, X)

    def test_probabilities_that_do_not_follow_are_refused(self) -> None:
        model: Any = LogisticRegression().fit(X, Y)
        sure = model.predict_proba
        model.predict_proba = lambda rows: (sure(rows) + 0.5) / 2
        with pytest.raises(ModelError, match=r"does not answer as the model does on 100.0%"):
            ssba.to_torch(model, X)


def category_splits() -> Any:
    codes = np.column_stack([X[:, 0], _rng.integers(0, 6, 200)])
    wanted = np.isin(codes[:, 1], [1, 4])
    return HistGradientBoostingClassifier(categorical_features=[1], max_iter=3).fit(codes, wanted), codes


def lightgbm_category_splits() -> Any:
    codes = np.column_stack([X[:, 0], _rng.integers(0, 6, 200)])
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1, min_data_per_group=1)
    return model.fit(codes, np.isin(codes[:, 1], [1, 4]), categorical_feature=[1]), codes


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "neighbours": (lambda: (KNeighborsClassifier(3).fit(X, Y), X), "KNeighborsClassifier is neither"),
    "calibrated": (
        lambda: (CalibratedClassifierCV(LogisticRegression()).fit(X, Y), X),
        "CalibratedClassifierCV bends",
    ),
    "one a class": (
        lambda: (OneVsRestClassifier(LogisticRegression()).fit(X, THREE), X),
        "OneVsRestClassifier: it is of no kind that is known",
    ),
    "threshold": (
        lambda: (FixedThresholdClassifier(LogisticRegression(), threshold=0.3).fit(X, Y), X),
        "FixedThresholdClassifier: it decides by a threshold",
    ),
    "catboost": (
        lambda: (
            catboost.CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False).fit(X, Y),
            X,
        ),
        "CatBoostClassifier: it is of no kind that is known",
    ),
    "kernel": (
        lambda: (SVC(kernel=lambda a, b: a @ b.T).fit(X, Y), X),
        "SVC: its kernel is of the user's own",
    ),
    "pairs": (
        lambda: (SVC(decision_function_shape="ovo").fit(X, THREE), X),
        "SVC: its decision_function_shape is 'ovo'.*set it to 'ovr'",
    ),
    "link": (
        lambda: (MLPRegressor("poisson", hidden_layer_sizes=(4,), max_iter=5000).fit(X, X[:, 0] ** 2), X),
        "MLPRegressor: its loss puts exp behind the last layer",
    ),
    "categories": (category_splits, "HistGradientBoostingClassifier: its trees split categories"),
    "lightgbm's categories": (lightgbm_category_splits, "LGBMClassifier: its trees split categories"),
    "bent": (
        lambda: (HistGradientBoostingRegressor(loss="poisson", max_iter=3).fit(X, X[:, 0] ** 2), X),
        "HistGradientBoostingRegressor: its answers are not sums of the leaves",
    ),
    "begun by another": (
        lambda: (GradientBoostingRegressor(init=LinearRegression(), n_estimators=3).fit(X, X[:, 0] + Y), X),
        "GradientBoostingRegressor: the boosting begins with what another model says",
    ),
}


class TestRefused:
    @pytest.mark.parametrize("case", REFUSED)
    def test_models_of_other_kinds_by_name(self, case: str) -> None:
        make, words = REFUSED[case]
        model, data = make()
        with pytest.raises(ModelError, match=words) as refused:
            ssba.to_torch(model, data)
        assert "cannot make a torch module of" in str(refused.value)
        assert "It knows linear models; SVC" in str(refused.value)

    def test_functions(self) -> None:
        with pytest.raises(ModelError, match="torch module of function: a function cannot be opened"):
            ssba.to_torch(lambda rows: rows[:, 0] > 0, X)

    def test_torch_modules(self) -> None:
        with pytest.raises(ModelError, match="Linear is a torch module already"):
            ssba.to_torch(torch.nn.Linear(3, 2), X)

    def test_classes_and_models_that_were_not_fitted(self) -> None:
        with pytest.raises(ModelError, match="LogisticRegression is a class, not a model"):
            ssba.to_torch(LogisticRegression, X)
        with pytest.raises(ModelError, match="fit the model before"):
            ssba.to_torch(LogisticRegression(), X)

    def test_without_torch_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(extras, "find_spec", lambda _: None)
        with pytest.raises(MissingExtra, match=r"ssba.to_torch needs torch: pip install 'ssba\[torch\]'"):
            ssba.to_torch(LogisticRegression().fit(X, Y), X)


def test_frames_are_read_in_their_own_form() -> None:
    people = pd.DataFrame(
        {"age": np.round(40 + 10 * X[:, 0]).astype(int), "smokes": X[:, 1] > 0, "dose": X[:, 2]}
    )
    model = LogisticRegression(max_iter=1000).fit(people, Y)
    twin = ssba.to_torch(model, people)
    np.testing.assert_allclose(
        twin(torch.tensor(people.to_numpy(dtype=float))).numpy(),
        model.predict_proba(people),
        rtol=0,
        atol=1e-12,
    )
