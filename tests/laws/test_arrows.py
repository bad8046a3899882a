"""Imports go one way, the statistics load nothing heavy, modules stay small and say what they do."""

import ast
import statistics
import subprocess
import sys

import pytest
from engine import ROOT, environment

# What a module or a package may import besides the standard library and itself. Packages of the statistics
# may also import those above them.
SCIENCE = {"numpy", "scipy", "parameters"}
ORDER = ["theory", "models", "mechanisms", "estimators", "metrics"]
ALLOWED = {
    "": set(),
    "parameters": set(),
    "codes": set(),
    "progress": set(),
    "streams": {"numpy"},
    "grid": {"parameters", "streams"},
    "registry": {"parameters"},
    **{name: SCIENCE | set(ORDER[:place]) for place, name in enumerate(ORDER)},
    "study": {"codes", "numpy", "parameters", "registry", "grid", "streams"},
    "places": {"parameters"},
    "lease": set(),
    "bucket": {"zarr", "lease", "parameters", "places"},
    "store": {"codes", "numpy", "zarr", "parameters", "places", "bucket", "grid", "streams", "study"},
    "sweep": {"distributed", "parameters"},
    "workers": {"dask", "distributed", "tornado"},
    "clusters": {"cryptography", "dask", "distributed", "parameters", "workers"},
    "reduce": {"codes", "numpy", "scipy", "xarray", "theory"},
    "claims": {"codes", "numpy", "scipy", "xarray", "theory", "reduce"},
    "report": {"numpy", "xarray", "pandas", "matplotlib", "jinja2", "markupsafe", "parameters", "progress",
               "theory", "reduce", "claims"},
    # Where layers meet.
    "compose": {"hydra", "omegaconf", "parameters"},
    "config": {"numpy", "parameters", "places", "registry", "grid", "study", "clusters", "report.specs"},
    "complete": {"parameters", "compose", "config"},
    "help": {"yaml", "parameters", "compose", "config"},
    "work": {"bucket", "codes", "numpy", "parameters", "grid", "streams", "registry", "study", "store", "seal",
             "session"},
    "seal": {"numpy", "xarray", "zarr", "bucket", "parameters", "registry", "streams", "study", "store"},
    "session": {"seal"},
    "release": {"codes", "numpy", "parameters", "registry", "study", "models", "mechanisms", "estimators"},
    "plan": {"numpy", "parameters", "progress", "clusters", "study", "store", "work"},
    "present": {"yaml", "parameters", "config", "registry", "seal", "session", "store", "study", "work", "claims",
                "report"},
    "tasks": {"codes", "numpy", "parameters", "progress", "config", "plan", "present", "seal", "session",
              "store", "study", "sweep", "work"},
    "__main__": {"codes", "hydra", "parameters", "complete", "compose", "config", "help", "release", "tasks"},
}
# What one module may import on top of that, but only when it is called: packages that not everyone installs.
LAZY = {"bucket": {"obstore"}, "clusters.batch": {"dask_jobqueue"}, "mechanisms.vetted": {"opendp"}}


def name_of(path):
    """Dotted name of a module within the package; "" for the package itself."""
    name = ".".join(path.relative_to(ROOT / "pipeline").with_suffix("").parts)
    return name.removesuffix("__init__").rstrip(".")


MODULES = sorted((ROOT / "pipeline").rglob("*.py"))
NAMES = set(map(name_of, MODULES))


def imports(tree):
    """Imported names outside the standard library, without "pipeline."; lazy imports count as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
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
    unit = name_of(path).split(".")[0]
    allowed, lazy = ALLOWED[unit] | {unit}, LAZY.get(name_of(path), set())
    tree = tree or ast.parse(path.read_text())
    return {name for name in imports(tree)
            if not any((name + ".").startswith(known + ".") for known in allowed | lazy if known)
            } | lazy & {name.split(".")[0] for name in imports(at_once(tree))}


def at_once(tree):
    """The tree without what is in functions: what runs when the module is imported."""
    class Cut(ast.NodeTransformer):
        def visit_FunctionDef(self, node):
            return ast.Pass()

        visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    return Cut().visit(ast.parse(ast.unparse(tree)))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path):
    assert name_of(path).split(".")[0] in ALLOWED, "a new module: say in the table what it may import"
    assert forbidden(path) == set()


@pytest.mark.parametrize("name, line", [
    ("models/btl.py", "import xarray"), ("theory/btl.py", "from pipeline.models.btl import BTL"),
    ("estimators/btl.py", "from pipeline.metrics import ranking"), ("store.py", "from pipeline import sweep"),
    ("sweep.py", "import numpy"), ("study.py", "import zarr"), ("claims/claim.py", "from pipeline.store import Store"),
    ("reduce/rates.py", "def f():\n    import pipeline.claims.claim"),
    ("registry.py", "from pipeline.study import Study"),
    ("mechanisms/vetted.py", "import opendp.prelude"), ("mechanisms/laplace.py", "def f():\n    import opendp"),
    ("mechanisms/vetted.py", "class A:\n    try:\n        from opendp.mod import enable_features\n    finally: pass"),
])
def test_an_import_the_wrong_way_is_found(name, line):
    """The wrong twins."""
    assert forbidden(ROOT / "pipeline" / name, ast.parse(line))


def test_the_table_has_no_dead_rows():
    assert {name.split(".")[0] for name in NAMES} == set(ALLOWED)
    for name, lazy in LAZY.items():
        found = imports(ast.parse((ROOT / "pipeline" / name.replace(".", "/")).with_suffix(".py").read_text()))
        assert lazy <= {package.split(".")[0] for package in found}


def test_no_cycles():
    """Between modules, lazy imports included: each can be read before those that need it."""
    needs = {}
    for path in MODULES:
        found = set()
        for name in imports(ast.parse(path.read_text())):
            while name and name not in NAMES:
                name = name.rpartition(".")[0]
            found.add(name)
        needs[name_of(path)] = found - {"", name_of(path)}
    while free := [name for name, wanted in needs.items() if not wanted & needs.keys()]:
        for name in free:
            del needs[name]
    assert needs == {}


def test_statistics_load_nothing_heavy():
    names = [f"pipeline.{n}".rstrip(".") for n in sorted(NAMES) if n.split(".")[0] in (*ORDER, "study")]
    heavy = ["dask", "distributed", "zarr", "hydra", "omegaconf", "xarray", "matplotlib", "pandas", "opendp"]
    script = f"import sys, {', '.join(names)}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]" and len(names) > 8


def test_modules_stay_small():
    lines = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}
    long = {name: count for name, count in lines.items() if count > 400}
    print(f"{len(lines)} modules, median {statistics.median(lines.values())}, longest {max(lines.values())}")
    assert not long and statistics.median(lines.values()) <= 150


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_what_is_public_has_a_docstring(path):
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    public = [node for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")]
    for node in list(public):
        if isinstance(node, ast.ClassDef):
            properties_too = [n for n in node.body if isinstance(n, kinds) and not n.name.startswith("_")]
            public += properties_too
    missing = [node.name for node in public if not ast.get_docstring(node)]
    assert not missing and (ast.get_docstring(tree) or not tree.body)
