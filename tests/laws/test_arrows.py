"""Imports go one way, the statistics load nothing heavy, modules stay small and say what they do."""

import ast
import re
import subprocess
import sys

import pytest

from tests.helpers.engine import ROOT, environment

# What a folder may import besides the standard library and itself. A problem's claims may also import `analysis`.
ALLOWED = {
    "study": {"numpy"},
    "identity": {"numpy", "study", "kernels"},
    "kernels": {"numpy", "study"},
    "privacy": {"numpy", "scipy", "study"},
    "problems": {"numpy", "scipy", "study", "kernels", "privacy"},
    "analysis": {"numpy", "scipy", "xarray", "study", "identity.registry"},
    "advice": {"numpy", "scipy", "study", "identity", "analysis"},
    "auditing": {"numpy", "scipy", "study", "privacy", "analysis"},
    "reporting": {
        "numpy",
        "xarray",
        "pandas",
        "matplotlib",
        "dask",
        "jinja2",
        "markupsafe",
        "study",
        "analysis",
    },
    "storage": {
        "numpy",
        "google_crc32c",
        "xarray",
        "zarr",
        "study",
        "identity.fingerprints",
        "identity.packages",
    },
    "execution": {
        "numpy",
        "scipy",
        "threadpoolctl",
        "cloudpickle",
        "cryptography",
        "dask",
        "distributed",
        "tornado",
        "study",
        "storage",
        "identity",
    },
    "workflow": {
        "numpy",
        "xarray",
        "dask",
        "yaml",
        "study",
        "storage",
        "execution",
        "analysis",
        "advice",
        "auditing",
        "reporting",
        "identity",
    },
    "cli": {
        "numpy",
        "xarray",
        "dask",
        "hydra",
        "omegaconf",
        "yaml",
        "study",
        "storage",
        "execution",
        "analysis",
        "advice",
        "reporting",
        "identity",
        "workflow",
    },
    "library": {
        "numpy",
        "xarray",
        "threadpoolctl",
        "distributed",
        "study",
        "storage",
        "execution",
        "analysis",
        "advice",
        "auditing",
        "workflow",
        "identity",
    },
    "__main__": {
        "hydra",
        "cli",
        "workflow",
        "execution.copies",
        "execution.errors",
        "study",
        "identity.registry",
    },
    "": {
        "auditing",
        "library",
        "execution.arithmetic",
        "execution.errors",
        "execution.programs",
        "study",
        "identity.registry",
    },
}
CLAIMS = {"xarray", "analysis"}
# What one module may import on top of that, but only when it is called: packages that not everyone installs.
LAZY = {
    "storage.s3": {"obstore"},
    "study.machine": {"dask"},
    "workflow.export": {"fastparquet"},
    "execution.clusters.batch_workers": {"dask_jobqueue"},
    "privacy.vetted_noise": {"opendp"},
    "auditing.boosted": {"sklearn", "threadpoolctl"},
}


def name_of(path):
    """Dotted name of a module within the package; "" for the package itself."""
    name = ".".join(path.relative_to(ROOT / "pipeline").with_suffix("").parts)
    return name.removesuffix("__init__").rstrip(".")


MODULES = sorted((ROOT / "pipeline").rglob("*.py"))
NAMES = set(map(name_of, MODULES))
PROBLEMS = {
    path.name for path in (ROOT / "pipeline/problems").iterdir() if (path / "__init__.py").exists()
}
OWN = PROBLEMS - {"common"}


def imports(tree, path):
    """Imported names outside the standard library, without "pipeline."; lazy imports count as well."""
    package = (
        name_of(path).split(".") if path.name == "__init__.py" else name_of(path).split(".")[:-1]
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join(["pipeline", *package[: len(package) - node.level + 1]])
                if node.level
                else ""
            )
            found = [
                ".".join(filter(None, (base, node.module, alias.name))) for alias in node.names
            ]
        else:
            continue
        for name in found:
            first, _, rest = name.partition(".")
            if first == "pipeline":
                yield rest
            elif first not in sys.stdlib_module_names:
                yield first


def forbidden(path, tree=None):
    """Imports of a module that the tables do not allow."""
    parts = name_of(path).split(".")
    allowed, lazy = ALLOWED[parts[0]] | {parts[0]}, LAZY.get(name_of(path), set())
    if parts[0] == "problems":
        allowed = allowed - {"problems"} | {".".join(parts[:2]), "problems.common"}
        allowed |= CLAIMS if parts[2:3] == ["claims"] else set()
    tree = tree or ast.parse(path.read_text())
    return {
        name
        for name in imports(tree, path)
        if not any((name + ".").startswith(known + ".") for known in allowed | lazy if known)
    } | lazy & {name.split(".")[0] for name in imports(at_once(tree), path)}


def at_once(tree):
    """The tree without what is in functions, or for type checkers: what runs when the module is
    imported.
    """

    class Cut(ast.NodeTransformer):
        def visit_FunctionDef(self, node):
            return ast.Pass()

        visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

        def visit_If(self, node):
            if ast.unparse(node.test) == "TYPE_CHECKING":
                return ast.Pass()
            return self.generic_visit(node)

    return Cut().visit(ast.parse(ast.unparse(tree)))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path):
    assert name_of(path).split(".")[0] in ALLOWED, (
        "a new folder: say in the table what it may import"
    )
    assert forbidden(path) == set()


@pytest.mark.parametrize(
    "name, line",
    [
        ("problems/ranking/model.py", "import xarray"),
        ("problems/ranking/audits.py", "from pipeline.auditing.samples import Pair"),
        ("auditing/laws.py", "from pipeline.identity.registry import problem"),
        ("problems/ranking/model.py", "from ..crowd.model import Answers"),
        ("problems/common/tables.py", "from pipeline.problems.crowd import files"),
        ("problems/crowd/model.py", "from pipeline.analysis.estimate import Estimate"),
        ("privacy/accounting.py", "from pipeline.problems.ranking.theory.rates import l2_rate"),
        ("storage/folder.py", "from pipeline.execution import sweep"),
        ("execution/sweep.py", "import zarr"),
        ("study/study.py", "import zarr"),
        ("study/study.py", "from pipeline.identity.registry import problem"),
        ("identity/registry.py", "import pipeline.problems.ranking"),
        ("analysis/claims.py", "from pipeline.storage.folder import Folder"),
        ("analysis/rates.py", "def f():\n    import pipeline.reporting.page"),
        ("cli/tasks.py", "import pipeline.problems.crowd"),
        ("workflow/run.py", "from pipeline.cli.exit_codes import EXIT_DONE"),
        ("library/runs.py", "def f():\n    from pipeline.cli import compose"),
        ("cli/tasks.py", "from pipeline.library import runs"),
        ("privacy/vetted_noise.py", "import opendp.prelude"),
        ("privacy/accounting.py", "if TYPE_CHECKING:\n    import opendp"),
        ("storage/s3.py", "if not TYPE_CHECKING:\n    import obstore"),
        ("privacy/accounting.py", "def f():\n    import opendp"),
        (
            "privacy/vetted_noise.py",
            "class A:\n    try:\n        from opendp.mod import enable_features\n    finally: ()",
        ),
    ],
)
def test_an_import_the_wrong_way_is_found(name, line):
    """The negative controls."""
    assert forbidden(ROOT / "pipeline" / name, ast.parse(line))


def test_the_table_has_no_dead_rows():
    assert {name.split(".")[0] for name in NAMES} == set(ALLOWED)
    for name, lazy in LAZY.items():
        path = (ROOT / "pipeline" / name.replace(".", "/")).with_suffix(".py")
        assert lazy <= {
            package.split(".")[0] for package in imports(ast.parse(path.read_text()), path)
        }


def named(source):
    """Names of problems in the texts of a module's code, as whole words; docstrings do not count."""
    nodes = list(ast.walk(ast.parse(source)))
    docs = {
        ast.get_docstring(node, clean=False)
        for node in nodes
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    }
    texts = {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    } - docs
    return {one for one in OWN for text in texts if re.search(rf"\b{one}\b", text)}


def test_only_entry_points_name_problems():
    """Neither an import nor a text outside of a problem's own package names it."""
    outside = [path for path in MODULES if not name_of(path).startswith("problems.")]
    assert (
        len(OWN) >= 4
        and {name_of(path): names for path in outside if (names := named(path.read_text()))} == {}
    )


@pytest.mark.parametrize(
    "source",
    [
        "name = 'crowd'",
        "print('pipeline task=release problem=crowd data.path=x.csv')",
        "f'problems.crowd.{name}'",
        "def f():\n    'A docstring.'\n    return {'as a crowd': 1}",
    ],
)
def test_a_name_of_a_problem_in_a_text_is_found(source):
    """The negative controls; a docstring and a longer word are none."""
    assert named(source) == {"crowd"}
    assert named("def f():\n    'Such as a crowd.'\n    return 'crowded'") == set()


def test_no_cycles():
    """Between modules, lazy imports included: each can be read before those that need it."""
    needs = {}
    for path in MODULES:
        found = set()
        for name in imports(ast.parse(path.read_text()), path):
            while name and name not in NAMES:
                name = name.rpartition(".")[0]
            found.add(name)
        needs[name_of(path)] = found - {"", name_of(path)}
    while free := [name for name, wanted in needs.items() if not wanted & needs.keys()]:
        for name in free:
            del needs[name]
    assert needs == {}


def test_statistics_load_nothing_heavy():
    names = [
        f"pipeline.{n}"
        for n in sorted(NAMES)
        if n.split(".")[0] in ("study", "privacy", "problems") and "claims" not in n.split(".")
    ]
    heavy = [
        "dask",
        "distributed",
        "zarr",
        "hydra",
        "omegaconf",
        "xarray",
        "matplotlib",
        "pandas",
        "opendp",
        "scipy.stats",
    ]
    script = (
        f"import sys, {', '.join(names)}; print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]" and len(names) > 8


def test_a_command_loads_no_analysis_before_it_needs_it():
    """With nothing to do it would wait for these longer than for everything else."""
    script = (
        "import sys, pipeline.cli.tasks; "
        "print([name for name in ('xarray', 'pandas', 'matplotlib', 'dask') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_what_is_public_has_a_docstring(path):
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    public = [
        node for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")
    ]
    for node in list(public):
        if isinstance(node, ast.ClassDef):
            properties_too = [
                n for n in node.body if isinstance(n, kinds) and not n.name.startswith("_")
            ]
            public += properties_too
    missing = [node.name for node in public if not ast.get_docstring(node)]
    assert not missing and (ast.get_docstring(tree) or not tree.body)


SAYS_IT_ITSELF = {"print", "input", "exit"}


def said_by_itself(source):
    """Calls by which a module speaks to a person, or ends the program."""
    return [
        node.func.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in SAYS_IT_ITSELF
    ]


@pytest.mark.parametrize(
    "path", [path for path in MODULES if name_of(path).startswith("workflow")], ids=name_of
)
def test_a_task_tells_and_does_not_print(path):
    assert said_by_itself(path.read_text()) == []


def test_a_print_is_seen():
    """The negative control."""
    assert said_by_itself("def f():\n    print('done')") == ["print"]
