"""`ssba check-certificate`: one line a check, and an exit code that a script can rely on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from skops import io
from tests.support import every
from typer.testing import CliRunner

import ssba
from ssba.apps.cli import commands, main

_rng = np.random.default_rng(0)
ROWS = pd.DataFrame({"chol": _rng.integers(150, 350, 200), "bp": _rng.normal(130, 15, 200).round(1)})
SICK = ROWS["chol"] + 2 * ROWS["bp"] > 510
MODEL = LogisticRegression(max_iter=1000).fit(ROWS, SICK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data with a column that the model does not take, two models, and a certificate."""
    place = tmp_path_factory.mktemp("audit")
    ROWS.assign(sick=SICK).to_csv(place / "rows.csv", index=False)
    io.dump(MODEL, place / "model.skops")
    io.dump(LogisticRegression(max_iter=1000).fit(ROWS[::2], SICK[::2]), place / "retrained.skops")
    explainer = ssba.Explainer(MODEL, ROWS, False, features={"bp": ssba.numeric(step=0.1)})
    answer = explainer.explain({"chol": 300, "bp": 140.0}, ["bp >= 120", "chol within 40%"])
    (place / "answer.json").write_text(explainer.certificate(answer).to_json(), encoding="utf-8")
    return place


def arguments(folder: Path, file: str = "answer.json", model: str = "model.skops", *more: str) -> list[str]:
    named = [str(folder / file), "--data", str(folder / "rows.csv"), "--model", str(folder / model)]
    return ["check-certificate", *named, *more]


def run(*given: Any) -> Any:
    return CliRunner().invoke(commands(), arguments(*given))


def test_data_and_model_may_come_from_a_project_file(folder: Path) -> None:
    project = folder / "project.toml"
    project.write_text('data = "rows.csv"\nmodel = "model.skops"\nlabels = "sick"', encoding="utf-8")
    given = ["check-certificate", str(folder / "answer.json"), "--project", str(project)]
    assert CliRunner().invoke(commands(), given).exit_code == 0
    again = CliRunner().invoke(commands(), [*given, "--model", str(folder / "retrained.skops")])
    assert again.exit_code == 1


def altered(folder: Path, name: str, edit: Any) -> str:
    document = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    edit(document)
    (folder / name).write_text(json.dumps(document), encoding="utf-8")
    return name


def test_a_certificate_that_holds_leaves_with_0_and_a_line_a_check(folder: Path) -> None:
    done = run(folder)
    lines = done.stdout.splitlines()
    assert done.exit_code == 0, done.output
    assert every(line.startswith("ok ") for line in lines[:-1])
    assert len(lines) > 8
    assert lines[-1].startswith("The certificate holds: all ")


def test_a_certificate_as_the_service_sends_it_is_read(folder: Path) -> None:
    document = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    (folder / "reply.json").write_text(json.dumps({"certificate": document}), encoding="utf-8")
    assert run(folder, "reply.json").stdout == run(folder).stdout


def test_another_model_leaves_with_1_and_says_which_checks_failed(folder: Path) -> None:
    done = run(folder, "answer.json", "retrained.skops")
    assert done.exit_code == 1
    assert "FAILED  model: its fingerprint" in done.stdout
    assert done.stderr.startswith("ssba: ")
    assert len(done.stderr.splitlines()) == 1


def test_an_edited_certificate_leaves_with_1(folder: Path) -> None:
    def edit(document: Any) -> None:
        document["explanation"]["counterfactuals"][0]["distance"] /= 2

    done = run(folder, altered(folder, "edited.json", edit))
    assert done.exit_code == 1
    assert "FAILED  digest" in done.stdout
    assert "FAILED  answer 1, distance" in done.stdout


def test_json_for_scripts(folder: Path) -> None:
    done = run(folder, "answer.json", "model.skops", "--json")
    document = json.loads(done.stdout)
    assert document["passed"] is True
    assert {"name": "digest", "passed": True} == {
        name: document["checks"][0][name] for name in ("name", "passed")
    }


def refused(capsys: pytest.CaptureFixture[str], given: list[str]) -> str:
    """The one line on stderr with which a command is refused."""
    with pytest.raises(SystemExit) as left:
        main(given)
    assert left.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    return line


class TestRefused:
    @pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe\x00", b"[1, 2"])
    def test_a_file_that_is_no_certificate(
        self, folder: Path, content: bytes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "broken.json").write_bytes(content)
        assert "certificate" in refused(capsys, arguments(folder, "broken.json"))

    def test_a_file_that_is_not_there(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "nowhere.json: there is no such file" in refused(capsys, arguments(folder, "nowhere.json"))

    def test_data_without_a_certified_column(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        ROWS.rename(columns={"chol": "cholesterol"}).to_csv(folder / "other.csv", index=False)
        given = [one.replace("rows.csv", "other.csv") for one in arguments(folder)]
        assert "unknown column 'chol'" in refused(capsys, given)

    def test_a_pickle_without_the_users_word(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "model.pkl").write_bytes(b"")
        assert "--trust-pickle" in refused(capsys, arguments(folder, "answer.json", "model.pkl"))

    def test_a_part_of_another_form(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        name = altered(folder, "seed.json", lambda document: document["explanation"].update(seed="one"))
        assert "'one' where int was expected" in refused(capsys, arguments(folder, name))
