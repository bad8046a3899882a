"""A method may be a program in any language: one process of it a worker, tables over pipes."""

import os
import re
import shutil
import sys

import numpy as np
import pytest
from scipy import stats

import pipeline as pl
from pipeline.__main__ import main
from pipeline.execution import programs
from pipeline.execution.conversation import ProgramFailed
from pipeline.execution.runner import writer
from pipeline.identity import own_files
from pipeline.identity.registry import adopt, registered, registrations
from pipeline.study import exchange
from pipeline.study.parameters import InvalidInput
from tests.helpers.engine import ROOT

DOCUMENT = (ROOT / "docs/extending.md").read_text()
METHOD = f"""#!{sys.executable}
import csv, os, sys, time
from itertools import islice

print("means 1.0", flush=True)

def table():
    count = sys.stdin.readline()
    if not count:
        sys.exit()
    return list(csv.DictReader(islice(sys.stdin, int(count))))

while True:
    [parameters] = table()
    sums = {{}}
    for row in table():
        sums.setdefault(row["replication"], []).append(float(row["x1"]))
    answer = [len(sums) + 1, "mean,process"]
    for values in sums.values():
        answer.append(f"{{sum(values) / len(values)!r}},{{os.getpid()}}")
    # here
    # At once, also where Python's output is not buffered.
    sys.stdout.write("".join(f"{{line}}\\n" for line in answer))
    sys.stdout.flush()
"""
PERL = """#!/usr/bin/env perl
$| = 1;
print "perl, means 1.0\\n";
while (defined(my $count = <STDIN>)) {
    my @lines = map { scalar <STDIN> } 1 .. $count;
    next if $lines[0] !~ /^replication/;
    my (%sums, %counts);
    for (@lines[1 .. $#lines]) {
        my ($name, $value) = split /,/;
        $sums{$name} += $value;
        $counts{$name}++;
    }
    print scalar(keys %sums) + 1, "\\nmean\\n";
    printf "%.17g\\n", $sums{$_} / $counts{$_} for sort { $a <=> $b } keys %sums;
}
"""
IN_R = """
analyse <- function(data, n) {
  print(n)  # which does not mix with the answer
  if (mean(data$x1) > 1) return(NULL)
  list(mean = mean(data$x1), drawn = runif(1))
}
"""
FILE = """
import pipeline as pl

def normal(rng, n):
    return rng.standard_normal(n)

pl.study(normal, {"in_python": lambda data: {"mean": sum(data.tolist()) / len(data)}, "elsewhere": "means.py"},
         grid={"n": [5, 20]}, measures=["mean"], replications=20, block=10, name="normal")
"""


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with registered():
        yield
    for running in programs._RUNNING.values():
        running.end()
    programs._RUNNING.clear()
    own_files._SENT.clear()


def normal(rng, n):
    return rng.standard_normal(n)


def study_of(text, tmp_path, name="means.py", measures=("mean",), **options):
    (tmp_path / name).write_text(text)
    method = pl.Program(tmp_path / name, **options)
    return pl.study(
        normal,
        method=method,
        grid={"n": [5]},
        measures=measures,
        replications=20,
        block=10,
        name="elsewhere",
    )


def means_here():
    study = pl.study(
        normal,
        lambda data: {"mean": sum(data.tolist()) / len(data)},
        grid={"n": [5]},
        measures=["mean"],
        replications=20,
        block=10,
        name="normal",
    )
    return pl.simulate(study)["mean"].values


def test_a_program_gives_the_numbers_of_a_function_and_is_started_once(tmp_path):
    results = pl.simulate(study_of(METHOD, tmp_path, measures=["mean", "process"]))
    assert np.array_equal(results["mean"].values, means_here())
    assert len(set(results["process"].values.ravel().tolist())) == 1


@pytest.mark.skipif(not shutil.which("perl"), reason="no Perl on this machine")
def test_it_may_be_in_any_language(tmp_path):
    results = pl.simulate(study_of(PERL, tmp_path, "means.pl"))
    assert np.allclose(results["mean"].values, means_here(), rtol=1e-15, atol=1e-16)


@pytest.mark.skipif(not shutil.which("Rscript"), reason="no R on this machine")
def test_r_needs_a_function_only(tmp_path):
    study = study_of(IN_R, tmp_path, "means.R", measures=["mean", "drawn"])
    results = pl.simulate(study)
    means = results["mean"].values
    lost = means_here() > 1
    assert np.array_equal(np.isnan(means), lost) and set(results["status"].values[lost]) <= {1}
    assert np.allclose(means[~lost], means_here()[~lost], rtol=1e-14)
    assert results.identical(pl.simulate(study))  # R draws from the seed of the unit
    assert len(set(results["drawn"].values.ravel().tolist())) == 20
    assert writer(study).environment["means.R runs"].startswith("R version ")


def test_what_a_program_is_belongs_to_the_writer_of_its_numbers(tmp_path):
    before = writer(study_of(METHOD, tmp_path))
    assert before.environment["means.py runs"] == "means 1.0"
    newer = writer(study_of(METHOD.replace("means 1.0", "means 1.1"), tmp_path))
    assert [line.split()[:2] for line in newer.differences(before)] == [
        ["means.py", before.environment["means.py"]],
        ["means.py", "runs"],
    ]
    assert writer(study_of(METHOD, tmp_path)).id == before.id


@pytest.fixture
def no_second_process(monkeypatch):
    """Parts are tried in this process only: starting another takes seconds."""
    monkeypatch.setattr("pipeline.execution.trials._elsewhere", lambda trial: [])


def test_a_changed_program_that_gives_other_numbers_is_refused(tmp_path, no_second_process):
    options = dict(cluster="synchronous", progress=False)
    pl.run(study_of(METHOD, tmp_path), **options)
    other = METHOD.replace("sum(values) /", "1 + sum(values) /")
    with pytest.raises(InvalidInput, match="means.py"):
        pl.run(study_of(other, tmp_path), replications=40, **options)


def test_workers_get_a_program_by_its_content(tmp_path):
    (tmp_path / "means.py").write_text(METHOD)
    (tmp_path / "experiment.py").write_text(FILE)
    assert main(["experiment=experiment.py", "cluster=synchronous", "figures=[]"]) == 0
    results = pl.open_results("normal")["mean"]
    assert results.dims == ("n", "estimator", "replication")
    assert np.array_equal(results.sel(estimator="in_python"), results.sel(estimator="elsewhere"))
    sent = registrations()
    assert sent.programs == (("means.py", METHOD.encode()),)
    (tmp_path / "means.py").unlink()
    with registered(alone=True):
        adopt(sent)


FAILURES = [
    (
        "sys.exit('no such model')",
        "ended with status 1; the last line of its stderr: no such model",
    ),
    ("os.kill(os.getpid(), 9)", "was ended by signal 9"),
    ("os.close(1); time.sleep(9)", "closed its output"),
    ("print('thinking', file=sys.stderr); time.sleep(9)", "within 0.5 s; the last line of its"),
    ("answer = ['hello']", "wrote 'hello' where the number of lines of a table must stand"),
    ("answer.append('1,1')", "wrote '1,1' after the 11 lines of its table"),
    ("answer[0] -= 1; del answer[-1]", "must have 10 rows, one for each replication, has 9"),
    ("answer[1] = 'median,process'", "has no column mean: its first line is 'median,process'"),
    ("answer[3] = 'big,1'", "has 'big' for mean in row 2"),
    ("answer[3] = '1'", "has 1 fields in row 2, not 2"),
]


@pytest.mark.parametrize(("line", "reason"), FAILURES)
def test_a_program_that_fails_is_one_line(line, reason, tmp_path):
    (tmp_path / "means.py").write_text(METHOD.replace("# here", line))
    program = pl.Program("means.py", seconds=0.5 if "sleep(9)" in line else 60)
    with pytest.raises(ProgramFailed) as error:
        program.measure(np.ones((10, 3)), {}, np.random.default_rng(1), ["mean"])
    text = str(error.value)
    assert text.startswith("method means.py: ") and reason in text and "\n" not in text
    assert all(running.ended for running in programs._RUNNING.values())


def test_failed_units_name_it(tmp_path, no_second_process):
    study = study_of(METHOD.replace("# here", "sys.exit('no such model')"), tmp_path)
    with pytest.raises(pl.FailedUnits, match="no such model"):
        pl.run(study, cluster="synchronous", progress=False)


NO_PROGRAMS = [
    ("gone.py", None, "cannot be read"),
    ("empty.R", "", "is empty"),
    ("plain.py", "print(1)", "must be a file ….R, a compiled program, or begin with #!"),
    ("odd.py", "#!/usr/bin/env\n", "names no program in its first line"),
    ("other.jl", "#!/usr/bin/env no-such-julia\n", "needs no-such-julia, which is not on"),
]


@pytest.mark.parametrize(("name", "text", "reason"), NO_PROGRAMS)
def test_what_is_no_program_is_named(name, text, reason, tmp_path):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match="method=") as error:
        pl.study(normal, method=name, grid={"n": [5]}, measures=["mean"])
    assert reason in str(error.value)


def test_a_program_that_does_not_say_what_it_is_is_named(tmp_path):
    study = study_of(f"#!{sys.executable}\nimport sys; sys.exit('no licence')", tmp_path)
    with pytest.raises(InvalidInput, match="status 1; .*no licence, before it wrote a line"):
        pl.simulate(study)


def documented(first_line):
    [code] = re.findall(rf"^```(?:r|python)\n({first_line}\n.*?)^```$", DOCUMENT, re.M | re.S)
    return code


def two_groups(rng, n, shift):
    return rng.standard_normal(n), shift + rng.standard_normal(n)


def test_the_documented_program_in_python(tmp_path):
    (tmp_path / "fit.py").write_text(documented("#!/usr/bin/env python3"))
    groups = [(np.zeros(3), np.full(3, number / 2)) for number in range(4)]
    program = pl.Program("fit.py")
    means = program.measure(groups, {"n": 3}, np.random.default_rng(1), ["difference"])
    assert means["difference"].tolist() == [0.0, 0.5, 1.0, 1.5]


@pytest.mark.skipif(not shutil.which("Rscript"), reason="no R on this machine")
def test_the_documented_method_in_r_agrees_with_scipy(tmp_path):
    (tmp_path / "fit.R").write_text(documented("# fit.R"))
    rng = np.random.default_rng(1)
    groups = [two_groups(rng, 10, 0.5) for _ in range(100)]
    found = pl.Program("fit.R").measure(groups, {"n": 10}, rng, ["rejects"])["rejects"]
    rejects = [stats.ttest_ind(*group).pvalue < 0.05 for group in groups]
    assert found.tolist() == rejects and 5 < sum(rejects) < 40


def test_fields_are_as_python_and_r_write_them():
    lines = exchange.table_of_data([(np.array([0.1, np.nan]), True), (np.array([-np.inf]), False)])
    assert lines == ["replication,x1,x2", "1,0.1,1", "1,NaN,1", "2,-Inf,0"]
    assert exchange.table_of_data([([1, 2], [3])])[1:] == ["1,1,3", "1,2,"]
    values = exchange.measures_of(["a", "TRUE", "NA", "NaN", "1e3"], ["a"], 4)["a"]
    assert values.tolist()[::3] == [1.0, 1000.0] and np.isnan(values[1:3]).all()


def test_parameters_that_a_program_gets_have_names_of_their_own(tmp_path):
    (tmp_path / "means.py").write_text(METHOD)
    with pytest.raises(InvalidInput, match="grid.seed"):
        pl.study(normal, method="means.py", grid={"n": [5], "seed": [1]}, measures=["mean"])
    with pytest.raises(InvalidInput, match="give either analyse"):
        pl.study(normal, grid={"n": [5]}, measures=["mean"])


def test_no_process_and_no_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "means.py").write_text(METHOD)
    program = pl.Program("means.py")
    assert program.version() == "means 1.0"
    [running] = programs._RUNNING.values()
    running.end()
    assert os.listdir(tmp_path) == ["means.py"] and running._process.returncode is not None
