"""`ssba boundary`: real files, real models, and what each command prints, writes and leaves with."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xgboost
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from skops import io as skops_io

import ssba
from ssba.apps.cli import main

HEALTHY = "no disease"
NUMBERS = ["age", "trestbps", "chol", "thalach", "oldpeak"]


@dataclass(frozen=True)
class Told:
    """What a command printed, and how it left."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Files:
    """The heart data as CSV, with a column that is no finding, and a model before and after training anew."""

    folder: Path
    model: Pipeline
    retrained: Pipeline

    def options(self, model: str = "model.skops") -> list[str]:
        return [
            *("--data", str(self.folder / "heart.csv"), "--model", str(self.folder / model)),
            *("--labels", "diagnosis", "--ignore", "id", "--target", HEALTHY),
        ]


def trained(frame: Any, target: Any) -> Pipeline:
    numbers = list(frame.select_dtypes("number").columns)
    words = [name for name in frame.columns if name not in numbers]
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), words),
    )
    return make_pipeline(encode, LogisticRegression()).fit(frame, target)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("heart")
    heart = ssba.datasets.load_heart()
    heart.frame.assign(id=range(303), diagnosis=heart.target).to_csv(folder / "heart.csv", index=False)
    model, retrained = trained(heart.frame, heart.target), trained(heart.frame[::2], heart.target[::2])
    skops_io.dump(model, folder / "model.skops")
    skops_io.dump(retrained, folder / "retrained.skops")
    joblib.dump(model, folder / "model.joblib")
    return Files(folder, model, retrained)


class Runner:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str | Path) -> Told:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(["boundary", *map(str, arguments)])
        out, err = self.capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Told(left.value.code, out, err)


@pytest.fixture
def ssba_boundary(capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(capsys)


@pytest.fixture
def index(files: Files, ssba_boundary: Runner, tmp_path: Path) -> Path:
    """An index of 200 points."""
    path = tmp_path / "heart.boundary"
    assert ssba_boundary("build", path, *files.options(), "--points", "200").code == 0
    return path


def points_of(index: Path) -> int:
    return int(ssba.boundary_info(index)["points"])


def digest(files: Files, index: Path) -> str:
    frame = pd.read_csv(files.folder / "heart.csv").drop(columns=["id", "diagnosis"])
    return ssba.Explainer(files.model, frame, HEALTHY).open_boundary(index).digest()


def test_build_writes_what_the_library_samples(files: Files, index: Path) -> None:
    table = pd.read_csv(files.folder / "heart.csv")
    explainer = ssba.Explainer(files.model, table.drop(columns=["id", "diagnosis"]), HEALTHY)
    wanted = explainer.sample_boundary(200, labels=table["diagnosis"])
    assert explainer.open_boundary(index).digest() == wanted.digest()
    # The labels are used: without them wrongly predicted rows are paired, too.
    assert explainer.sample_boundary(200).digest() != wanted.digest()


def test_build_says_what_was_made(files: Files, ssba_boundary: Runner, tmp_path: Path) -> None:
    told = ssba_boundary("build", tmp_path / "new", *files.options(), "--points", "50")
    assert (told.code, told.err) == (0, "")
    assert re.fullmatch(
        rf"{re.escape(str(tmp_path))}/new: 50 boundary points toward 'no disease', from 50 of [\d,]+ pairs "
        r"of rows; [\d,]+ model rows asked now\n",
        told.out,
    )


def test_build_goes_on_with_an_index_that_was_begun_and_asks_only_what_is_new(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path
) -> None:
    told = ssba_boundary("build", index, *files.options(), "--points", "300")
    first, second = told.out.splitlines()
    assert first == f"{index} is there already, with 200 points: going on with it"
    assert "300 boundary points" in second
    again = ssba_boundary("build", index, *files.options(), "--points", "300")
    assert "; 0 model rows asked now" in again.out
    ssba_boundary("build", tmp_path / "at once", *files.options(), "--points", "300")
    assert digest(files, index) == digest(files, tmp_path / "at once")


def test_build_refuses_the_index_of_another_model(files: Files, ssba_boundary: Runner, index: Path) -> None:
    told = ssba_boundary("build", index, *files.options("retrained.skops"), "--points", "300")
    assert told.code == 1
    assert told.err.startswith(f"ssba: {index} ")
    assert told.err.count("\n") == 1
    assert points_of(index) == 200


def test_more_points_than_pairs_are_warned_about_in_one_line(
    files: Files, ssba_boundary: Runner, tmp_path: Path
) -> None:
    heart = pd.read_csv(files.folder / "heart.csv")
    few = tmp_path / "few.csv"
    heart.groupby("diagnosis").head(5).to_csv(few, index=False)
    options = [*files.options(), "--data", str(few), "--points", "1000"]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        told = ssba_boundary("build", tmp_path / "few.boundary", *options)
    assert told.code == 0
    assert re.fullmatch(
        r"ssba: warning: 1,000 pairs were asked for, but the background rows make only \d+; "
        r"[^\n]*\n",
        told.err,
    )


def test_parts_together_are_the_whole(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path
) -> None:
    for part in ("2/2", "1/2"):
        told = ssba_boundary("build", tmp_path / "parts", *files.options(), "--points", "200", "--part", part)
        assert told.code == 0
    assert digest(files, tmp_path / "parts") == digest(files, index)


def test_every_crossing_is_another_set_than_one_of_each(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path
) -> None:
    options = [*files.options(), "--points", "200", "--all-crossings"]
    assert ssba_boundary("build", tmp_path / "all", *options).code == 0
    assert digest(files, tmp_path / "all") != digest(files, index)


@pytest.mark.parametrize("wanted", [["--points", "260"], ["--more", "60"]], ids=["in all", "more"])
def test_grow_adds_points(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path, wanted: list[str]
) -> None:
    told = ssba_boundary("grow", index, *files.options(), *wanted)
    assert told.code == 0
    assert points_of(index) == 260
    ssba_boundary("build", tmp_path / "at once", *files.options(), "--points", "260")
    assert digest(files, index) == digest(files, tmp_path / "at once")


def test_grow_makes_no_new_index(files: Files, ssba_boundary: Runner, tmp_path: Path) -> None:
    told = ssba_boundary("grow", tmp_path / "typo", *files.options(), "--more", "60")
    assert told.code == 1
    assert "typo" in told.err
    assert not (tmp_path / "typo").exists()


def test_info_needs_neither_data_nor_model(ssba_boundary: Runner, index: Path) -> None:
    told = ssba_boundary("info", index)
    assert told.code == 0
    facts = dict(re.split(r"  +", line, maxsplit=1) for line in told.out.splitlines())
    assert facts["points"] == "200"
    assert facts["target"] == "'no disease'"
    assert facts["model"].startswith("Pipeline (")
    assert facts["columns"].startswith("age (integer), sex (categorical), ")


def test_info_as_json_is_what_the_library_tells(ssba_boundary: Runner, index: Path) -> None:
    told = ssba_boundary("info", index, "--json")
    assert json.loads(told.out) == ssba.boundary_info(index)


def test_verify_of_points_that_hold_leaves_with_0(files: Files, ssba_boundary: Runner, index: Path) -> None:
    told = ssba_boundary("verify", index, *files.options())
    assert (told.code, told.out) == (0, "200 of 200 points asked about still reach the target\n")


def test_verify_of_a_sample_asks_about_so_many(files: Files, ssba_boundary: Runner, index: Path) -> None:
    told = ssba_boundary("verify", index, *files.options(), "--sample", "30", "--json")
    assert told.code == 0
    assert json.loads(told.out) == {"points": 200, "asked": 30, "held": 30, "broken": 0, "dropped": 0}


def test_points_that_no_longer_hold_are_counted_and_leave_with_3(
    ssba_boundary: Runner, tmp_path: Path
) -> None:
    rows = pd.DataFrame({"x": np.arange(8.0)})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    options: dict[str, list[str | Path]] = {}
    # Two trees that agree on all whole numbers, but of which one turns at 3.5 and one at 3.9.
    for name, highest_low in (("first", 3.0), ("second", 3.8)):
        seen = pd.DataFrame({"x": [0.0, highest_low, 4.0, 7.0]})
        tree = DecisionTreeClassifier().fit(seen, ["low", "low", "high", "high"])
        joblib.dump(tree, tmp_path / f"{name}.joblib")
        options[name] = ["--data", tmp_path / "rows.csv", "--model", tmp_path / f"{name}.joblib"]
        options[name] += ["--trust-pickle", "--target", "high"]
    ssba_boundary("build", tmp_path / "index", *options["first"], "--points", "16")
    told = ssba_boundary("verify", tmp_path / "index", *options["second"])
    assert told.code == 3
    assert told.out == "0 of 16 points asked about still reach the target, 16 do not\n"
    assert points_of(tmp_path / "index") == 16
    told = ssba_boundary("verify", tmp_path / "index", *options["second"], "--drop")
    assert told.code == 0
    assert told.out == "0 of 16 points asked about still reach the target, 16 do not and were dropped\n"
    assert points_of(tmp_path / "index") == 0


def test_verify_by_a_retrained_model_counts_what_it_would_drop_and_changes_nothing(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path
) -> None:
    ssba_boundary("export", index, "--out", tmp_path / "points.csv", *files.options())
    points = pd.read_csv(tmp_path / "points.csv")
    held = int((files.retrained.predict(points) == HEALTHY).sum())
    told = ssba_boundary("verify", index, *files.options("retrained.skops"))
    assert told.code == 3
    assert told.out == f"{held} of 200 points asked about still reach the target, {200 - held} do not\n"
    assert ssba_boundary("verify", index, *files.options()).code == 0


def test_dropping_keeps_the_points_that_the_retrained_model_puts_on_the_same_side(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path
) -> None:
    ssba_boundary("export", index, "--out", tmp_path / "before.csv", *files.options())
    before = pd.read_csv(tmp_path / "before.csv")
    held = int((files.retrained.predict(before) == HEALTHY).sum())
    assert 0 < held < 200
    told = ssba_boundary("verify", index, *files.options("retrained.skops"), "--drop", "--json")
    assert told.code == 0
    wanted = {"points": 200, "asked": 200, "held": held, "broken": 200 - held, "dropped": 200 - held}
    assert json.loads(told.out) == wanted
    assert points_of(index) == held
    again = ssba_boundary("verify", index, *files.options("retrained.skops"))
    assert (again.code, again.out) == (0, f"{held} of {held} points asked about still reach the target\n")


def test_dropping_nothing_says_so(files: Files, ssba_boundary: Runner, index: Path) -> None:
    told = ssba_boundary("verify", index, *files.options(), "--drop")
    assert (told.code, told.out) == (0, "200 of 200 points asked about still reach the target\n")


def read_arrow(path: Path) -> Any:
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.read_all().to_pandas()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("p.parquet", pd.read_parquet),
        ("p.arrow", read_arrow),
        ("p.csv", pd.read_csv),
        ("p.csv.gz", pd.read_csv),
    ],
)
def test_export_writes_the_points_in_the_columns_of_the_data(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path, name: str, read: Any
) -> None:
    told = ssba_boundary("export", index, "--out", tmp_path / name, *files.options())
    assert (told.code, told.out) == (0, f"{tmp_path / name}: 200 boundary points toward 'no disease'\n")
    rows = read(tmp_path / name)
    data = pd.read_csv(files.folder / "heart.csv").drop(columns=["id", "diagnosis"])
    assert list(rows.columns) == list(data.columns)
    assert len(rows) == 200
    assert set(files.model.predict(rows)) == {HEALTHY}
    assert [one.name for one in tmp_path.iterdir() if "unfinished" in one.name] == []


def test_export_overwrites_only_when_told_to(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path
) -> None:
    out = tmp_path / "mine.csv"
    out.write_text("precious")
    told = ssba_boundary("export", index, "--out", out, *files.options())
    assert told.code == 1
    assert told.err == f"ssba: {out} is there already; choose another name, or add --force to overwrite it\n"
    assert out.read_text() == "precious"
    assert ssba_boundary("export", index, "--out", out, *files.options(), "--force").code == 0
    assert len(pd.read_csv(out)) == 200


def test_export_to_a_folder_that_is_not_there_is_refused_in_one_line(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path
) -> None:
    told = ssba_boundary("export", index, "--out", tmp_path / "no" / "p.csv", *files.options())
    assert told.code == 1
    assert told.err.count("\n") == 1
    assert f"there is no folder {tmp_path / 'no'}; make it first" in told.err


def test_export_by_an_unknown_ending_names_the_known_ones(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path
) -> None:
    told = ssba_boundary("export", index, "--out", tmp_path / "points.xlsx", *files.options())
    assert told.code == 1
    assert told.err.endswith("the name must end in one of .parquet, .arrow, .csv, .csv.gz\n")


def test_repair_of_a_sound_index_changes_nothing(files: Files, ssba_boundary: Runner, index: Path) -> None:
    before = digest(files, index)
    told = ssba_boundary("repair", index)
    assert told.code == 0
    assert told.out.startswith("nothing to repair\n")
    assert digest(files, index) == before


def test_repair_drops_a_damaged_file_and_growing_brings_its_points_back(
    files: Files, ssba_boundary: Runner, index: Path
) -> None:
    before = digest(files, index)
    (shard,) = (index / "shards").iterdir()
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.chmod(0o644)
    shard.write_bytes(content)
    refused = ssba_boundary("verify", index, *files.options())
    assert refused.code == 1
    assert shard.name in refused.err
    told = ssba_boundary("repair", index)
    assert told.code == 0
    assert "200 points lost" in told.out
    assert points_of(index) == 0
    assert ssba_boundary("grow", index, *files.options(), "--points", "200").code == 0
    assert digest(files, index) == before


def test_pickle_is_refused_in_one_line_and_with_trust_warned_about(
    files: Files, ssba_boundary: Runner, tmp_path: Path
) -> None:
    arguments: list[str | Path] = [
        "build",
        tmp_path / "new",
        *files.options("model.joblib"),
        "--points",
        "50",
    ]
    refused = ssba_boundary(*arguments)
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "--trust-pickle" in refused.err
    assert not (tmp_path / "new").exists()
    told = ssba_boundary(*arguments, "--trust-pickle")
    assert told.code == 0
    assert re.fullmatch(r"ssba: warning: .*model\.joblib is a pickle: .*\n", told.err)


def test_pickled_and_skops_model_share_an_index(files: Files, ssba_boundary: Runner, index: Path) -> None:
    told = ssba_boundary("verify", index, *files.options("model.joblib"), "--trust-pickle")
    assert told.code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["export", "new", "--data", "a.csv", "--model", "b.skops"],
        ["build", "new", "--data", "a.csv", "--model", "b.skops"],
        ["build", "new", "--data", "a.csv", "--model", "b.skops", "--points", "0"],
        ["build", "new", "--data", "a.csv", "--model", "b.skops", "--points", "5", "--part", "0/4"],
        ["build", "new", "--data", "a.csv", "--model", "b.skops", "--points", "5", "--part", "half"],
        ["grow", "new", "--data", "a.csv", "--model", "b.skops"],
        ["grow", "new", "--data", "a.csv", "--model", "b.skops", "--points", "5", "--more", "5"],
        ["verify", "new", "--data", "a.csv", "--model", "b.skops", "--drop", "--sample", "5"],
        ["info"],
    ],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_wrong_usage_leaves_with_2(ssba_boundary: Runner, arguments: list[str]) -> None:
    assert ssba_boundary(*arguments).code == 2


def test_project_file_names_data_model_and_index(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"data": files.folder / "heart.csv", "model": files.folder / "model.skops", "target": HEALTHY}
    said |= {"labels": "diagnosis", "id": "id", "index": "own.boundary"}
    lines = [f'{key} = "{value}"' for key, value in said.items()]
    (tmp_path / "ssba.toml").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    told = ssba_boundary("build", "--points", "200")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("own.boundary: 200 boundary points")
    assert digest(files, tmp_path / "own.boundary") == digest(files, index)
    assert ssba_boundary("grow", "--more", "20").code == 0
    assert ssba_boundary("verify").out == "220 of 220 points asked about still reach the target\n"
    assert ssba_boundary("export", "--out", "points.csv").code == 0
    assert ssba_boundary("verify", index).out.startswith("200 of 200 "), "an index that is named counts"


def test_without_an_index_anywhere_it_is_asked_for(
    ssba_boundary: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = ssba_boundary("verify")
    assert told.code == 1
    assert told.err.splitlines()[1].startswith(
        "ssba: INDEX is missing: name the folder of the index, or write "
    )


@pytest.mark.parametrize("command", ["info", "repair"])
def test_folder_without_an_index_is_refused_in_one_line(
    ssba_boundary: Runner, tmp_path: Path, command: str
) -> None:
    told = ssba_boundary(command, tmp_path / "nothing")
    assert (told.code, told.out, told.err.count("\n")) == (1, "", 1)
    assert "nothing" in told.err


def run_apart(*arguments: str, missing: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, in which some modules cannot be imported."""
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({list(missing)!r})); "
        "from ssba.apps.cli import main; main(sys.argv[1:])"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )


def test_missing_extra_is_told_with_the_way_to_install_it_and_leaves_with_2(
    files: Files, index: Path, tmp_path: Path
) -> None:
    arguments = ["boundary", "export", str(index), "--out", str(tmp_path / "p.parquet"), *files.options()]
    done = run_apart(*arguments, missing=["pyarrow"])
    assert done.returncode == 2
    assert done.stderr == "ssba: writing p.parquet needs pyarrow: pip install 'ssba[arrow]'\n"
    done = run_apart(*arguments, missing=["skops"])
    assert done.returncode == 2
    assert done.stderr == "ssba: reading a skops file needs skops: pip install 'ssba[skops]'\n"


def test_piped_build_prints_no_progress_bar(files: Files, tmp_path: Path) -> None:
    done = run_apart("boundary", "build", str(tmp_path / "new"), *files.options(), "--points", "50")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


def test_build_shows_its_progress_in_a_terminal(files: Files, tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    rows, columns = 24, 100
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    arguments = ["boundary", "build", str(tmp_path / "new"), *files.options(), "--points", "50"]
    program = "import sys; from ssba.apps.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=end, check=True
    )
    os.close(end)
    with open(terminal, "rb", buffering=0) as screen:
        shown = screen.read(4096).decode()
    assert re.search(r"boundary points: +0%.* 0/50 ", shown)
    assert done.stdout.decode().count("\n") == 1


def test_interrupted_build_keeps_its_index_and_goes_on_later(files: Files, tmp_path: Path) -> None:
    heart = pd.read_csv(files.folder / "heart.csv")
    numbers = heart[NUMBERS]
    # A model so slow that the build takes far longer than it takes to interrupt it.
    slow = RandomForestClassifier(100, random_state=0).fit(numbers, heart["diagnosis"])
    joblib.dump(slow, tmp_path / "slow.joblib")
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    index = tmp_path / "slow.boundary"
    options = ["--data", str(tmp_path / "numbers.csv"), "--model", str(tmp_path / "slow.joblib")]
    options += ["--trust-pickle", "--target", HEALTHY]
    # The handler is set because a runner that was started in the background hands down a deaf process.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from ssba.apps.cli import main; main(sys.argv[1:])"
    )
    build = subprocess.Popen(
        [sys.executable, "-c", program, "boundary", "build", str(index), *options, "--points", "20000"],
        stderr=subprocess.PIPE,
        text=True,
    )
    while build.poll() is None and not any(index.glob("manifest-*")):
        time.sleep(0.02)
    build.send_signal(signal.SIGINT)
    _, err = build.communicate()
    assert build.returncode == 130
    assert err.splitlines()[1:] == [
        f"ssba: interrupted; what was found until now is in {index}; go on with --points 20000"
    ]
    kept = points_of(index)
    assert kept < 20000
    done = run_apart("boundary", "grow", str(index), *options, "--points", "20")
    assert done.returncode == 0
    assert points_of(index) == max(kept, 20)


def test_interruption_while_the_model_is_loaded_changes_nothing(
    files: Files, ssba_boundary: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, called: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ssba.apps.project.choice.read_table", interrupted)
    told = ssba_boundary("build", tmp_path / "new", *files.options(), "--points", "5")
    assert (told.code, told.err) == (130, "ssba: interrupted; nothing was changed\n")
    assert not (tmp_path / "new").exists()


def test_interrupted_export_leaves_no_file(
    files: Files, ssba_boundary: Runner, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(boundary: ssba.index.BoundarySet, file: Path) -> None:
        Path(file).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(ssba.index.BoundarySet, "to_parquet", write_half)
    told = ssba_boundary("export", index, "--out", tmp_path / "p.parquet", *files.options())
    assert told.code == 130
    assert told.err == f"ssba: interrupted; {tmp_path / 'p.parquet'} was not written\n"
    assert [one for one in tmp_path.iterdir() if one.is_file()] == []


def save_onnx(rows: Any, ill: Any, path: Path) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, ill)
    exported = to_onnx(model, rows.to_numpy(np.float32)[:1], options={"zipmap": False})
    path.write_bytes(exported.SerializeToString())


def save_booster(rows: Any, ill: Any, path: Path) -> None:
    settings = {"objective": "binary:logistic", "max_depth": 2}
    xgboost.train(settings, xgboost.DMatrix(rows, ill), num_boost_round=5).save_model(path)


def save_forest(rows: Any, ill: Any, path: Path) -> None:
    skops_io.dump(RandomForestClassifier(5, random_state=0).fit(rows, ill), path)


@pytest.mark.parametrize(
    ("save", "name", "trust"),
    [
        (save_onnx, "m.onnx", []),
        (save_booster, "m.ubj", []),
        (save_forest, "m.skops", ["--trust-type", "sklearn.tree._tree.Tree"]),
    ],
    ids=["ONNX", "XGBoost", "forest in skops"],
)
def test_index_of_a_model_of_any_kind_holds(
    files: Files, ssba_boundary: Runner, tmp_path: Path, save: Any, name: str, trust: list[str]
) -> None:
    heart = pd.read_csv(files.folder / "heart.csv")
    save(heart[NUMBERS], (heart["diagnosis"] == "disease").astype(int), tmp_path / name)
    heart[NUMBERS].to_csv(tmp_path / "numbers.csv", index=False)
    options = ["--data", str(tmp_path / "numbers.csv"), "--model", str(tmp_path / name), *trust]
    told = ssba_boundary("build", tmp_path / "index", *options, "--target", "0", "--points", "100")
    assert (told.code, told.err) == (0, "")
    told = ssba_boundary("verify", tmp_path / "index", *options, "--target", "0")
    assert (told.code, told.out) == (0, "100 of 100 points asked about still reach the target\n")


def test_numbers_of_a_regressor_have_a_boundary_too(ssba_boundary: Runner, tmp_path: Path) -> None:
    rows = pd.DataFrame({"x": np.arange(10.0)})
    rows.to_parquet(tmp_path / "rows.parquet")
    skops_io.dump(LinearRegression().fit(rows, 10 * rows["x"]), tmp_path / "model.skops")
    sources: list[str | Path] = ["--data", tmp_path / "rows.parquet", "--model", tmp_path / "model.skops"]
    sources += ["--feature", "x=numeric"]
    wanted = ["--target", "value:45..", "--points", "25", "--tolerance", "1e-6"]
    assert ssba_boundary("build", tmp_path / "index", *sources, *wanted).code == 0
    ssba_boundary(
        "export", tmp_path / "index", "--out", tmp_path / "p.csv", *sources, "--target", "value:45.."
    )
    # y = 10 x crosses 45 at x = 4.5 only; the ends of a segment are at most 9 apart.
    found = pd.read_csv(tmp_path / "p.csv")["x"]
    assert len(found) == 25
    assert found.between(4.5, 4.5 + 9e-6).all()
