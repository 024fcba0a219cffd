"""The command `ssba`: what it prints, what it writes and how it leaves."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import ssba
from ssba.apps.cli import commands, main
from ssba.apps.demo.command import CHANGES, COHORT, MAP, PLAN, REPORT
from ssba.apps.demo.pictures import map_of
from ssba.apps.demo.study import DISEASE, HEALTHY, LEVERS, Study, train_model
from ssba.errors import ArgumentError
from ssba.models.oracle import Oracle

WIDTH = 80
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Run:
    """What a process printed, and the files it wrote."""

    out: str
    err: str
    code: int
    files: dict[str, bytes]


def run_without(modules: Sequence[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, in which some modules cannot be imported."""
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({list(modules)!r})); "
        "from ssba.apps.cli import main; main(sys.argv[1:])"
    )
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def run_demo(folder: Path, *arguments: str, missing: Sequence[str] = ()) -> Run:
    done = run_without(missing, "demo", "--out", str(folder), *arguments)
    files = {one.name: one.read_bytes() for one in folder.iterdir()}
    return Run(done.stdout, done.stderr, done.returncode, files)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_demo(tmp_path_factory.mktemp("demo") / "made" / "on demand")


@pytest.fixture(scope="module")
def study() -> Study:
    return train_model(seed=0)


@pytest.fixture(scope="module")
def healthy(study: Study) -> int:
    """A held-out patient whom the model does not take for ill."""
    return int(study.held_out.index[study.predicted == HEALTHY][0])


@pytest.fixture(scope="module")
def without_matplotlib(healthy: int, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("demo")
    return run_demo(folder, "--patient", str(healthy), missing=["matplotlib"])


def one_line(text: str) -> str:
    """Text as it was before it was wrapped."""
    return " ".join(text.split())


def test_version_is_told_and_leaves_with_0() -> None:
    result = CliRunner().invoke(commands(), ["--version"])
    assert result.exit_code == 0
    assert result.output == f"ssba {ssba.__version__}\n"


def test_installed_command_tells_the_same_version() -> None:
    command = Path(sys.executable).with_name("ssba")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"ssba {ssba.__version__}\n"


def test_help_names_every_command_and_the_exit_codes() -> None:
    result = CliRunner().invoke(commands(), ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output
    assert "Exit codes: 0 done, 1 refused with one line on stderr, 2 wrong usage" in one_line(result.output)


def test_completion_can_be_shown() -> None:
    result = CliRunner().invoke(commands(), ["--help"])
    assert "--install-completion" in result.output
    done = subprocess.run(
        [sys.executable, "-c", "from ssba.apps.cli import main; main()"],
        env={**os.environ, "_SSBA_COMPLETE": "complete_bash", "COMP_WORDS": "ssba ch", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert {"check", "check-certificate"} <= set(done.stdout.split())


def test_no_color_leaves_colours_out(tmp_path: Path) -> None:
    program = "from ssba.apps.cli import main; main(['check'])"
    colours = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **colours},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(r"\x1b\[[\d;]*3\dm", done.stdout) is None


def fail_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("ssba.apps.commands.check.open_choice", fail)


def test_debug_shows_where_an_error_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(ArgumentError("no"), monkeypatch)
    with pytest.raises(ArgumentError, match="no"):
        main(["--debug", "check"])
    with pytest.raises(SystemExit):
        main(["check"])


def test_unexpected_error_is_one_line_that_says_how_to_see_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(KeyError("a\nb"), monkeypatch)
    with pytest.raises(SystemExit) as left:
        main(["check"])
    assert left.value.code == 1
    told = capsys.readouterr().err
    assert told.startswith("ssba: unexpected KeyError: ")
    assert told.endswith("`ssba --debug COMMAND` shows where\n")
    assert told.count("\n") == 1
    fail_with(KeyError("a"), monkeypatch)
    with pytest.raises(KeyError):
        main(["--debug", "check"])


def test_interrupted_command_leaves_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ssba.apps.commands.check.open_choice", interrupt)
    with pytest.raises(SystemExit) as left:
        main(["check"])
    assert left.value.code == 130


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize(
    ("number", "code", "told"),
    [
        (signal.SIGINT, 130, "ssba: interrupted; nothing was begun\n"),
        (signal.SIGTERM, 143, "ssba: terminated; nothing was begun\n"),
    ],
)
def test_a_signal_before_a_command_begins_is_told_in_one_line(
    number: signal.Signals,
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("ssba.apps.cli.commands", lambda wanted: signal.raise_signal(number))
    before = signal.getsignal(number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(SystemExit) as left:
        main(["check"])
    assert left.value.code == code
    assert capsys.readouterr().err == told
    assert signal.getsignal(number) is before


def test_ctrl_c_ends_a_command_in_the_middle_of_an_explanation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ask: Callable[..., Any] = Oracle.output
    pressed: list[int] = []

    def press(*arguments: Any) -> Any:
        pressed.append(1)
        if len(pressed) == 40:
            signal.raise_signal(signal.SIGINT)
        return ask(*arguments)

    monkeypatch.setattr(Oracle, "output", press)
    with pytest.raises(SystemExit) as left:
        main(["demo", "--out", str(tmp_path)])
    assert left.value.code == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-command"],
        ["demo", "--seed", "-1"],
        ["demo", "--patient", "first"],
        ["demo", "--out", __file__],
    ],
    ids=["nothing", "unknown command", "negative seed", "no number", "a file as folder"],
)
def test_wrong_usage_leaves_with_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(commands(), arguments).exit_code == 2


@pytest.mark.parametrize(
    ("missing", "told"),
    [(["typer"], "typer"), (["rich", "typer"], "rich, typer"), (["sklearn"], "scikit-learn")],
    ids=["typer", "two", "scikit-learn"],
)
def test_without_its_extra_the_command_says_how_to_install_it(missing: list[str], told: str) -> None:
    done = run_without(missing, "demo")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"ssba: the command line needs {told}: pip install 'ssba[cli]'\n"


@pytest.mark.parametrize(
    ("patient", "why"), [("999", "is not in the data"), ("3", "was in the training rows")]
)
def test_refused_patient_is_told_in_one_line_and_leaves_with_1(
    patient: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["demo", "--patient", patient])
    told = capsys.readouterr()
    assert left.value.code == 1
    assert told.out == ""
    assert re.fullmatch(
        rf"ssba: --patient {patient} {why}; held-out patients whom the model takes for ill: [\d, ]+\n",
        told.err,
    )


def test_folder_that_cannot_be_made_is_told_in_one_line_and_leaves_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as left:
        main(["demo", "--out", str(tmp_path / "file" / "folder")])
    told = capsys.readouterr()
    assert left.value.code == 1
    assert told.err.startswith("ssba: ")
    assert told.err.count("\n") == 1


def test_demo_succeeds_and_prints_nothing_to_stderr(run: Run) -> None:
    assert (run.code, run.err) == (0, "")


def test_demo_writes_its_pictures_and_pages_into_a_folder_it_makes(run: Run) -> None:
    assert set(run.files) == {REPORT, COHORT, MAP, CHANGES, PLAN}
    assert run.files[MAP].startswith(PNG)
    for picture in (CHANGES, PLAN):
        assert ElementTree.fromstring(run.files[picture]).tag.endswith("svg")
    for page in (REPORT, COHORT):
        assert run.files[page].startswith(b"<!DOCTYPE html>")


def test_demo_prints_a_plan_with_ranges_that_ends_at_the_wished_answer(run: Run) -> None:
    turned = re.split(r"^Patient ", run.out, flags=re.MULTILINE)[1]
    steps = re.findall(r"^(\d) .*?([\d.]+)%, (.+?) *$", turned, flags=re.MULTILINE)
    assert [int(number) for number, _, _ in steps] == list(range(1, len(steps) + 1))
    assert [said for _, _, said in steps] == [DISEASE] * (len(steps) - 1) + [HEALTHY]
    assert float(steps[-1][1]) >= 50
    assert re.search(r"As ranges: Rows with .* reach 'no disease'", one_line(turned))


def test_demo_says_why_not_and_what_to_relax(run: Run) -> None:
    bounded = re.split(r"^Patient ", run.out, flags=re.MULTILINE)[2]
    assert re.search(
        r"Why not, and what to relax: .* A relaxation that is (just )?enough .*: let ",
        one_line(bounded),
    )


def test_piped_demo_fits_80_columns_and_has_no_colour_codes(run: Run) -> None:
    assert max(map(len, run.out.splitlines())) <= WIDTH
    assert "\x1b" not in run.out


def test_demo_shows_a_turned_answer_and_then_a_bounded_move(run: Run) -> None:
    turned, bounded = re.split(r"^Patient ", run.out, flags=re.MULTILINE)[1:3]
    assert "the nearest change" in turned
    assert re.search(rf"the model's answer +{DISEASE} +{HEALTHY}", turned)
    assert "only a bounded move" in bounded
    assert re.search(rf"the model's answer +{DISEASE} +{DISEASE}", bounded)
    assert re.search(r"nearest to the boundary: \d+\.\d\d is left", one_line(bounded))


@pytest.mark.parametrize("part", [1, 2], ids=["turned", "bounded"])
def test_proposals_raise_the_wished_probability(run: Run, part: int) -> None:
    shown = re.split(r"^Patient ", run.out, flags=re.MULTILINE)[part]
    found = re.search(rf"probability of {HEALTHY} +([\d.]+)% +([\d.]+)%", shown)
    assert found is not None
    before, after = map(float, found.groups())
    assert before < after
    assert (after >= 50) == (part == 1)


def test_printed_plan_is_what_the_library_answers(run: Run, study: Study) -> None:
    (patient, *_) = re.findall(r"^Patient (\d+)", run.out, flags=re.MULTILINE)
    answer = study.explainer.explain(study.held_out.loc[int(patient)], study.rules)
    assert answer.sentence in one_line(run.out)
    assert f"{answer.rows_used} model rows" in run.out


def test_demo_says_once_that_it_explains_the_model_only(run: Run) -> None:
    assert one_line(run.out).count("It is not causal, and it is not medical advice.") == 1


def test_demo_credits_the_data(run: Run, study: Study) -> None:
    assert study.heart.attribution in one_line(run.out)


@pytest.mark.slow
def test_demo_without_matplotlib_says_in_one_line_that_the_map_was_skipped(
    without_matplotlib: Run,
) -> None:
    assert (without_matplotlib.code, set(without_matplotlib.files)) == (0, {REPORT, COHORT})
    told = "The map was skipped: it needs matplotlib, pip install 'ssba[plot]'.\n"
    assert told in without_matplotlib.out


@pytest.mark.slow
def test_demo_answers_for_a_patient_with_nothing_to_change(without_matplotlib: Run, healthy: int) -> None:
    assert f"Patient {healthy} (" in without_matplotlib.out
    assert "nothing to change" in one_line(without_matplotlib.out)


def test_map_of_a_patient_with_nothing_to_change_has_no_answer(study: Study, healthy: int) -> None:
    assert map_of(study, healthy).answer is None


def test_every_answer_of_the_demo_keeps_its_rules(study: Study) -> None:
    for answer in study.explainer.explain_many(study.at_risk.head(8), study.rules):
        proposed = answer.best or answer.bounded
        assert proposed is not None
        for column, (now, then) in proposed.changes.items():
            if column == "exang":
                assert (now, then) == ("yes", "no")
                continue
            # The rules table: up or down only, and by a share; nothing else may change.
            sign = 1 if LEVERS[column].way == "up" else -1
            assert 0 < sign * (then - now) <= now * LEVERS[column].percent / 100


def test_split_and_model_depend_on_the_seed_alone(study: Study) -> None:
    again = train_model(seed=0)
    assert again.held_out.equals(study.held_out)
    assert (again.predicted == study.predicted).all()


def test_map_holds_the_other_cells_and_its_points_lie_on_the_models_boundary(study: Study) -> None:
    # The patient of whom the model is least sure, so that the boundary crosses the picture.
    chances = study.model.predict_proba(study.at_risk)[:, list(study.model.classes_).index(HEALTHY)]
    row = study.at_risk.iloc[int(chances.argmax())]
    drawn = map_of(study, int(str(row.name)))
    assert drawn.query == (row["thalach"], row["oldpeak"])
    assert drawn.reached.shape == (len(drawn.y.values), len(drawn.x.values))
    assert len(drawn.boundary) > 0
    for x, y in drawn.boundary.tolist():
        # One row of the grid a tenth of a millimetre, one column a beat.
        i, j = round((y - drawn.y.values[0]) * 10), round(x - drawn.x.values[0])
        around = drawn.reached[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2]
        assert drawn.reached[i, j]
        assert not around.all()


def test_commands_need_only_what_their_own_extra_brings() -> None:
    """On a machine with the extra `cli` alone, what other extras bring is not there."""
    program = """
import sys

class Absent:
    def find_spec(self, name, *_):
        if name.split(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Absent())
from ssba.apps.cli import commands
commands()
import ssba.apps.demo.command
"""
    others = [
        "anyio",
        "fastapi",
        "httpx2",
        "mcp",
        "onnxruntime",
        "ortools",
        "prometheus_client",
        "pyarrow",
        "ray",
    ]
    others += ["starlette", "torch", "uvicorn"]
    done = subprocess.run(
        [sys.executable, "-c", program, *others], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
