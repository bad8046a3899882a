"""The project itself: one version, and nothing imported but what `make run` and the named extras install."""

import ast
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import yaml

import pipeline
from tests.conftest import LONGEST
from tests.helpers.engine import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_all_files_name_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert pipeline.__version__ == PROJECT["version"] == citation["version"]
    assert f"## {pipeline.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert (
        PROJECT["license"] == citation["license"]
        and PROJECT["license"] in (ROOT / "LICENSE").read_text()
    )


def name_of(requirement):
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def installed_with(requirements):
    """Names of distributions that come with these requirements, on this machine."""
    left, found = [name_of(one) for one in requirements], set()
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            try:
                left += [name_of(one) for one in requires(name) or () if "extra ==" not in one]
            except PackageNotFoundError:  # of another system
                found.discard(name)
    return found


def imported(folder):
    """Names of the packages that modules import, wherever in them."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [one.name for one in node.names]
                if isinstance(node, ast.Import)
                else ([node.module] if isinstance(node, ast.ImportFrom) and not node.level else [])
            )
            yield from (name.partition(".")[0] for name in names)


def test_nothing_is_imported_that_is_not_installed():
    extras = PROJECT["optional-dependencies"]
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"][
        "requires"
    ]  # for the hook alone
    wanted = [*PROJECT["dependencies"], *extras["hpc"], *extras["s3"], *extras["release"], *build]
    there, distributions = installed_with(wanted), packages_distributions()
    foreign = set(imported(ROOT / "pipeline")) - sys.stdlib_module_names - {"pipeline"}
    assert {"numpy", "dask_jobqueue", "obstore", "opendp"} <= foreign
    missing = {
        name for name in foreign if not there & {name_of(one) for one in distributions[name]}
    }
    assert missing == set()
    assert (
        "pytest" not in there and "sphinx" not in there
    )  # the negative control: what only tests and docs need


def test_extras_are_asked_for_by_their_packages():
    """What the extra `test` repeats of the others has the same bounds."""
    extras = PROJECT["optional-dependencies"]
    asked = {name_of(one): one for one in extras["test"]}
    for extra in ("hpc", "s3", "release"):
        assert [asked.get(name_of(one)) for one in extras[extra]] == extras[extra]


def test_modules_that_are_begun_first_are_there():
    assert [name for name in LONGEST if not (ROOT / name).is_file()] == []
