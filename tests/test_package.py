"""What the package as a whole promises: light to import, documented, complete when installed."""

import ast
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import ssba

PACKAGE = Path(ssba.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

CORE = {"array_api_compat", "narwhals", "numpy", "scipy", "ssba", "tqdm"}
# NumPy's f2py, which array_api_compat loads with all of NumPy, takes it where some other package brought it.
TAKEN_IF_THERE = {"charset_normalizer"}

# Told by the folder a module was read from: compiled parts of scipy register under bare names of their own.
LIST_IMPORTED = """
import sys
from pathlib import Path
from sysconfig import get_path
before = set(sys.modules)
import ssba
for name in sys.argv[1:]:
    getattr(ssba, name)
files = [getattr(sys.modules[name], "__file__", None) for name in set(sys.modules) - before]
for file in map(Path, filter(None, files)):
    for installed in map(Path, {get_path("purelib"), get_path("platlib")}):
        if file.is_relative_to(installed):
            print(file.relative_to(installed).parts[0].partition(".")[0])
"""


def loaded_with(*names: str) -> set[str]:
    """The installed packages that an import of ssba loads, with the use of some names."""
    program = [sys.executable, "-W", "error", "-c", LIST_IMPORTED, *names]
    return set(subprocess.run(program, capture_output=True, text=True, check=True).stdout.split())


def test_import_itself_loads_no_dependency() -> None:
    assert loaded_with() - {"ssba"} == set()


def test_all_names_together_load_only_the_core_dependencies() -> None:
    loaded = loaded_with(*ssba.__all__)
    assert "narwhals" in loaded
    assert loaded - CORE - TAKEN_IF_THERE == set()


def test_core_dependencies_are_all_that_a_plain_install_brings() -> None:
    required = {line for line in metadata.requires("ssba") or [] if "extra ==" not in line}
    names = {line.split(">=")[0].replace("-", "_") for line in required}
    assert names == CORE - {"ssba"}


def test_public_names_are_sorted_unique_and_exist() -> None:
    assert list(ssba.__all__) == sorted(set(ssba.__all__))
    assert [name for name in ssba.__all__ if not hasattr(ssba, name)] == []


@pytest.mark.parametrize("name", ssba.__all__)
def test_public_name_has_a_docstring(name: str) -> None:
    public = getattr(ssba, name)
    assert isinstance(public, str) or (public.__doc__ or "").strip()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_module_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_version_is_that_of_the_installed_package() -> None:
    assert ssba.__version__ == metadata.version("ssba")


def test_licence_and_attribution_ship_with_the_install() -> None:
    shipped = {Path(str(file)).name for file in metadata.files("ssba") or [] if "licenses" in file.parts}
    assert {"LICENSE", "ATTRIBUTION.md"} <= shipped


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "datasets/heart.csv",
        "datasets/ATTRIBUTION.md",
        "views/picture.css",
        "views/report/report.css",
    ],
)
def test_package_data_lies_in_the_package(name: str) -> None:
    assert PACKAGE.joinpath(name).is_file()


def test_command_is_installed() -> None:
    (command,) = metadata.entry_points(group="console_scripts", name="ssba")
    assert command.value == "ssba.apps.cli:main"
