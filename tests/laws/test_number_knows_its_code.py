"""No result mixes numbers of two codes or two arithmetics without a person's word.

What edits code edits a copy of the package (or of a module of somebody's own) and runs the command there, in another
process, which counts the units that it simulates.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import xarray as xr

from pipeline.__main__ import main
from pipeline.kernels import loader
from tests.helpers.commands_counted import Fork, in_a_fork, outcomes
from tests.helpers.engine import ROOT, contents, copy_program, environment, without_report
from tools import build_kernels

WORDS = [
    "experiment=xu/phase_transition",
    "claims=false",
    "figures=[]",
    "cluster=synchronous",
    "grid.m=[4,6]",
    "grid.L=[30]",
    "grid.x=[4,16]",
    "block=20",
    "metrics=[error_l2,sandwich_risk]",
]
HERE = {"replications": 40}
MORE = {"replications": 80}
ANOTHER_CPU = {"OPENBLAS_CORETYPE": "Sandybridge", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL"}
FULL = os.environ.get("FAULTS") == "full"  # `make faults`

MODULE = "tests.helpers.commands_counted"


class Outcome(NamedTuple):
    """What a command did: exit code, texts, units that it simulated."""

    code: int
    out: str
    err: str
    simulated: int


def words(outputs, base=WORDS, **changes):
    return [*base, f"outputs={outputs}", *(f"{name}={value}" for name, value in changes.items())]


def perform(tmp_path, commands, path=(), variables=None, **patches):
    """Run commands in one process of its own, in which `path` comes first on the path of modules."""
    patches = {"without_report": 1} | patches
    if path or variables:
        answers = in_an_interpreter(tmp_path, commands, path, variables or {}, patches)
    else:
        answers = in_a_fork(lambda: outcomes(patches, commands), tmp_path)
    assert isinstance(answers, list), answers
    return [Outcome(*one) for one in answers]


def in_an_interpreter(tmp_path, commands, path, variables, patches):
    target = tmp_path / f"outcomes-{os.urandom(4).hex()}"
    paths = os.pathsep.join(map(str, [*path, ROOT]))
    done = subprocess.run(
        [sys.executable, "-m", MODULE, json.dumps([patches, commands, str(target)])],
        env=environment(PYTHONPATH=paths, **variables),
        capture_output=True,
        text=True,
        timeout=900,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(target.read_text())


def edited(tmp_path, file, edits):
    """A copy of the package in which a file of it is edited; its folder."""
    site = tmp_path / "site"
    copy_program(site)
    shutil.copytree(ROOT / "conf", site / "conf")
    path = site / "pipeline" / file
    text = path.read_text()
    for before, after in edits.items():
        assert text.count(before) >= 1
        text = text.replace(before, after)
    path.write_text(text)
    build_kernels.build_all(site / "pipeline")
    return site


def only(folder, pattern):
    (one,) = Path(folder).glob(pattern)
    return one


def tasks(where, base=WORDS):
    """Commands that must compare: on what is begun, on what is finished, with more replications."""
    return [
        words(where / "begun", base, **HERE),
        words(where / "whole", base, **HERE),
        words(where / "whole", base, **HERE, task="verify"),
        words(where / "whole", base, **HERE, task="report"),
        words(where / "whole", base, **MORE),
    ]


def begin(tmp_path_factory, base=WORDS, **options):
    """A finished study in `whole`; and in `begun` the same without two of its units."""
    where = tmp_path_factory.mktemp("study")
    (done,) = perform(where, [words(where / "whole", base, **HERE)], **options)
    assert done.code == 0, done.err
    shutil.copytree(where / "whole", where / "begun")
    for name in sorted((where / "begun").glob("*/*/replications/units/1/*"))[:2]:
        name.unlink()
    return where


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    """What every fork would do again: imports, and fingerprints of the program's own code."""
    where = tmp_path_factory.mktemp("warm")
    with pytest.MonkeyPatch.context() as patch:
        without_report(patch)
        assert main(words(where, replications=20)) == 0


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return begin(tmp_path_factory)


@pytest.fixture
def copy(study, tmp_path):
    shutil.copytree(study, tmp_path / "study")
    return tmp_path / "study"


def all_refused(outcomes, *named):
    for one in outcomes:
        assert one.code == 2, (one.out, one.err)
        (line,) = [line for line in one.err.splitlines() if line.startswith("error: ")]
        assert "numbers come out differently" in line and all(name in line for name in named), line
        assert "Traceback" not in one.out + one.err


def test_the_same_code_compares_nothing(copy, tmp_path):
    before = contents(copy / "whole")
    begun, done, verified, reported, more = perform(tmp_path, tasks(copy))
    assert [one.code for one in (begun, done, verified, reported, more)] == [0] * 5
    assert [one.simulated for one in (begun, done, verified, reported, more)] == [2, 0, 0, 0, 16]
    assert "nothing to do" in done.out
    assert before.keys() <= contents(copy / "whole").keys()


def units(folder):
    return {
        name: content
        for name, content in contents(folder).items()
        if "/replications/units/" in name
    }


ESTIMATOR = "problems/ranking/estimators/moments.py"
THEORY = "problems/ranking/theory/risk.py"


@pytest.mark.parametrize(
    "file, before, after, named",
    [
        (
            ESTIMATOR,
            "minimum = minimise(scores(mean, release.items), ridge)",
            "minimum = minimise(scores(mean, release.items), 1.1 * ridge)",
            [
                "code differs: estimator debiased",
                "in pipeline.problems.ranking.estimators.moments",
                "take the code that the study was begun with",
            ],
        ),
        (
            THEORY,
            "square = users * weights**2 /",
            "square = 1.01 * users * weights**2 /",
            [
                "code differs: estimator debiased, estimator plug_in, metric sandwich_risk",
                ": sandwich_risk of ",
                "in pipeline.problems.ranking.theory.risk",
            ],
        ),
        (
            THEORY.replace(".py", ".c"),
            "(variance + bias) /",
            "(1.01 * variance + bias) /",
            [
                "code differs: estimator debiased, estimator plug_in, metric sandwich_risk",
                ": sandwich_risk of ",
                "in pipeline.problems.ranking.theory.risk",
            ],
        ),
    ],
    ids=["estimator", "theory", "kernel"],
)
def test_an_edit_that_changes_numbers_is_refused(file, before, after, named, copy, tmp_path):
    stored = units(copy)
    site = edited(tmp_path, file, {before: after})
    all_refused(perform(tmp_path, tasks(copy), [site]), *named)
    assert units(copy) == stored
    # where it was begun, it goes on
    assert [one.code for one in perform(tmp_path, tasks(copy)[:2])] == [0, 0]


@pytest.mark.parametrize(
    "edit, same",
    [(("(variance + bias) /", "(1.01 * variance + bias) /"), False), ((), True)],
    ids=["other numbers", "other bytes"],
)
def test_a_library_that_was_built_in_another_way_is_another_writer(edit, same, copy, tmp_path):
    """Of the same C file, to its digest: by a compiler that is told otherwise."""
    stored = units(copy)
    site = edited(tmp_path, THEORY, {})
    source = site / "pipeline" / THEORY.replace(".py", ".c")
    text = source.read_text()
    digest, library = loader.digest(source), loader.library(source)
    source.write_text(text.replace(*edit) if edit else text)
    compiler = next(build_kernels.compilers())
    flags = [*loader.FLAGS, "-O1", f"-I{loader.HEADERS}", f'-DKERNEL_DIGEST="{digest}"']
    subprocess.run([*compiler, *flags, str(source), "-o", str(library)], check=True)
    source.write_text(text)
    (more,) = perform(tmp_path, [words(copy / "whole", **MORE)], [site])
    if same:
        assert more.code == 0 and more.simulated == 18, more
    else:
        all_refused([more], ": sandwich_risk of ", "; kernels differ: librisk.so; compile again")
        assert units(copy) == stored


@pytest.mark.parametrize(
    "edits, compared",
    [
        (
            {
                "weights = self.weights(release)": "weights = (self.weights(\n"
                "            release))  # of the users",
                '"""Estimate of a block; non-convergence is a value, not an error.': '"""Another.',
            },
            0,
        ),
        (
            {
                "ridge = ridge_of(self.lambda_scale, release, weights)": "ridge = ridge_of("
                "1 * self.lambda_scale, release, weights)"
            },
            2,
        ),
    ],
    ids=["comment and docstring", "same numbers"],
)
def test_an_edit_that_changes_no_number_is_admitted(edits, compared, copy, tmp_path):
    site = edited(tmp_path, ESTIMATOR, edits)
    commands = tasks(copy)
    performed = perform(tmp_path, [*commands, *commands], [site])
    first, again = performed[:5], performed[5:]
    assert [one.code for one in first] == [0] * 5, first
    # one unit of either estimator in each of the two folders, at the first command; then never again
    assert [one.simulated for one in first] == [2 + compared, compared, 0, 0, 16]
    assert [one.simulated for one in again] == [0] * 5
    for folder in ("begun", "whole"):
        records = list((copy / folder).glob("*/*/replications/agreed/*.json"))
        assert len(records) == (2 if compared else 1)
        assert all(json.loads(one.read_text())["accepted"] == "" for one in records)


def test_every_task_compares_by_itself(study, tmp_path):
    """Each on a copy of its own, so that no other has compared before."""
    alone = [
        tasks(shutil.copytree(study, tmp_path / f"study-{number}"))[number] for number in range(5)
    ]
    outcomes = perform(tmp_path, alone, environment={"numpy": "99.0"})
    assert [(one.code, one.simulated) for one in outcomes] == [
        (0, 4),
        (0, 2),
        (0, 2),
        (0, 2),
        (0, 18),
    ]
    all_refused(perform(tmp_path, alone, draw=1, environment={"numpy": "98.0"}), "→ 98.0")


MECHANISM = """
from dataclasses import dataclass
from pipeline.study.problem import Problem
from tests.helpers import toy_paper

PROBLEM = Problem(name="mine", title="Mine", package=__name__, models={"answers": "tests.helpers.toy_paper:Answers"},
                  mechanisms={"noise": "my_study:Noise"}, estimators={"mean": "tests.helpers.toy_paper:Mean"},
                  metrics={"error_squared": "tests.helpers.toy_paper:ErrorSquared"})

@dataclass(frozen=True)
class Noise(toy_paper.LaplaceNoise):
    \"\"\"Noise of my own.\"\"\"

    def release(self, data, rng):
        \"\"\"Noisy answers.\"\"\"
        return toy_paper.Released(data.values + 2 * rng.laplace(scale=1 / self.epsilon, size=data.values.shape))
"""
EXPERIMENT = """# @package _global_
name: mine/mean
problem: mine
title: Mine
question: Which noise?
seed: 1
replications: 40
block: 20
grid: {n: [10, 20], epsilon: [1.0, 2.0]}
parameters: {model: answers, mechanism: noise, estimator: mean}
metrics: [error_squared]
figures: []
"""
MINE = ["experiment=mine/mean", "claims=false", "cluster=synchronous"]


def own(folder, text=MECHANISM):
    """An installed package with a problem of a person's own."""
    info = folder / "my_study-1.dist-info"
    (folder / "my_study" / "conf" / "experiment" / "mine").mkdir(parents=True)
    info.mkdir()
    (folder / "my_study" / "__init__.py").write_text(text)
    (folder / "my_study" / "conf" / "experiment" / "mine" / "mean.yaml").write_text(EXPERIMENT)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_study\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[pipeline.problems]\nmine = my_study:PROBLEM\n")
    return folder


def test_a_mechanism_of_ones_own(tmp_path_factory, tmp_path):
    """What a second process shows of such parts is the subject of test_determinism.py; here by `FAULTS=full`."""
    alone = {} if FULL else {"one_process": 1}
    where = begin(tmp_path_factory, MINE, path=[own(tmp_path / "first")], **alone)
    commented = own(
        tmp_path / "commented", MECHANISM.replace("Noise of my own", "My noise") + "# the end\n"
    )
    assert [
        one.simulated for one in perform(tmp_path, tasks(where, MINE)[1:4], [commented], **alone)
    ] == [0, 0, 0]
    other = own(tmp_path / "other", MECHANISM.replace("2 * rng", "3 * rng"))
    all_refused(
        perform(tmp_path, tasks(where, MINE), [other], **alone),
        "code differs: mechanism noise",
        "in my_study",
    )
    same = own(tmp_path / "same", MECHANISM.replace("2 * rng", "(1 + 1.0) * rng"))
    admitted = perform(tmp_path, tasks(where, MINE), [same], **alone)
    assert [(one.code, one.simulated) for one in admitted] == [
        (0, 3),
        (0, 1),
        (0, 0),
        (0, 0),
        (0, 8),
    ]


def test_only_a_person_mixes_them_and_it_is_shown(copy, tmp_path):
    more = words(copy / "whole", **MORE)
    site = edited(
        tmp_path,
        ESTIMATOR,
        {
            "minimum = minimise(scores(mean, release.items), ridge)": "minimum = minimise("
            "scores(mean, release.items), 1.1 * ridge)"
        },
    )
    refused, mixed, again, status = perform(
        tmp_path, [more, [*more, "accept_code=yes"], more, [*more, "task=status"]], [site]
    )
    all_refused([refused], "accept_code=yes")
    assert mixed.code == 0 and mixed.simulated == 18 and again.code == 0 and again.simulated == 0
    assert (
        "mixed: " in status.out
        and "accept_code=yes, changed since: code of estimator debiased" in status.out
    )
    records = [
        json.loads(path.read_text())
        for path in (copy / "whole").glob("*/*/replications/agreed/*.json")
    ]
    assert sorted(one["accepted"] != "" for one in records) == [False, True]
    root = json.loads(only(copy / "whole", "*/*/results.zarr/zarr.json").read_text())["attributes"]
    writers = json.loads(root["writers"])
    assert len(writers) == 2 and sum("accept_code=yes" in one["accepted"] for one in writers) == 1
    # back with the first code: it is recorded, so nothing is compared, and what is mixed stays said
    (back,) = perform(tmp_path, [words(copy / "whole", replications=100)])
    assert back.code == 0 and back.simulated == 8
    root = json.loads(only(copy / "whole", "*/*/results.zarr/zarr.json").read_text())["attributes"]
    assert "accept_code=yes" in root["writers"]


def test_the_page_says_what_is_mixed(copy, tmp_path):
    more = words(copy / "whole", **MORE, accept_code="true")
    assert perform(tmp_path, [more], draw=1, environment={"numpy": "98.0"})[0].code == 0
    report = words(copy / "whole", **MORE, task="report")
    ((code, _, error, _),) = in_a_fork(lambda: outcomes({}, [report]), tmp_path)
    assert code == 0, error
    page = only(copy / "whole", "*/*/report.html").read_text()
    assert "Mixed: numbers of different code or arithmetic" in page and "→ 98.0" in page


@pytest.mark.parametrize(
    "harm", ["deleted", "emptied", "one bit", "of another"] if FULL else ["one bit"]
)
def test_a_harmed_record_lets_nobody_in(harm, copy, tmp_path):
    """Also where what was accepted is no longer recorded, the results say so."""
    assert (
        perform(
            tmp_path,
            [words(copy / "whole", **MORE, accept_code="yes")],
            draw=1,
            environment={"numpy": "98.0"},
        )[0].code
        == 0
    )
    folder = only(copy / "whole", "*/*/replications/agreed")
    (record,) = [path for path in folder.iterdir() if json.loads(path.read_text())["accepted"]]
    content = bytearray(record.read_bytes())
    if harm == "deleted":
        record.unlink()
    elif harm == "emptied":
        record.write_bytes(b"")
    elif harm == "one bit":
        content[content.index(b"accept_code")] ^= 1
        record.write_bytes(content)
    else:
        (other,) = set(folder.iterdir()) - {record}
        record.write_bytes(other.read_bytes())
    more = words(copy / "whole", replications=100)
    all_refused(perform(tmp_path, [more], draw=1, environment={"numpy": "97.0"}))
    all_refused(perform(tmp_path, [more], draw=1, environment={"numpy": "98.0"}))
    (back,) = perform(tmp_path, [more])
    assert back.code == 0
    root = json.loads(only(copy / "whole", "*/*/results.zarr/zarr.json").read_text())["attributes"]
    (mixed,) = [one["accepted"] for one in json.loads(root["writers"]) if one["accepted"]]
    assert "no record is left" in mixed


def other_cpu(tmp_path):
    """Variables under which this machine computes like one of an older type; skips where that is not known."""
    if platform.machine() != "x86_64":
        pytest.skip("another CPU type can be simulated on x86-64 only")
    script = (
        "from pipeline.execution.environment import environment as e; print(sorted(e().items()))"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=environment(**variables),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for variables in ({}, ANOTHER_CPU)
    ]
    if texts[0] == texts[1]:
        pytest.skip("OPENBLAS_CORETYPE and NPY_DISABLE_CPU_FEATURES change nothing on this machine")
    return ANOTHER_CPU


EXPERTS = [
    "experiment=wang/experts",
    "claims=false",
    "figures=[]",
    "cluster=synchronous",
    "grid.n=[50,100]",
    "grid.epsilon=[0.5,1.75]",
    "grid.expert_exponent=[0.45]",
    "block=20",
    "metrics=[label_error,oracle_error]",
]
ITEMS = [
    "experiment=nguyen/consistency",
    "claims=false",
    "figures=[]",
    "cluster=synchronous",
    "grid.m=[5]",
    "grid.n=[300,1000]",
    "grid.estimator=[joint_likelihood,spectral]",
    "block=20",
]


@pytest.mark.parametrize(
    "base",
    [WORDS, EXPERTS, ITEMS] if FULL else [ITEMS],
    ids=["ranking", "wang/experts", "nguyen/consistency"] if FULL else ["nguyen/consistency"],
)
def test_another_type_of_cpu(base, tmp_path_factory, tmp_path):
    """The same bits are admitted, others refused; what is stored is never called damaged."""
    variables = other_cpu(tmp_path)
    where = begin(tmp_path_factory, base)
    shutil.copytree(where / "whole", where / "before")
    stored = units(where / "whole")
    verify = words(where / "whole", base, **HERE, task="verify", repair="true")
    commands = [words(where / "there", base, **HERE), verify, *tasks(where, base)]
    there, *outcomes = perform(tmp_path, commands, variables=variables, all_units=1)
    assert there.code == 0, there
    numbers = [
        {
            name.rpartition("units/")[2]: content.partition(b"\n")[2][16:-4]
            for name, content in units(where / folder).items()
        }
        for folder in ("before", "there")
    ]
    same = numbers[0] == numbers[1]
    print(f"{base[0]}: {'the same' if same else 'other'} numbers on the other type of CPU")
    assert "units checked, 0 damaged" in outcomes[0].out
    assert stored.items() <= units(where / "whole").items()
    if same:
        assert [one.code for one in outcomes] == [0] * 6, outcomes
    else:
        all_refused(outcomes)
        assert stored == units(where / "whole")


def test_features_of_the_processor_are_part_of_the_arithmetic():
    """Those that NumPy chooses its loops by, and is told not to use."""
    script = (
        "import json; from numpy._core import _multiarray_umath as u; "
        "from pipeline.execution.environment import environment as e; "
        "print(json.dumps([e(), [name for name in u.__cpu_dispatch__ if u.__cpu_features__[name]]]))"
    )

    def told(**variables):
        return json.loads(
            subprocess.run(
                [sys.executable, "-c", script],
                env=environment(**variables),
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )

    whole, used = told()
    if not used:
        pytest.skip("NumPy has one kind of loops for this processor")
    fewer, _ = told(NPY_DISABLE_CPU_FEATURES=" ".join(used))
    assert [name for name in whole if whole[name] != fewer[name]] == ["CPU features"]
    assert {*whole["CPU features"].split()} - {*fewer["CPU features"].split()} >= {*used}


def test_other_arithmetic_at_the_same_time(tmp_path):
    """Of two kinds of processes that begin one new study at once exactly one is let in."""
    usual = {"without_report": 1}
    other = usual | {"draw": 1, "environment": {"numpy": "98.0"}}
    for number in range(2):
        outputs = tmp_path / f"both{number}"
        commands = [words(outputs, **MORE)]
        forks = [
            Fork(lambda kind=kind: outcomes(kind, commands), tmp_path)  # noqa: B023, begun at once
            for kind in (usual, other)
        ]
        results = [Outcome(*answer) for fork in forks for answer in fork.answer()]
        assert sorted(one.code for one in results) == [0, 2], results
        all_refused([one for one in results if one.code])
        assert len(list(outputs.glob("*/*/replications/agreed/*.json"))) == 1
        writers = {content.split(b"\n")[1][:16] for content in units(outputs).values()}
        assert len(writers) == 1


OWN = """
import pipeline as pl
from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import measure
from pipeline.analysis.tolerances import Within

def doubled(epsilon: float = pl.parameter("budget", unit="nats", low=0)) -> float:
    return 2 * epsilon

@measure("mean error")
def found(results):
    cell = pl.summarise(results, 0.99).isel(epsilon=-1)
    return Estimate(*(float(cell[f"error_l2{end}"]) for end in ("", "_low", "_high", "_mcse")))

pl.register("ranking", derivations={"doubled": doubled}, claims=[Claim(
    id="own.small", statement="The error is small.", source="this file", experiment="survey", measure=found,
    tolerance=Within(0.0, 100.0), why="so", conditions="the largest budget",
    control=NegativeControl("much larger", scaled("error_l2", 1e6)))])
"""
SURVEY = """
problem: ranking
seed: 1
replications: 40
block: 20
grid: {epsilon: [0.5, 4]}
parameters: {model: btl, mechanism: laplace, estimator: debiased, m: 3, L: 20}
coordinates: [doubled]
metrics: [error_l2]
"""


def test_an_edited_coordinate_or_claim_is_not_shown_as_it_was(tmp_path):
    """Nothing is simulated with either, so that no reference unit comes out differently."""
    (tmp_path / "survey.yaml").write_text(SURVEY)
    words = ["--with", "own.py", "experiment=survey.yaml", "cluster=synchronous", "outputs=out"]

    def shown(text):
        (tmp_path / "own.py").write_text(text)
        ((code, out, err, _),) = in_a_fork(lambda: outcomes({}, [words]), tmp_path)
        assert code == 0, err
        (results,) = tmp_path.glob("out/survey-*/results.zarr")
        return out, xr.open_zarr(results)["doubled"].values.tolist()

    first, before = shown(OWN)
    second, after = shown(
        OWN.replace("2 * epsilon", "3 * epsilon").replace("0.0, 100.0", "0.0, 1e-9")
    )
    assert (
        "nothing to do" in second
        and "supported     own.small" in first
        and "contradicted  own.small" in second
    )
    assert (before, after) == ([1, 8], [1.5, 12])
