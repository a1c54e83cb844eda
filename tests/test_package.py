"""What a release is made of: an sdist, a pure wheel made from it, and a base install that works anywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ethogram

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [line[-4:] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]


def run(*command: object, folder: Path) -> str:
    """What a command prints in a folder outside the repository, with nothing of ours on its path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**environment, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, folder=ROOT)
    return next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made from the sdist, so that the sdist has all that a wheel needs."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.unpack_archive(sdist, folder)
    source = next(path for path in folder.iterdir() if path.is_dir())
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=source)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, the packages it names, those that they name, and no others."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "env", folder=folder)
    python = folder / "env" / "bin" / "python"
    options = ("--quiet", "--no-deps", "--no-index")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel, folder=folder)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", where, folder=folder).strip())
    for name in needed(PROJECT["dependencies"]):
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(distribution.locate_file(top))))
    return folder


def needed(requirements: list[str]) -> set[str]:
    """The closure of these requirements over the packages installed here."""
    names: set[str] = set()
    left = [Requirement(line) for line in requirements]
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        if name not in names and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            names.add(name)
            left += [Requirement(line) for line in metadata.requires(name) or ()]
    return names


def test_the_wheel_is_pure_and_carries_the_licence_and_the_type_marker(wheel):
    assert wheel.name == f"ethogram-{ethogram.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "ethogram/py.typed" in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"ethogram"}
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyc"))]


def test_the_sdist_has_what_its_tests_and_documents_need(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "Makefile"}
    assert listed <= names
    assert {"tests/conftest.py", "docs/index.md", "zensical.toml", "examples/notebook.ipynb"} <= names


def test_the_metadata_name_the_project_its_extras_and_its_pythons(wheel):
    text = zipfile.ZipFile(wheel).read(f"ethogram-{ethogram.__version__}.dist-info/METADATA").decode()
    found = Parser().parsestr(text)
    assert set(found.get_all("Provides-Extra", ())) == set(PROJECT["optional-dependencies"])
    assert len(found.get_all("Project-URL", ())) == 4
    assert found["Requires-Python"] == ">=3.11"
    assert PYTHONS == ["3.11", "3.12", "3.13", "3.14"]


def test_the_extra_all_brings_every_extra_for_users():
    extras = PROJECT["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == extras.keys() - {"all", "dev"}


def test_the_plugin_has_the_version_of_the_package():
    plugin = ROOT / "plugins" / "ethogram" / ".claude-plugin" / "plugin.json"
    assert json.loads(plugin.read_text(encoding="utf-8"))["version"] == ethogram.__version__


def test_the_changelog_begins_with_this_version():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert first
    assert first[1] == ethogram.__version__


def test_every_base_dependency_is_explained_and_every_extra_named():
    install = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    extras = PROJECT["optional-dependencies"].keys() - {"dev"}
    assert {name for name in extras if f"`{name}`" not in install} == set()
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = [Requirement(line).name for line in PROJECT["dependencies"]]
    assert [name for name in names if f"| `{name}` |" not in page] == []


def test_a_clean_install_shows_the_demo_and_its_version(clean):
    ethogram_ = clean / "env" / "bin" / "ethogram"
    assert run(ethogram_, "--version", folder=clean).strip() == f"ethogram {ethogram.__version__}"
    assert "Repeated error" in run(ethogram_, "demo", folder=clean)


def test_a_clean_install_analyses_from_python(clean):
    python = clean / "env" / "bin" / "python"
    run(clean / "env" / "bin" / "ethogram", "demo", "--copy", "histories", folder=clean)
    code = (
        "import ethogram; print(ethogram.__file__)\n"
        "print(len(ethogram.analyze('histories/run.jsonl').detections))"
    )
    file, count = run(python, "-c", code, folder=clean).split()
    assert Path(file).is_relative_to(clean)
    assert int(count) > 0


def test_make_demo_works_in_a_fresh_clone(clean, tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy2(ROOT / name, tmp_path)
    (tmp_path / ".venv").symlink_to(clean / "env")
    (clean / "env" / ".base").touch()
    assert "Repeated error" in run("make", "demo", folder=tmp_path)
    assert (tmp_path / "build" / "ethogram-report.html").exists()


def test_every_command_of_a_clean_install_has_help(clean):
    code = (
        "import click; from ethogram.cli.main import build_app\n"
        "def walk(command, parent):\n"
        "    context = click.Context(command, info_name=command.name, parent=parent)\n"
        "    assert command.get_help(context)\n"
        "    for name in getattr(command, 'list_commands', lambda _: ())(context):\n"
        "        walk(command.get_command(context, name), context)\n"
        "        print(name)\n"
        "walk(build_app(), None)\n"
    )
    assert "analyze" in run(clean / "env" / "bin" / "python", "-c", code, folder=clean).split()


@pytest.mark.long
@pytest.mark.parametrize("version", PYTHONS)
def test_pip_installs_the_wheel_on_every_python_that_is_here(version, wheel, tmp_path):
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-V"], capture_output=True, check=False).returncode:
        pytest.skip(f"no Python {version}")
    run(python, "-m", "venv", tmp_path / "env", folder=tmp_path)
    run(tmp_path / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", wheel, folder=tmp_path)
    program = tmp_path / "env" / "bin" / "ethogram"
    assert "Repeated error" in run(program, "demo", folder=tmp_path)
    # The examples of all patterns, on both engines.
    run(program, "patterns", "test", folder=tmp_path)
