"""Law: whatever a person's file imports, reads or patches counts as code, or the run says what it cannot know.

Each case runs a study, changes what its file depends on, and asks for more replications.
"""

import contextlib
import io
import os
import textwrap
from pathlib import Path

import pytest
import yaml

import pipeline.library.runs  # noqa: F401 - which a child then need not import
import pipeline.workflow.reports
from pipeline.__main__ import main
from pipeline.cli.flags import load_own_files
from pipeline.execution import trials
from pipeline.execution.runner import parts as parts_of
from pipeline.execution.runner import writer
from pipeline.identity import fingerprints
from pipeline.identity.patches import patches
from pipeline.workflow.config import read_experiment
from tests.helpers.commands_counted import in_a_fork

FULL = os.environ.get("FAULTS") == "full"  # `make faults`

PARTS = """
from dataclasses import dataclass, replace
import pipeline as pl
{0}

@dataclass(frozen=True)
class Mine(pl.ranking.Debiased):
    "The estimate of {{m}} items, times a factor."

    def fit(self, release, rng):
        "An estimate."
        estimate = super().fit(release, rng)
        return replace(estimate, theta={1} * estimate.theta)

pl.register("ranking", estimators={{"mine": Mine}})
"""
STUDY = """
problem: ranking
seed: 1
replications: 40
block: 20
grid: {m: [3, 4]}
parameters: {model: btl, mechanism: laplace, estimator: mine, epsilon: 1, L: 20}
metrics: [error_l2]
claims: false
figures: []
"""


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    """What every child would do again: imports, and fingerprints of the program's own code."""
    where = tmp_path_factory.mktemp("warm")
    written(where, {"study.yaml": STUDY.replace("mine", "debiased")})
    study = read_experiment(
        yaml.safe_load(STUDY.replace("mine", "debiased")) | {"name": "study"}
    ).study
    writer(study)
    modules = fingerprints.modules(parts_of(study).values())
    assert not any(patches(module) for module in modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        patch.setattr(pipeline.workflow.reports, "write", write)
        assert main(["experiment=study.yaml", "cluster=synchronous", "outputs=out"]) == 0


def write(where, *rest, turn, **options):
    """In place of the report."""
    with turn:
        (where / "report.html").write_text("")
    return where / "report.html", []


def run(folder, *words, files=("parts.py",), variables=(), is_tried_twice=FULL):
    """Exit code and texts of a command.

    What a second process shows of a person's parts is the subject of test_determinism.py.
    """

    def act():
        pipeline.workflow.reports.write = write
        if not is_tried_twice:
            trials._elsewhere = lambda trial: []
        given = [word for name in files for word in ("--with", name)]
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(io.StringIO()) as err,
        ):
            code = main(
                [*given, "experiment=study.yaml", "cluster=synchronous", "outputs=out", *words]
            )
        return code, out.getvalue(), err.getvalue()

    return in_a_fork(act, folder, dict(variables))


def written(folder, files):
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def parts(first, factor):
    return PARTS.format(textwrap.dedent(first).strip(), factor)


CASES = {
    "a helper on the path": (
        {"parts.py": parts("import helper", "helper.FACTOR"), "there/helper.py": "FACTOR = 1.0"},
        {"there/helper.py": "FACTOR = 2.0"},
        "parts.py imports helper.py",
    ),
    "a helper whose folder the file names": (
        {
            "parts.py": parts(
                "import sys\nsys.path.insert(0, 'there')\nfrom helper import FACTOR", "FACTOR"
            ),
            "there/helper.py": "FACTOR = 1.0",
        },
        {"there/helper.py": "FACTOR = 2.0"},
        "parts.py imports helper.py",
    ),
    "a module by its name": (
        {
            "parts.py": parts(
                "import importlib, sys\nsys.path.insert(0, 'there')\n"
                "helper = importlib.import_module('helper')",
                "helper.FACTOR",
            ),
            "there/helper.py": "FACTOR = 1.0",
        },
        {"there/helper.py": "FACTOR = 2.0"},
        "parts.py imports helper.py",
    ),
    "a file of numbers": (
        {
            "parts.py": parts(
                "import json\nFACTOR = json.load(open('there/scale.json'))['factor']", "FACTOR"
            ),
            "there/scale.json": '{"factor": 1.0}',
        },
        {"there/scale.json": '{"factor": 2.0}'},
        "parts.py reads scale.json",
    ),
    "a variable of the environment": (
        {"parts.py": parts("import os\nFACTOR = float(os.environ.get('FACTOR', 1))", "FACTOR")},
        {"FACTOR": "2.0"},
        "parts.py reads $FACTOR",
    ),
    "a class that another file patches": (
        {"parts.py": parts("", "1.0"), "patch.py": ""},
        {
            "patch.py": """
from pipeline.problems.ranking.mechanisms.laplace import Laplace
before = Laplace.release
def release(self, data, rng):
    rng.random()
    return before(self, data, rng)
Laplace.release = release
"""
        },
        "mechanism laplace in pipeline.problems.ranking.mechanisms.laplace.Laplace.release, patch.py",
    ),
}
SIBLINGS = {
    "a helper's helper": (
        {
            "parts.py": parts(
                "import sys\nsys.path.insert(0, 'there')\nfrom helper import f", "f()"
            ),
            "there/helper.py": "import deep\ndef f(): return deep.FACTOR",
            "there/deep.py": "FACTOR = 1.0",
        },
        {"there/deep.py": "FACTOR = 2.0"},
        "parts.py imports deep.py",
    ),
    "a package without a file": (
        {
            "parts.py": parts(
                "import sys\nsys.path.insert(0, 'there')\nimport folder.deep", "folder.deep.FACTOR"
            ),
            "there/folder/deep.py": "FACTOR = 1.0",
        },
        {"there/folder/deep.py": "FACTOR = 2.0"},
        "parts.py imports deep.py",
    ),
    "an import inside of a function": (
        {
            "parts.py": parts(
                "import sys\nsys.path.insert(0, 'there')\ndef f():\n    import late\n"
                "    return late.FACTOR",
                "f()",
            ),
            "there/late.py": "FACTOR = 1.0",
        },
        {"there/late.py": "FACTOR = 2.0"},
        "estimator mine",
    ),
    "a module by its file": (
        {
            "parts.py": parts(
                """
            from importlib.util import module_from_spec, spec_from_file_location
            spec = spec_from_file_location("anything", "there/some_file.py")
            helper = module_from_spec(spec)
            spec.loader.exec_module(helper)""",
                "helper.FACTOR",
            ),
            "there/some_file.py": "FACTOR = 1.0",
        },
        {"there/some_file.py": "FACTOR = 2.0"},
        "parts.py imports some_file.py",
    ),
    "executed text": (
        {
            "parts.py": parts("exec(open('there/text.txt').read())", "FACTOR"),
            "there/text.txt": "FACTOR = 1.0",
        },
        {"there/text.txt": "FACTOR = 2.0"},
        "parts.py reads text.txt",
    ),
    "a file that a helper reads": (
        {
            "parts.py": parts(
                "import sys\nsys.path.insert(0, 'there')\nimport helper", "helper.FACTOR"
            ),
            "there/helper.py": "import numpy as np\nFACTOR = float(np.loadtxt('there/scale.txt'))",
            "there/scale.txt": "1.0",
        },
        {"there/scale.txt": "2.0"},
        "parts.py reads scale.txt",
    ),
    "a file that is not there": (
        {
            "parts.py": parts(
                "import os\ntry:\n    FACTOR = float(open('there').read())\n"
                "except OSError:\n    FACTOR = 1.0",
                "FACTOR",
            )
        },
        {"there": "2.0"},
        "parts.py reads there",
    ),
    "which files there are": (
        {
            "parts.py": parts(
                "import pathlib\nFACTOR = 1.0 * len([*pathlib.Path('there').glob('*')])", "FACTOR"
            ),
            "there/one": "",
        },
        {"there/two": ""},
        "parts.py lists there/",
    ),
    "whether a file is there": (
        {"parts.py": parts("import os\nFACTOR = 1.0 + os.path.exists('there')", "FACTOR")},
        {"there": ""},
        "parts.py looks at there",
    ),
    "whether a folder is there": (
        {
            "parts.py": parts(
                "from pathlib import Path\nFACTOR = 1.0 + Path('there').is_dir()", "FACTOR"
            )
        },
        {"there/one": ""},
        "parts.py looks at there",
    ),
    "how large a file is": (
        {
            "parts.py": parts(
                "from pathlib import Path\nFACTOR = 1.0 * Path('there').stat().st_size", "FACTOR"
            ),
            "there": "",
        },
        {"there": "2"},
        "parts.py looks at there",
    ),
    "a database": (
        {"parts.py": parts("import sqlite3\nsqlite3.connect('there').close()", "1.0"), "there": ""},
        {"there": "2"},
        "parts.py reads there",
    ),
    "a file that a thread reads": (
        {
            "parts.py": parts(
                "from concurrent.futures import ThreadPoolExecutor\nfrom pathlib import Path\n"
                "with ThreadPoolExecutor() as pool:\n"
                "    FACTOR = float([*pool.map(Path.read_text, [Path('there')])][0])",
                "FACTOR",
            ),
            "there": "1.0",
        },
        {"there": "2.0"},
        "parts.py reads there",
    ),
    "a variable in bytes": (
        {"parts.py": parts("import os\nFACTOR = float(os.environb[b'FACTOR'])", "FACTOR")},
        {"FACTOR": "2.0"},
        "parts.py reads $FACTOR",
    ),
    "a class of the library that is patched": (
        {"parts.py": parts("", "1.0"), "patch.py": ""},
        {
            "patch.py": "import pipeline as pl\nfit = pl.ranking.Debiased.fit\n"
            "pl.ranking.Debiased.fit = lambda self, release, rng: fit(self, release, rng)\n"
        },
        "estimator mine",
    ),
}


def separate(then):
    """Files, and variables of the environment."""
    files = {name: text for name, text in then.items() if not name.isupper()}
    return files, then.items() - files.items()


@pytest.mark.parametrize("first, then, named", CASES.values(), ids=CASES)
def test_a_change_elsewhere_is_refused(first, then, named, tmp_path, monkeypatch):
    files = [name for name in ("parts.py", "patch.py") if name in first]
    if "sys.path" not in first["parts.py"]:
        monkeypatch.syspath_prepend(tmp_path / "there")
    written(tmp_path, {"study.yaml": STUDY} | first)
    code, out, err = run(tmp_path, files=files)
    assert code == 0, err
    changed, variables = separate(then)
    written(tmp_path, changed)
    code, out, err = run(tmp_path, "replications=80", files=files, variables=variables)
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert code == 2 and "numbers come out differently" in line and named in line, line
    assert "note: " not in err


def writer_in(folder, files, variables=()):
    """Code and environment of the writer in a process of its own, and what it says."""

    def act():
        with contextlib.redirect_stderr(io.StringIO()) as err:
            load_own_files([word for name in files for word in ("--with", name)])
        found = writer(read_experiment(yaml.safe_load(STUDY) | {"name": "study"}).study)
        return dict(found.code), dict(found.environment), err.getvalue()

    code, environment, err = in_a_fork(act, folder, dict(variables))
    return code, environment, err


@pytest.mark.parametrize("first, then, named", SIBLINGS.values(), ids=SIBLINGS)
def test_a_change_elsewhere_is_another_writer(first, then, named, tmp_path):
    files = [name for name in ("parts.py", "patch.py") if name in first]
    written(tmp_path, {"study.yaml": STUDY} | first)
    before = writer_in(tmp_path, files, {"FACTOR": "1.0"})
    assert writer_in(tmp_path, files, {"FACTOR": "1.0"}) == before
    changed, variables = separate(then)
    written(tmp_path, changed)
    after = writer_in(tmp_path, files, {"FACTOR": "1.0", **dict(variables)})
    different = [
        name
        for one, other in zip(before[:2], after[:2], strict=True)
        for name in {**one, **other}
        if one.get(name) != other.get(name)
    ]
    assert named in different and before[2] == after[2] == "", (different, before, after)


def test_where_a_link_leads_counts(tmp_path):
    text = "import os\nFACTOR = float(os.readlink('there'))"
    written(tmp_path, {"study.yaml": STUDY, "parts.py": parts(text, "FACTOR")})
    digests = []
    for target in ("1.0", "2.0"):
        (tmp_path / "there").symlink_to(target)
        digests.append(writer_in(tmp_path, ["parts.py"])[1]["parts.py looks at there"])
        (tmp_path / "there").unlink()
    assert digests[0] != digests[1]


def test_comments_and_what_others_read_count_not(tmp_path):
    """Nor what installed packages read while they are imported, nor what was written before it was read.

    Nor folders that are there, such as those above a file whose real path is asked for.
    """
    first = {
        "parts.py": parts(
            """
        import os, sys, tempfile
        where = os.path.realpath("/" + os.sep.join(os.path.__file__.split(os.sep)[1:2]))
        known = os.stat in os.supports_follow_symlinks
        sys.path.insert(0, 'there')
        import helper
        import pandas
        with tempfile.NamedTemporaryFile("w+") as file:
            open(file.name, "w").write("1")
            open(file.name).read()""",
            "helper.FACTOR",
        ),
        "there/helper.py": "FACTOR = 1.0",
    }
    written(tmp_path, {"study.yaml": STUDY} | first)
    code, environment, err = writer_in(tmp_path, ["parts.py"])
    assert err == "" and "pandas" in environment
    mine = [name for name in environment if name.startswith("parts.py")]
    assert mine == ["parts.py", "parts.py imports helper.py"]
    written(
        tmp_path,
        {
            "there/helper.py": "# of people\nFACTOR = 1.0",
            "parts.py": first["parts.py"] + "# the end\n",
        },
    )
    again = writer_in(tmp_path, ["parts.py"], {"ANOTHER": "1", "OMP_NUM_THREADS": "2"})
    assert again == (code, environment, err)


@pytest.mark.parametrize(
    "text, said",
    [
        ("import subprocess\nsubprocess.run(['true'])", "runs a program"),
        ("import os\nos.system('true')", "runs a program"),
        (
            "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError:\n    pass",
            "asks the network",
        ),
        ("import os\nos.getcwd()", "asks for the working directory"),
        ("from pathlib import Path\nPath.cwd()", "asks for the working directory"),
        ("import os\ndict(os.environ)", "reads all variables of the environment"),
        ("import socket\nsocket.gethostname()", "asks for the name of the machine"),
        (
            "import os\nos.environ.get('MY_TOKEN')",
            "reads MY_TOKEN, which may be a secret and is not kept",
        ),
        (
            "import os\nos.mkfifo('pipe')\nimport threading\n"
            "threading.Thread(target=lambda: open('pipe', 'w').write('1')).start()\nopen('pipe').read()",
            "reads pipe, which is no file",
        ),
    ],
)
def test_what_cannot_be_known_is_said_in_one_line(text, said, tmp_path):
    written(tmp_path, {"study.yaml": STUDY, "parts.py": parts(text, "1.0")})
    err = writer_in(tmp_path, ["parts.py"], {"MY_TOKEN": "7c3"})[2]
    assert (
        err.startswith(f"note: --with parts.py {said}")
        and err.count("\n") == 1
        and "7c3" not in err
    ), err


REPLACED = """
import functools
import numpy as np
import scipy.special
from scipy.stats._distn_infrastructure import rv_generic
before = scipy.special.expit
np.linalg.norm = lambda *given, **how: {0}
scipy.special.expit = functools.partial(lambda x, factor: factor * before(x), factor=1)
rv_generic.mean = lambda self, *given: {0}
"""
NAMES = (
    "numpy.linalg.norm",
    "scipy.special.expit",
    "scipy.stats._distn_infrastructure.rv_generic.mean",
)


def test_what_a_file_replaces_in_other_packages_counts_as_code(tmp_path):
    written(
        tmp_path,
        {"study.yaml": STUDY, "parts.py": parts("", "1.0"), "patch.py": REPLACED.format(1)},
    )
    without = writer_in(tmp_path, ["parts.py"])[1]
    first = writer_in(tmp_path, ["parts.py", "patch.py"])[1]
    assert not [one for one in without if one.endswith("replaced")]
    assert {one for one in first if one.endswith("replaced")} == {
        f"{name} replaced" for name in NAMES
    }
    written(tmp_path, {"patch.py": REPLACED.format(2)})
    other = writer_in(tmp_path, ["parts.py", "patch.py"])[1]
    assert [other[f"{name} replaced"] != first[f"{name} replaced"] for name in NAMES] == [
        True,
        False,
        True,
    ]


VALUES = """
import math
import numpy as np
import scipy.constants
import scipy.special
np.pi = {0}
math.floor = math.ceil
scipy.constants.c = {0}
scipy.special.expit = scipy.special.{1}
"""
NAMES_OF_VALUES = ("numpy.pi", "math.floor", "scipy.constants.c", "scipy.special.expit")


def test_constants_and_compiled_functions_that_a_file_replaces_count(tmp_path):
    sound = "import math, scipy.stats, scipy.special\nFACTOR = scipy.special.expit(math.pi)\nscipy.special.mine = 1"
    written(
        tmp_path,
        {"study.yaml": STUDY, "parts.py": parts(sound, "1.0"), "patch.py": VALUES.format(3, "erf")},
    )
    without = writer_in(tmp_path, ["parts.py"])[1]
    assert not [name for name in without if name.endswith("replaced")]  # the negative control
    first = writer_in(tmp_path, ["parts.py", "patch.py"])[1]
    assert {name for name in first if name.endswith("replaced")} == {
        f"{name} replaced" for name in NAMES_OF_VALUES
    }
    written(tmp_path, {"patch.py": VALUES.format(4, "erfc")})
    other = writer_in(tmp_path, ["parts.py", "patch.py"])[1]
    assert [other[f"{name} replaced"] != first[f"{name} replaced"] for name in NAMES_OF_VALUES] == [
        True,
        False,
        True,
        True,
    ]


READING = """
import functools, importlib, json, os, subprocess, sys
sys.path.insert(0, 'there')
first = json.load(open('there/both.json'))

@functools.cache
def scale():
    return json.load(open('there/scale.json'))

def a_statement():
    import by_statement
"""


def test_what_parts_read_while_they_run_is_said_in_one_line(tmp_path):
    """But for what counts already: what the file read when it was loaded, and modules that a statement imports."""
    factor = (
        "scale() * float(os.environ.get('SCALE', 1)) * len(os.listdir('there')) * importlib.import_module('late')"
        ".FACTOR * json.load(open('there/both.json')) * importlib.import_module('by_statement').FACTOR"
    )
    written(
        tmp_path,
        {
            "study.yaml": STUDY,
            "parts.py": parts(READING, factor),
            "there/scale.json": "1.0",
            "there/both.json": "1.0",
            "there/late.py": "FACTOR = 1.0",
            "there/by_statement.py": "FACTOR = 1.0",
        },
    )
    code, _, err = run(tmp_path, is_tried_twice=True)
    (line,) = [line for line in err.splitlines() if line.startswith("note: ")]
    said = "imports late.py, lists there/, reads $SCALE, reads scale.json"
    assert code == 0 and line.startswith(f"note: a part, while it runs, {said}: no fingerprint"), (
        err
    )
    written(tmp_path, {"parts.py": parts(READING, "1.0")})
    assert (
        "note: " not in run(tmp_path, "replications=20", "outputs=other")[2]
    )  # the negative control
