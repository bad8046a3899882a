"""Files of responses: what is read from them, and what is said of those that cannot be."""

import csv
import io
import tempfile
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.problems.common import rating_files
from pipeline.problems.common.rating_files import SMALL_SHA256
from pipeline.problems.response.data import files, rating_completion
from pipeline.problems.response.data.files import LSAT_6, load
from pipeline.problems.response.data.recorded import RecordedResponses
from pipeline.study.parameters import DataFile, InvalidInput
from pipeline.workflow.config import read_experiment
from tests.helpers.real_data import real

GOOD = "person,a,b,c\np,1,0,\nq,0,1,NA\nr,1,,0\ns,0,1,1\n"
STARS = "userId,movieId,rating,timestamp\n"
GRADES = "school;G1;G2;G3\n"
SIX = STARS + "1,7,4,0\n1,8,3,0\n2,7,3,0\n2,8,4,0\n3,8,3,0\n"
ARFF = (
    "% said\n\n@RELATION x\n@ATTRIBUTE ge {M,F}\n@attribute tnp {Best,Vg}\n@ATTRIBUTE twp {}\n@ATTRIBUTE iap {}\n"
    "@ATTRIBUTE 'esp' {}\n\n@DATA\n"
)
MARKED = ARFF + "M,Best,Vg,Good,Fail\n% a remark\nF,Vg,Pass,Best,Good\n"


def file(folder, content, name="data.csv"):
    path = Path(folder) / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return DataFile.at(str(path), "data_path")


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        "\n" + GOOD.replace("\n", "\n\n"),
        GOOD.replace(",", " , "),
        GOOD.rstrip(),
        GOOD.replace(",", ";"),
        GOOD.replace("person", "User"),
        GOOD.replace("person", '"ID"'),
        GOOD.replace(",", "\t"),
        GOOD.replace("person", ""),
        GOOD.encode("utf-16"),
        GOOD + ",,,\n",
        GOOD.replace("NA", "n/a"),
        GOOD.replace("1", "TRUE").replace("0", "false"),
        GOOD.replace("1", "1.0").replace("0", "0.0").replace("1.0.0", "1.0"),
        "person,a,b,c,\np,yes,no,,\nq,no,yes,NA,\nr,yes,,no,\ns,no,yes,yes,\n",
        "Student,Item,Correct,seconds\np,a,1,3\np,b,0,1\nq,a,0,1\nq,b,1,2\nr,a,1,1\nr,c,0,9\ns,a,0,1\ns,b,1,1\ns,c,1,1\n",
        "user;question;answer\np;a;right\np;b;wrong\np;c;\nq;a;wrong\nq;b;right\nr;a;right\nr;c;wrong\ns;a;wrong\ns;b;right\n"
        "s;c;right\n",
    ],
)
def test_responses_are_read_however_they_are_saved(tmp_path, content):
    found = load(file(tmp_path, content))
    assert found.names == ("a", "b", "c") and not found.subsets
    assert (found.answers * 1).tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    assert (found.observed * 1).tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]]
    assert found.differences.tolist() == [[0, 1, 1], [2, 0, 0], [1, 0, 0]]
    assert found.pairs.tolist() == [[4, 3, 2], [3, 3, 1], [2, 1, 2]]
    for said in (
        "4 persons × 3 items",
        "0 persons with all answers alike",
        "25.00% of answers missing, 0 persons",
    ):
        assert said in found.source
    assert "no finite estimate" not in found.source and found.source.endswith(".")


def test_rows_may_stand_for_several_persons(tmp_path):
    found = load(file(tmp_path, "a,b,count\n1,0,2\n0,1,1\n1,1,0\n0,0,3\n"))
    assert (found.answers * 1).tolist() == [[1, 0]] * 2 + [[0, 1]] + [
        [0, 0]
    ] * 3 and found.observed is None
    assert (
        "6 persons × 2 items" in found.source and "3 persons with all answers alike" in found.source
    )


def lsat(shuffle=None, header="Item 1,Item 2,Item 3,Item 4,Item 5"):
    rows = [f"{k:05b}" for k, count in enumerate(LSAT_6) for _ in range(count)]
    Random(shuffle).shuffle(rows)
    return header + "\n" + "\n".join(",".join(row) for row in rows) + "\n"


def test_lsat_is_known_by_its_counts_in_any_form(tmp_path):
    patterns = "i,j,k,l,m,count\n" + "".join(
        ",".join(f"{k:05b}") + f",{n}\n" for k, n in enumerate(LSAT_6)
    )
    for content in (lsat(1), lsat(2, "v,w,x,y,z"), patterns):
        found = load(file(tmp_path, content))
        assert "LSAT, Section 6" in found.source and "1,000 persons × 5 items" in found.source
        assert "301 persons with all answers alike" in found.source
        assert found.answers.sum(axis=0).tolist() == [
            924,
            709,
            553,
            763,
            870,
        ]  # Bock and Lieberman (1970)
    one = lsat(1).replace("0,0,0,0,1", "0,0,1,0,0", 1)
    assert "A file of responses" in load(file(tmp_path, one)).source


def grades(rows, form="GP;{};{};{}\n"):
    return GRADES + "".join(form.format(*row) for row in rows)


def test_grades_are_cut_at_the_median(tmp_path):
    marks = np.random.default_rng(1).integers(0, 21, (649, 3))
    found = load(file(tmp_path, grades(marks)))
    for k in range(3):
        middle = sorted(marks[:, k].tolist())[324]
        assert found.answers[:, k].tolist() == [mark > middle for mark in marks[:, k].tolist()]
        assert f"G{k + 1} > {middle}" in found.source
    quoted = file(tmp_path, grades(marks, '"GP";"{}";"{}";{}\n').replace(";", ","), "other.csv")
    assert (load(quoted).answers == found.answers).all() and found.names == ("G1", "G2", "G3")


def test_marks_of_arff_are_read(tmp_path):
    for content in (MARKED, MARKED.replace("\n", "\r\n")):
        found = load(file(tmp_path, content))
        assert (found.answers * 1).tolist() == [[1, 1, 0, 0], [1, 0, 1, 0]]
        assert found.names == ("tnp", "twp", "iap", "esp")
        assert (
            "2 persons × 4 items" in found.source
            and "not the 131 of Nguyen and Zhang" in found.source
        )
    many = load(file(tmp_path, MARKED + "M,Good,Good,Good,Good\n" * 129))
    assert "as many as Nguyen and Zhang" in many.source


BAD = {
    "": "is empty; must begin with a header of item names",
    "\n \n": "is empty",
    "a,b\n": "has a header and nothing below it",
    "a\n1\n0\n": "has 1 item; needs two at least",
    "id,a\n1,1\n": "has 1 item;",
    "id,a,b,count\n1,1,0,1\n2,0,1,1\n": "has a column of persons and a last column 'count'; a row must be one person",
    "id\n1\n": "has 0 items",
    "a,b\n1,0\n": "has fewer than two persons",
    "a,b,count\n1,0,1\n0,0,0\n": "has fewer than two persons",
    "0,1,1\n1,0,1\n": "begins with answers; must begin with a header of item names",
    "7,1,1\n8,0,1\n": "begins with answers",
    "a,,b\n1,0,1\n0,1,1\n": "item 2 has no name in the header",
    "a,b,a\n1,0,1\n0,1,1\n": "the header names item 'a' twice",
    GOOD + "t,1,0\n": "row 6: has 3 fields; must have 4, as the header",
    GOOD + "\nt,1,0,1,1\n": "row 7: has 5 fields; must have 4",
    GOOD
    + "t,1,2,0\n": "row 6, column 'b': is '2'; must be 0, 1, or nothing or NA for a missing answer",
    GOOD + "t,1,0,0\nu,-1,0,x\n": "row 7, column 'a': is '-1'; must be 0",
    GOOD + "t,1,0,yeah\nu,7,0,0\n": "row 6, column 'c': is 'yeah'",
    "person,item,answer\np,a,1\np,a,0\n": "row 3: this person answered this item before, in row 2",
    "person,item,answer\np,a,1\nq,a,0\n": "has 1 item; needs two at least",
    "person,item,answer\np,a,3\nq,a,0\n": "row 2, column 'answer': is '3'; must be 0, 1",
    "person,item,answer\np,,1\nq,a,0\n": "row 2: the item has no name",
    "person,item,answer\np,a,1\nq,b,0\n": "no person answered items of both sides",
    "person,item,answer,user\np,a,1,x\n": "has 2 columns for the person: person, user; keep one",
    b"PAR1xxxx": "is a Parquet file; write it out as CSV",
    b"$FL2@(#)": "is an SPSS file (sav); save it as CSV",
    b"a,b\n1,\0\n": "row 2: has a NUL byte",
    GOOD + "t,1,0,0.5\n": "row 6, column 'c': is '0.5'",
    GOOD + "q,1,0,0\n": "row 6: person 'q' has a row before, 3",
    GOOD + ",1,0,0\n": "row 6: the person has no name",
    GOOD + '"t,1,0,0\n': "row 6: is not CSV (unexpected end of data)",
    GOOD.encode() + b"\x81,1,0,0\n": "row 6: is not UTF-8 text",
    "a,b,count\n1,0,-1\n": "row 2, column 'count': is '-1'; must be a whole number, from 0 to 99,999,999",
    "a,b,count\n1,0,1\n1,1,1.5\n": "row 3, column 'count': is '1.5'",
    "a,b,count\n1,0,99999999\n": "has 99,999,999 persons; at most 10,000,000",
    "a,b,c\n1,0,\n1,1,\n": "no person answered c; leave such items out",
    "a,b,c,d,e\n1,0,1,,\n0,1,,,\n,,,1,0\n,,,0,1\n": "no person answered items of both sides, so these cannot be "
    "compared with the others: d, e; leave them out",
    GRADES
    + "GP;1;2;3\n": "has G1, G2 and G3 of 1 students; the Portuguese grades of UCI 320 (student-por.csv) are",
    grades(
        [(1, 2, 3)] * 648 + [(1, 21, 3)]
    ): "row 650, column 'G2': is '21'; must be a grade, a whole number from 0",
    grades([(1, 2, 3)] * 648 + [(1, 2, "")]): "row 650, column 'G3': is ''; must be a grade",
    grades(
        [(1, 2, 3)] * 600 + [(1, "2;2", 3)] * 49
    ): "row 602: has 5 fields; must have 4, as the header",
    ARFF: "has 0 students below @DATA",
    ARFF.replace("tnp", "x").replace(
        "iap", "y"
    ): "is ARFF without the attributes tnp, iap; must be the student",
    "@relation x\n": "is ARFF without the attributes tnp, twp, iap, esp",
    MARKED
    + "M,Best,Vg,?,Fail\n": "row 14, column 'iap': is '?'; must be one of Best, Vg, Good, Pass, Fail",
    MARKED + "M,Best\n": "row 14: has 2 fields; must have 5, as there are attributes",
    STARS + "1,2,4.0,0\n2,2,five,0\n": "row 3: the rating is 'five'; must be a number > 0",
    SIX.replace("3", "4"): "has ratings of 2 films by 3 users, too alike or too few to complete",
    STARS
    + "1,2,4.0,0\n2,2,3.5,0\n": "has ratings of 1 films by 2 users, too alike or too few to complete",
}


@pytest.mark.parametrize("content, said", BAD.items(), ids=range(len(BAD)))
def test_bad_files_are_told_in_one_line(tmp_path, content, said):
    with pytest.raises(InvalidInput) as caught:
        load(file(tmp_path, content), True)
    message = str(caught.value)
    assert (
        message.startswith("data_path=")
        and said in message
        and "\n" not in message
        and len(message) < 600
    )


def test_other_ratings_are_refused_unless_they_are_wanted(tmp_path, monkeypatch):
    given = file(tmp_path, SIX)
    with pytest.raises(
        InvalidInput, match="is not MovieLens ml-latest-small: found 5 ratings .*other_ratings=true"
    ):
        load(given)
    monkeypatch.setattr(rating_completion, "SHRINKAGE", 0.1)
    assert "2 most-rated films" in load(given, True).source
    load.cache_clear()


def test_persons_and_items_that_say_nothing_are_kept_and_reported(tmp_path):
    given = file(tmp_path, "easy,a,b,hard\n1,1,0,0\n1,0,1,0\n1,1,1,\n,,,\n1,,,\n1,0,0,0\n")
    found = load(given)
    assert len(found.answers) == 6 and "2 persons with all answers alike" in found.source
    assert "33.33% of answers missing, 1 persons without any" in found.source
    assert (
        "no finite estimate without a pseudo-count: easy (all right), hard (all wrong)."
        in found.source
    )
    truth = RecordedResponses(n=6, m=4, data_path=given).truth(np.random.default_rng(), 1, None)
    assert np.isfinite(truth.theta).all() and truth.theta[0, 0] == truth.theta.min()


def test_sets_of_items_that_one_side_always_wins_are_named(tmp_path):
    guttman = load(
        file(
            tmp_path,
            "a,b,c,d,e\n1,0,0,0,0\n0,1,0,0,0\n0,1,1,0,0\n1,1,1,1,0\n1,1,1,0,1\n1,0,1,0,0\n",
        )
    )
    assert "no finite estimate without a pseudo-count: d, e." in guttman.source
    alike = load(file(tmp_path, "a,b\n1,0\n1,0\n"))
    assert (
        "no finite estimate without a pseudo-count: a (all right), b (all wrong)." in alike.source
    )


NAMES = (
    st.text(
        st.characters(exclude_categories=("Cs",), exclude_characters="\0\r\n"),
        min_size=1,
        max_size=4,
    )
    .map(str.strip)
    .filter(
        lambda name: (
            name
            and name.lower() not in ("0", "1", "na", "count", "person", "user", "id")
            and not name.startswith(("%", "@"))
        )
    )
)


@settings(max_examples=150)
@given(
    st.lists(NAMES, min_size=2, max_size=5, unique=True),
    st.integers(2, 8),
    st.booleans(),
    st.sampled_from([",", ";"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "NA"]),
    st.integers(0, 2**32),
)
def test_every_valid_file_is_read(names, persons, named, delimiter, ends, missing, seed):
    rng = np.random.default_rng(seed)
    texts = rng.choice(["0", "1", missing], (persons, len(names)), p=[0.4, 0.4, 0.2])
    texts[0] = rng.choice(["0", "1"], len(names))  # so that items are connected
    header = (["id"] if named else []) + names
    text = io.StringIO(newline="")
    csv.writer(
        text, delimiter=delimiter, lineterminator=ends, quoting=csv.QUOTE_ALL if seed % 2 else 0
    ).writerows([header, *([f"p{k}"] * named + row for k, row in enumerate(texts.tolist()))])
    if any(sign in name for name in names for sign in ",;\t|"):
        return  # another sign may cut the header into more fields
    with tempfile.TemporaryDirectory() as folder:
        found = load(file(folder, text.getvalue()))
    observed = texts != missing
    assert found.names == tuple(names) and (found.answers == (texts == "1")).all()
    assert (found.observed is None) == observed.all()
    if found.observed is not None:
        assert (found.observed == observed).all()
    m = range(len(names))
    assert found.differences.tolist() == [
        [sum(row[i] == "1" and row[j] == "0" for row in texts) for j in m] for i in m
    ]
    assert found.pairs.tolist() == [
        [sum(row[i] != missing and row[j] != missing for row in texts) for j in m] for i in m
    ]


@settings(max_examples=300)
@given(
    st.one_of(
        st.binary(max_size=60),
        st.builds(
            lambda text, place, new: (
                text[: place % len(text)] + new + text[place % len(text) + 1 :]
            ),
            st.sampled_from([GOOD.encode(), MARKED.encode(), SIX.encode(), GRADES.encode()]),
            st.integers(0, 10**6),
            st.sampled_from(list(b'019,;%@x"\n\r\0\xff')).map(lambda sign: bytes([sign])),
        ),
    )
)
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_line(content):
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = load(file(folder, content), True)
        except InvalidInput as error:
            assert str(error).startswith("data_path=") and str(error).isprintable()
        else:
            assert found.answers.dtype == bool and found.answers.shape[1] == len(found.names) >= 2


def test_completion_of_a_full_matrix_shrinks_its_singular_values():
    values = np.random.default_rng(1).normal(0, 3, (12, 7))
    left, singular, right = np.linalg.svd(values, full_matrices=False)
    found, rank = rating_completion.complete(values, np.ones(values.shape, bool), 6.0)
    assert (
        np.abs(found - left * np.maximum(singular - 6, 0) @ right).max() < 1e-8
        and rank == (singular > 6).sum() < 7
    )


@pytest.mark.parametrize("shrinkage", [0.5, 2, 5])
def test_completion_is_the_minimum(shrinkage):
    """Where it is, the error on what is known must be λ times a subgradient of the nuclear norm."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 15)) + rng.normal(0, 0.3, (40, 15))
    known = rng.random(values.shape) < 0.5
    found, rank = rating_completion.complete(values, known, shrinkage)

    def is_minimum(found):
        pull = np.where(known, values - found, 0) / shrinkage
        left, singular, right = np.linalg.svd(found, full_matrices=False)
        kept = singular > 1e-7
        inner = left[:, kept].T @ pull @ right[kept].T
        return (
            kept.sum() == rank
            and np.abs(inner - np.eye(rank)).max() < 1e-6
            and np.linalg.norm(pull, 2) < 1 + 1e-6
        )

    assert is_minimum(found) and not is_minimum(1.01 * found) and 0 < rank <= 15
    assert (
        np.where(
            known,
            0,
            rating_completion.complete(np.where(known, values, 9), known, shrinkage)[0] - found,
        )
        == 0
    ).all()  # what is not known does not count


def test_ratings_become_answers_as_by_hand(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    stars = rng.integers(1, 11, (20, 7)) / 2 * (rng.random((20, 7)) < 0.6)
    stars[0] = [0, 0, 0, 0, 0, 0, 3]  # one who rated none of the films that are kept
    stars[1:, 6] = 0
    content = STARS + "".join(
        f"{u:02},{i},{s},0\n" for u, row in enumerate(stars) for i, s in enumerate(row) if s
    )
    monkeypatch.setattr(rating_completion, "FILMS", 4)
    monkeypatch.setattr(rating_completion, "SHRINKAGE", 1.0)
    load.cache_clear()
    found = load(file(tmp_path, content), True)
    popular = sorted(sorted(range(7), key=lambda i: -(stars[:, i] > 0).sum())[:4])
    part = np.array([row[popular] for row in stars if any(row[popular])])
    mean, scores = part[part > 0].mean(), np.zeros(part.shape)
    for _ in range(3000):  # soft-impute, plainly
        left, singular, right = np.linalg.svd(
            np.where(part > 0, part - mean, scores), full_matrices=False
        )
        scores = left * np.maximum(singular - 1, 0) @ right
    expected = [[score < sum(row) / 4 for score in row] for row in scores.tolist()]
    assert (
        found.answers.tolist() == expected
        and found.names == tuple(map(str, popular))
        and found.subsets
    )
    assert "4 most-rated films" in found.source and "not MovieLens ml-latest-small" in found.source
    load.cache_clear()


def experiment(**data):
    return dict(
        name="own",
        problem="response",
        seed=1,
        replications=2,
        block=2,
        grid={"n": [2, 3]},
        metrics=["error_l2"],
        data=data,
        parameters={"model": "recorded", "m": 3, "mechanism": "none", "estimator": "spectral"},
    )


def test_mistakes_are_reported_where_a_person_gave_them(tmp_path):
    path = file(tmp_path, GOOD).path
    study = read_experiment(experiment(path=path)).study
    assert study.description["parameters"]["data_path"].startswith("sha256:")
    for bad in (
        dict(path=file(tmp_path, GOOD + "x,a,a,a\n", "bad.csv").path),
        dict(path=str(tmp_path / "none.csv")),
    ):
        with pytest.raises(InvalidInput, match=r"^data\.path="):
            read_experiment(experiment(**bad))
    with pytest.raises(InvalidInput, match=r"grid\.n=5: there are 4 persons; give n=4 or less"):
        read_experiment(experiment(path=path) | {"grid": {"n": [2, 5]}})
    raw = experiment(path=path)
    with pytest.raises(InvalidInput, match=r"parameters\.m=2: there are 3 items; give m=3 \["):
        read_experiment(raw | {"parameters": raw["parameters"] | {"m": 2}})


def test_a_file_that_changed_is_an_error(tmp_path):
    given = file(tmp_path, GOOD)
    Path(given.path).write_text(GOOD + "t,1,1,1\n")
    load.cache_clear()
    with pytest.raises(OSError, match="has changed"):
        load(given)


def test_content_is_read_once(tmp_path, monkeypatch):
    first = load(file(tmp_path, GOOD))
    moved = file(tmp_path, GOOD, "moved.csv")
    monkeypatch.setattr(files, "tables", None)
    assert load(moved) is first


@pytest.mark.parametrize("path", [real("irt/lsat6.csv")])
def test_the_real_lsat(path):
    found = load(DataFile.at(path, "data_path"))
    assert (
        found.source.startswith("LSAT, Section 6")
        and "301 persons with all answers alike" in found.source
    )
    truth = RecordedResponses(n=1000, m=5, data_path=DataFile.at(path, "x")).truth(None, 1, None)
    assert truth.theta[0] == pytest.approx([-1.280, 0.473, 1.237, 0.169, -0.598], abs=5e-4)


@pytest.mark.parametrize("path", [real("irt/student-por.csv")])
def test_the_real_grades(path):
    found = load(DataFile.at(path, "data_path"))
    assert (
        "G1 > 11, G2 > 11, G3 > 12" in found.source
        and "538 persons with all answers alike" in found.source
    )
    assert found.answers.sum(axis=0).tolist() == [306, 318, 276]


@pytest.mark.parametrize("path", [real("irt/uci_Sapfile1_300rows.arff")])
def test_the_real_students(path):
    found = load(DataFile.at(path, "data_path"))
    assert (
        "300 persons × 4 items" in found.source
        and "174 persons with all answers alike" in found.source
    )
    assert found.answers.sum(axis=0).tolist() == [66, 88, 120, 67]


@pytest.mark.parametrize("path", [real("movielens/ratings.csv")])
def test_the_real_ratings(tmp_path, path):
    given = DataFile.at(path, "data_path")
    found = load(given)
    assert "200 most-rated films, ratings completed to rank 54 for 601 persons" in found.source
    assert (
        "MovieLens ml-latest-small of GroupLens" in found.source
        and "no finite estimate" not in found.source
    )
    shares = found.answers.mean(axis=0)
    assert (shares.min(), shares.max()) == pytest.approx((0.173, 0.842), abs=5e-4)
    other = file(tmp_path, given.read().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert {given.sha256, other.sha256} <= set(SMALL_SHA256)
    for one, same in zip(
        *((r.user, r.item, r.stars) for r in map(rating_files.load, (given, other))), strict=True
    ):
        assert (one == same).all()
