"""Recorded crowds: files read and refused, workers drawn by enumeration, truth and stand-in."""

import csv
import io
import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.problems.crowd.data import files as crowd_files
from pipeline.problems.crowd.data.files import UNKNOWN, crowd_tasks, crowd_workers, load
from pipeline.problems.crowd.data.recorded import RecordedCrowd
from pipeline.study.parameters import DataFile, InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree
from tests.helpers.real_data import real

ANSWERS = "task,worker,label\nt1,ann,1\nt1,bob,0\nt2,ann,0\nt3,bob,1\nt3,cy,1\n"
TRUTH = "task,truth\nt1,1\nt3,0\nt2,0\n"


def rng(seed):
    return np.random.default_rng(seed)


def file(folder, content, name="a.csv"):
    path = Path(folder) / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return DataFile.at(str(path), "data_path")


def both(folder, answers=ANSWERS, truth=TRUTH):
    return load(file(folder, answers), file(folder, truth, "t.csv"))


@pytest.mark.parametrize(
    "answers, truth",
    [
        (ANSWERS, TRUTH),
        (ANSWERS.replace("\n", "\r\n"), "\ufeff" + TRUTH),
        ("\n" + ANSWERS.replace("\n", "\n\n"), TRUTH),
        (ANSWERS.replace(",", " , "), TRUTH.replace("task", "Item")),
        (ANSWERS.rstrip(), TRUTH.replace("t1", '"t1"')),
        (ANSWERS, TRUTH.replace("truth", "label")),
        (ANSWERS.encode("utf-16"), TRUTH.split("\n", 1)[1].replace(",", "\t")),
        (ANSWERS.replace(",", ";"), TRUTH),
        (ANSWERS.replace(",1\n", ",1.0\n"), TRUTH.replace(",0", ",0.0") + ",\n"),
        ("worker,t1,t2,t3\nann,1,0,\nbob,0,,1\ncy,NA,,1\n", TRUTH),
        ("Task ID,ann,bob,cy\nt1,1,0,\nt2,0,,\nt3,,1,1\n", TRUTH),
        (
            "annotator,answer,question,time\nann,1,t1,9\nbob,0,t1,9\nann,0,t2,9\nbob,1,t3,9\ncy,1,t3,9\n",
            TRUTH,
        ),
    ],
)
def test_files_are_read(tmp_path, answers, truth):
    found = both(tmp_path, answers, truth)
    assert found.workers == ("ann", "bob", "cy") and found.tasks == ("t1", "t2", "t3")
    assert found.answers.dtype == np.int8 and found.answers.tolist() == [
        [1, -1, 0],
        [-1, 0, 1],
        [0, 0, 1],
    ]
    assert found.labels.tolist() == [1, 0, 0] and found.abilities.tolist() == [1.0, 0.0, 0.0]
    assert (
        "5 answers by 3 workers to 3 tasks, 1 to 2 of a task and 1 to 2 of a worker, 40.0% right"
        in found.source
    )
    assert "33.3% of labels are 1" in found.source


@pytest.mark.parametrize(
    "zero, one",
    [
        ("no", "yes"),
        ("No", "YES"),
        ("false", "True"),
        ("-1", "1"),
        ("1", "2"),
        ("cat", "dog"),
        ("wrong", "right"),
    ],
)
def test_labels_are_any_two(tmp_path, zero, one):
    answers, truth = (
        text.replace(",1\n", ",A\n").replace(",0\n", f",{zero}\n").replace(",A\n", f",{one}\n")
        for text in (ANSWERS, TRUTH)
    )
    found = both(tmp_path, answers, truth)
    assert found.answers.tolist() == [
        [1, -1, 0],
        [-1, 0, 1],
        [0, 0, 1],
    ] and found.labels.tolist() == [1, 0, 0]
    assert f"labels are 1 ('{one.lower()}'; 0 is '{zero.lower()}')" in found.source


def test_names_may_break_lines(tmp_path):
    answers, truth = (
        'task,worker,label\n"t\n1",ann,1\nt2,"bob\nby",0\n',
        'task,truth\n"t\n1",1\nt2,0\n',
    )
    found = both(tmp_path, answers, truth)
    assert (
        found.tasks == ("t\n1", "t2")
        and found.workers == ("ann", "bob\nby")
        and found.labels.tolist() == [1, 0]
    )
    with pytest.raises(InvalidInput, match="row 6: label is '2', a third"):
        both(tmp_path, answers + "t2,ann,2\n", truth)


@pytest.mark.parametrize(
    "answers, truth, message",
    [
        ("", TRUTH, "data_path=.*: is empty; must begin with task,worker,label$"),
        (
            "task,label\nt1,1\n",
            TRUTH,
            "row 1: is 'task,label'; must be the header task,worker,label, or begin with worker",
        ),
        (
            "task,worker,label\n",
            TRUTH,
            "has a header and nothing below it; must have a row for each answer$",
        ),
        (ANSWERS + "t1,cy\n", TRUTH, "row 7: has 2 fields; must have 3, as the header$"),
        (ANSWERS + "t1,,1\n", TRUTH, "row 7: the worker has no name$"),
        (
            ANSWERS + "t1,cy,2\n",
            TRUTH,
            "row 7: label is '2', a third one beside '1' and '0'; two are allowed$",
        ),
        (
            ANSWERS + "t1,cy,\n",
            TRUTH,
            "row 7: label is ''; must be one of two labels; leave out lines without",
        ),
        (
            ANSWERS + "t1,ann,0\n",
            TRUTH,
            "row 7: worker 'ann' has an answer to task 't1' before, in row 2; keep one$",
        ),
        (
            ANSWERS + "t9,ann,0\n",
            TRUTH,
            "row 7: task 't9' has no true label in data.truth; add it there, or leave",
        ),
        (ANSWERS + 't1,"cy"x,0\n', TRUTH, "row 7: is not CSV"),
        (ANSWERS.encode() + b"\x81\n", TRUTH, "row 7: is not UTF-8 text; save"),
        (
            ANSWERS,
            TRUTH + "t9,1\n",
            "data_truth=.*: row 5: no worker answered task 't9'; leave it out$",
        ),
        (
            ANSWERS,
            TRUTH + "t3,1\n",
            "data_truth=.*row 5: task 't3' has a true label before, in row 3$",
        ),
        (
            ANSWERS,
            TRUTH.replace("t2,0", "t2,yes"),
            "data_truth=.*row 4: truth is 'yes', a third one beside '1' and '0'",
        ),
        (ANSWERS, TRUTH.replace("t2,0", "t2,"), "data_truth=.*row 4: task 't2' has no true label$"),
        (
            "task,worker,label\nt,a,cat\n",
            "t,cat\n",
            "all labels, also the true ones, are 'cat'; there must be two$",
        ),
        (
            "task,worker,label,answer\nt,a,1,1\n",
            TRUTH,
            "has 2 columns for the label: label, answer; keep one$",
        ),
        ("worker,t1,t1\na,1,0\n", TRUTH, "needs a name for every column in the header, each once$"),
        ("worker,t1,t2\na,1,0\na,1,1\n", TRUTH, "row 3: 'a' has a row before$"),
        ("worker,t1,t2\na,,NA\n", TRUTH, "has no answer in any cell$"),
        (b"\xd0\xcf\x11\xe0", TRUTH, "is an Excel workbook"),
        (
            ANSWERS,
            "task,worth\nt1,1\n",
            "data_truth=.*row 1: is 'task,worth'; must be the header task,truth or task,label$",
        ),
    ],
)
def test_mistakes_are_refused_with_their_row(tmp_path, answers, truth, message):
    with pytest.raises(InvalidInput, match=message) as error:
        both(tmp_path, answers, truth)
    assert "\n" not in str(error.value)


def test_both_files_are_needed_and_not_too_large(tmp_path, monkeypatch):
    one = file(tmp_path, ANSWERS)
    with pytest.raises(InvalidInput, match="^data_path=null: is needed with data.truth"):
        load(None, one)
    with pytest.raises(InvalidInput, match="^data_truth=null: is needed with data.path"):
        RecordedCrowd(n=3, m=3, data_path=one)
    crowd = RecordedCrowd(n=3, m=3, data_path=one, without_truth=True)
    assert "true labels not known" in crowd.source and (load(one, None).labels == UNKNOWN).all()
    monkeypatch.setattr(crowd_files, "MOST_CELLS", 8)
    with pytest.raises(InvalidInput, match="has 3 workers × 3 tasks; at most 8 in all"):
        both(tmp_path, ANSWERS + "\n\n")


NAMES = st.lists(
    st.text(
        st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"), min_size=1, max_size=4
    )
    .map(str.strip)
    .filter(bool),
    min_size=1,
    max_size=5,
    unique=True,
)


@settings(max_examples=100)
@given(NAMES, NAMES, st.sampled_from(["\n", "\r\n"]), st.integers(0, 2**32))
def test_every_valid_pair_of_files_is_read(workers, tasks, ends, seed):
    draw = rng(seed)
    answers = draw.integers(-1, 2, (len(workers), len(tasks)))
    answers[0][(answers == 0).all(axis=0)] = 1
    answers[(answers == 0).all(axis=1), 0] = -1
    labels = draw.integers(0, 2, len(tasks))

    def text(header, rows):
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator=ends, quoting=csv.QUOTE_ALL if seed % 2 else 0).writerows(
            [header, *rows]
        )
        return out.getvalue()

    rows = [(tasks[j], workers[i], (answers[i, j] + 1) // 2) for i, j in np.argwhere(answers)]
    with tempfile.TemporaryDirectory() as folder:
        found = both(
            folder,
            text(("task", "worker", "label"), draw.permutation(np.array(rows, object)).tolist()),
            text(("item", "truth"), zip(tasks, labels, strict=True)),
        )
    w, t = (
        [found.workers.index(name) for name in workers],
        [found.tasks.index(name) for name in tasks],
    )
    assert (found.answers[w][:, t] == answers).all() and (found.labels[t] == labels).all()
    right = [
        np.mean([(x == 1) == (y == 1) for x, y in zip(row, labels, strict=True) if x])
        for row in answers
    ]
    assert found.abilities[w] == pytest.approx(right)


@settings(max_examples=200)
@given(
    st.one_of(
        st.binary(max_size=60),
        st.builds(
            lambda position, new: (
                ANSWERS.encode()[:position] + new + ANSWERS.encode()[position + 1 :]
            ),
            st.integers(0, len(ANSWERS) - 1),
            st.sampled_from(list(b'019,;x"\n\r\0\xff')).map(lambda sign: bytes([sign])),
        ),
    )
)
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_line(content):
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = both(folder, content)
        except InvalidInput as error:
            assert str(error).startswith(("data_path=", "data_truth=")) and str(error).isprintable()
        else:
            assert (
                np.isin(found.answers, (-1, 0, 1)).all() and (found.answers != 0).any(axis=1).all()
            )


def test_all_workers_are_the_file_as_it_is(tmp_path):
    files = dict(data_path=file(tmp_path, ANSWERS), data_truth=file(tmp_path, TRUTH, "t.csv"))
    assert (crowd_workers(**files), crowd_tasks(**files)) == (3, 3)
    model = build(RecordedCrowd, dict(n=3, m=3, **files))
    truth = model.truth(rng(1), 4, None)
    data = model.simulate(truth, rng(2))
    found = load(*files.values())
    assert (
        (data.answers == found.answers).all()
        and data.answers.shape == (4, 3, 3)
        and data.start is None
    )
    assert (truth.abilities == found.abilities).all() and (truth.labels == found.labels).all()
    assert truth.labels.shape == (4, 3) and model.source == found.source
    with pytest.raises(InvalidInput, match="^n=4: there are 3 workers; give n=3 or less"):
        build(RecordedCrowd, dict(n=4, m=3, **files))
    for m in (2, 4):
        with pytest.raises(InvalidInput, match=f"^m={m}: there are 3 tasks; give m=3"):
            build(RecordedCrowd, dict(n=3, m=m, **files))


def test_workers_are_drawn_without_replacement_and_keep_their_answers():
    model = RecordedCrowd(n=3, m=crowd_files.STAND_IN_TASKS)
    truth = model.truth(rng(1), 40_000, None)
    assert (np.diff(truth.chosen) > 0).all()
    crowd = load(None, None)
    part = type(truth)(truth.abilities[:50], truth.labels[:50], crowd, truth.chosen[:50])
    for rep, chosen in enumerate(part.chosen):
        assert (model.simulate(part, rng(2)).answers[rep] == crowd.answers[chosen]).all()
        assert (part.abilities[rep] == crowd.abilities[chosen]).all()
    sets = {
        three: k
        for k, three in enumerate(itertools.combinations(range(crowd_files.STAND_IN_WORKERS), 3))
    }
    code = np.array([sets[tuple(chosen)] for chosen in truth.chosen.tolist()])
    counts = np.bincount(code % 97, minlength=97)  # pooled
    assert counts_agree(
        counts, np.bincount(np.arange(len(sets)) % 97) / len(sets), "sets of three workers"
    )
    drawn, even = (
        np.bincount(truth.chosen.ravel()),
        np.full(crowd_files.STAND_IN_WORKERS, 1 / crowd_files.STAND_IN_WORKERS),
    )
    assert counts_agree(drawn, even, "workers")
    assert not counts_agree(
        drawn,
        even * np.linspace(0.9, 1.1, crowd_files.STAND_IN_WORKERS),
        "control: later ones more often",
    )


def test_the_stand_in_is_the_same_everywhere():
    model = RecordedCrowd(n=crowd_workers(None, None), m=crowd_tasks(None, None))
    crowd = load(None, None)
    assert (
        crowd.answers.shape == (39, 108)
        and "Synthetic stand-in made by this program" in model.source
    )
    assert (crowd.answers == 1).sum() == 2053 and model.cost() > 0


@pytest.mark.parametrize(
    "answers, truth", [real("crowd/bluebird_label.csv", "crowd/bluebird_truth.csv")]
)
def test_the_real_bluebirds(answers, truth):
    found = load(DataFile.at(answers, "data_path"), DataFile.at(truth, "data_truth"))
    assert (
        found.answers.shape == (39, 108)
        and (found.answers != 0).all()
        and "63.6% right" in found.source
    )
    assert ((found.answers.sum(axis=0) > 0) != found.labels).sum() == 26  # majority vote


@pytest.mark.parametrize("answers, truth", [real("crowd/rte_label.csv", "crowd/rte_truth.csv")])
def test_the_real_entailments(answers, truth):
    found = load(DataFile.at(answers, "data_path"), DataFile.at(truth, "data_truth"))
    assert (
        found.answers.shape == (164, 800)
        and "10 of a task and 20 to 800 of a worker" in found.source
    )
    votes = found.answers.sum(axis=0)
    assert (votes == 0).sum() == 65
