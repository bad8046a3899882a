"""Files of ratings and of comparisons: what is read from them, and what is said of those that cannot be."""

import csv
import io
import tempfile
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.problems.common.rating_files import SMALL_SHA256, Ratings
from pipeline.problems.ranking.data import files
from pipeline.problems.ranking.data.choices import Choices
from pipeline.problems.ranking.data.recorded import Recorded
from pipeline.study.parameters import DataFile, InvalidInput
from pipeline.workflow.config import read_experiment
from tests.helpers.real_data import real

HEADER = "user,winner,loser\n"
GOOD = HEADER + "u1,a,b\nu1,b,c\nu2,c,a\n"
STARS = "userId,movieId,rating,timestamp\n"


def file(folder, content, name="data.csv"):
    path = Path(folder) / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return DataFile.at(str(path), "data_path")


def load(given, *rest, **more):
    """What a study takes that draws users: each compares a pair once."""
    found = files.load(given, *rest, **more)
    return found.one_each(given.path) if isinstance(found, Choices) else found


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        "\n" + GOOD.replace("\n", "\n\n"),
        GOOD.replace(",", " , "),
        GOOD.rstrip(),
        '"user","winner","loser"\n' + GOOD.split("\n", 1)[1],
        GOOD.encode("utf-16"),
        GOOD + ",,\n",
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.replace(",", "|"),
        "sep=;\n" + GOOD.replace(",", ";"),
        "User ID,Winner,Loser,Time\n" + "".join(f"{row},1\n" for row in GOOD.split()[1:]),
        "loser,winner,worker\nb,a,u1\nc,b,u1\na,c,u2\n",
        "worker,left,right,label\nu1,a,b,a\nu1,b,c,left\nu2,a,c,right\n",
        "annotator,item1,item2,winner\nu1,b,a,item2\nu1,a,c,tie\nu1,c,b,b\nu2,a,c,c\n",
        ",user,winner,loser\n0,u1,a,b\n1,u1,b,c\n2,u2,c,a\n",
        '"user" "winner" "loser"\n"1" "u1" "a" "b"\n"2" "u1" "b" "c"\n"3" "u2" "c" "a"\n',
    ],
)
def test_comparisons_are_read_however_they_are_saved(tmp_path, content):
    found = load(file(tmp_path, content))
    assert isinstance(found, Choices) and found.users == 2 and found.names == ("a", "b", "c")
    assert (found.user.tolist(), found.winner.tolist(), found.loser.tolist()) == (
        [0, 0, 1],
        [0, 1, 2],
        [1, 2, 0],
    )
    lead, made = found.verdicts(np.arange(3))  # pairs ab, ac, bc
    assert lead.tolist() == [[1, 0, 1], [0, -1, 0]] and (made == (lead != 0)).all()
    assert found.verdicts(np.array([0, 2]))[0].tolist() == [
        [0],
        [-1],
    ] and found.popularity.tolist() == [2, 2, 2]
    assert "3 comparisons of 3 items by 2 users" in found.source


def test_windows_text_is_read(tmp_path):
    found = load(file(tmp_path, "user;winner;loser\nZoë;Café;Thé\nAna;Thé;Café\n".encode("cp1252")))
    assert found.names == ("Café", "Thé") and found.users == 2
    assert "read as Windows-1252, as it is not UTF-8: see whether names are right" in found.source


@pytest.mark.parametrize(
    "content",
    [
        "winner,loser\n" + "a,b\n" * 3 + "b,a\nb,c\nb,c\n",
        "Winner;Loser;n\na;b;3\nb;a;1\nb;c;2\n",
        "player1,player2,win1,win2\na,b,3,1\nc,b,0,2\n",
        ",a,b,c\na,,3,0\nb,1,NA,2\nc,0,0,0\n",
        "left,right,label\n" + "a,b,left\n" * 3 + "b,a,b\n" + "c,b,right\n" * 2,
    ],
)
def test_comparisons_of_nobody_in_particular_are_pooled(tmp_path, content):
    given = file(tmp_path, content)
    found = files.load(given)
    won, made = found.pooled(np.arange(3))  # pairs ab, ac, bc
    assert won.tolist() == [3, 0, 2] and made.tolist() == [4, 0, 2] and found.most == 1
    assert (
        "A file of 6 comparisons of 3 items by users without names, each taken for another user's"
        in found.source
    )
    assert (
        load(given).verdicts(np.arange(3))[0].sum(axis=0) == 2 * won - made
    ).all()  # each another user's
    assert found.popularity.tolist() == [4, 6, 2] and found.pooled(np.array([1, 2]))[
        0
    ].tolist() == [2]


def test_repeats_are_pooled_and_no_study_draws_their_users(tmp_path):
    given = file(tmp_path, "user,winner,loser\nu,a,b\nu,a,b\nv,b,a\n")
    found = files.load(given)
    assert found.pooled(np.arange(2))[0].tolist() == [2] and found.most == 2
    with pytest.raises(
        InvalidInput, match="row 3: this user compared these two items before, in row 2"
    ):
        load(given)


@pytest.mark.parametrize(
    "content",
    [
        "User,Item,Score,when\nu,x,4.5,0\nu,y,3,0\nv,y,5,0\nv,z,5.0,1\n",
        "user;x;y;z\nu;4,5;3;\nv;NA;5;5\n",
        ",x,y,z\nu,9,-3,\nv,,5,5\n",
        "user,item,rank\nu,x,1\nu,y,2\nv,y,1\nv,z,1\n",
    ],
)
def test_any_ratings_make_comparisons(tmp_path, content):
    found = files.load(file(tmp_path, content))
    lead, both = found.verdicts(np.arange(3))
    assert (
        (lead * both).tolist() == [[1, 0, 0], [0, 0, 0]]
        and found.names == ("x", "y", "z")
        and found.users == 2
    )


def test_persons_may_be_called_as_items_are(tmp_path):
    found = load(file(tmp_path, "user,1,2,3\n1,5,3,1\n2,1,2,3\n"))
    assert isinstance(found, Ratings) and found.users == 2 and found.names == ("1", "2", "3")


def test_ratings_are_read(tmp_path):
    found = load(
        file(tmp_path, STARS + "7,x,4.5,0\n7,y,3,0\n9,y,5,0\n9,z,5.0,1\n"), other_ratings=True
    )
    assert (
        isinstance(found, Ratings) and found.users == 2 and found.popularity.tolist() == [1, 2, 1]
    )
    lead, both = found.verdicts(np.arange(3))
    assert lead.tolist() == [[1, 1, 1], [-1, -1, 0]]
    assert both.tolist() == [[True, False, False], [False, False, True]]


BAD = {
    "": "is empty; must begin with winner,loser or user,winner,loser or userId",
    "\n\n": "is empty",
    "sep=;": "is empty",
    "sep=;\n": "is empty",
    HEADER: "has a header and nothing below it",
    "user,winner\nu,a\n": "the header is 'user,winner', without loser; must be winner,loser (with user, count), left",
    "a,b\n1,2\n": "the header is 'a,b'; must be winner,loser (with user, count), left,right,label, item1,item2,wins1",
    "user,winner,annotator,loser\nu,a,v,b\n": "has 2 columns for the user: user, annotator; keep one",
    "left,right\na,b\n": "has two items in a row and not which of them won; needs a column label",
    "left,right,label\na,b,c\n": "row 2: 'c' won; must be one of a, b, or left, right or tie",
    "left,right,label\na,b,tie\n": "has 0 comparisons; must be 1 to 10,000,000",
    "winner,loser,count\na,b,2\nb,a,-1\n": "row 3, column 'count': is '-1'; must be a whole number, from 0",
    "winner,loser,count\na,b,1.5\n": "row 2, column 'count': is '1.5'; must be a whole number",
    "winner,loser,count\na,b,100000000\n": "row 2, column 'count': is '100000000'; must be a whole number, from 0",
    ",a,b,c\na,0,2,3\nb,1,0,1\n": "wins of items × items have, but rows are without c; give all of them, once",
    "item,a,b\na,0,2\nb,1,0\nc,1,1\n": "such as 'a', as wins of items × items have, but columns are without c",
    ",a,b,c\na,0,2,3\nb,1,0,1\nc,0,0,0\nc,0,0,0\n": "but a row is there twice; give all of them, once, or call",
    "winner,loser,count\na,b,0\n": "has 0 comparisons",
    "user,winner,loser,count\nu,a,b,2\n": "has a column of users and a count other than 1",
    ",a,b,c\na,1,2,3\nb,1,0,1\nc,0,0,0\n": "row 2: 'a' has wins over itself",
    "user,a,b\nu,1,x\nv,2,1\n": "row 2, column 'b': is 'x'; must be a number, or nothing or NA",
    "user,a,\nu,1,2\nv,2,1\n": "needs a name for every item in the header",
    "user,item,rating\nu,a,1\nu,a,2\n": "row 3: this user rated this item before, in row 2",
    "user,item,rating\nu,a,1\nu,b,2\n": "has ratings of 2 items by 1 users; needs two of each",
    b"PK\x03\x04"
    + b"x" * 30: "is a workbook or an archive (xlsx, ods, zip); save the sheet as CSV",
    b"\x1f\x8b\x08": "is compressed (gzip",
    b"user,winner,loser\nu,\0,b\n": "row 2: has a NUL byte, so it is no text",
    b"\xff\xfeu\0s": "begins as UTF-16 text and is none",
    GOOD + "u3,a\n": "row 5: has 2 fields; must have 3, as the header",
    GOOD + "u3,a,b,c\n": "row 5: has 4 fields; must have 3",
    GOOD + "\nu3,a,a\n": "row 6: compares 'a' with itself",
    GOOD + "u1,b,a\n": "row 5: this user compared these two items before, in row 2",
    GOOD + "u2,c,a\n": "row 5: this user compared these two items before, in row 4",
    GOOD + " ,a,b\n": "row 5: the user has no name",
    GOOD + "u3,,b\n": "row 5: the winner or loser has no name",
    GOOD + "u3,a,\n": "row 5: the winner or loser has no name",
    GOOD + 'u3,"a,b\n': "row 5: is not CSV (unexpected end of data)",
    GOOD + 'u3,"a"x,b\n': "row 5: is not CSV",
    HEADER + "u1,a,b\nu1,b,c\n": "has one user only; needs two at least",
    GOOD.encode() + b"u3,\x81,b\n": "row 5: is not UTF-8 text; save the file as text in UTF-8",
    STARS + "1,2,4.0,0\n2,2,five,0\n": "row 3: the rating is 'five'; must be a number > 0",
    STARS + "1,2,4.0,0\n2,2,0,0\n": "row 3: the rating is '0'",
    STARS + "1,2,4.0,0\n2,2,nan,0\n": "row 3: the rating is 'nan'",
    STARS
    + "1,2,4.0,0\n2,2,3.0,0\n1,2,4.0,0\n": "row 4: this user rated this film before, in row 2",
    STARS + "1,2,4.0\n": "row 2: has 3 fields; must have 4: userId,movieId,rating,timestamp",
    STARS + "1,,4.0,0\n2,2,4.0,0\n": "row 2: the film has no name",
    STARS + "1,2,4.0,0\n": "has one user only",
}


@pytest.mark.parametrize("content, said", BAD.items(), ids=range(len(BAD)))
def test_bad_files_are_told_in_one_line(tmp_path, content, said):
    with pytest.raises(InvalidInput) as caught:
        load(file(tmp_path, content), other_ratings=True)
    message = str(caught.value)
    assert (
        message.startswith("data_path=")
        and said in message
        and "\n" not in message
        and len(message) < 400
    )


def test_other_ratings_are_refused_unless_they_are_wanted(tmp_path):
    given = file(tmp_path, STARS + "1,2,4.0,0\n2,2,3.5,0\n1,3,3.0,0\n")
    with pytest.raises(InvalidInput) as caught:
        load(given)
    message = str(caught.value)
    for said in (
        "found 3 ratings of 2 films by 2 users",
        "100,836 ratings of 9,724 films by 610 users",
        "80da8b33",
        given.sha256[:8],
        "ml-latest-small",
        "GroupLens",
        "research use only",
        "often edited",
        "+parameters.other_ratings=true",
    ):
        assert said in message
    assert "\n" not in message
    assert "not MovieLens ml-latest-small: 3 ratings" in load(given, other_ratings=True).source


@pytest.mark.parametrize(
    "listed, key, said",
    [
        ("a\nb\n\n c \n", None, None),
        ("a\nb\nc\nd\ne\n", "data_items", "never compared: d, e; must name"),
        ("b\nc\n", "data_path", "row 2: unknown items, not in data.items: a"),
        ("a\n", "data_path", "row 2: unknown items, not in data.items: b, c"),
        ("a\nb\nc\nb\n", "data_items", "names 'b' twice"),
        ("", "data_path", "row 2: unknown items"),
        (b"\x81", "data_items", "row 1: is not UTF-8"),
    ],
)
def test_lists_of_items_are_held_against_the_comparisons(tmp_path, listed, key, said):
    given, items = file(tmp_path, GOOD), file(tmp_path, listed, "items.txt")
    if said is None:
        assert load(given, items).names == ("a", "b", "c")
        return
    with pytest.raises(InvalidInput) as caught:
        load(given, items)
    assert caught.value.key == key and said in str(caught.value)


def test_lists_of_items_go_with_comparisons_only(tmp_path):
    items = file(tmp_path, "2\n", "items.txt")
    with pytest.raises(InvalidInput, match="not ratings"):
        load(file(tmp_path, STARS + "1,2,4.0,0\n2,2,3.0,0\n"), items, True)
    with pytest.raises(InvalidInput, match="goes with data.path only"):
        Recorded(m=2, L=2, data_items=items)


@pytest.mark.parametrize(
    "changes, key, said",
    [
        ({}, None, None),
        ({"L": 3}, "L", "there are 2 users; give L=2 or less"),
        ({"m": 4}, "m", "there are 3 items; give m=3 or less"),
    ],
)
def test_sizes_are_held_against_the_file(tmp_path, changes, key, said):
    given = dict(m=3, L=2, data_path=file(tmp_path, GOOD)) | changes
    if said is None:
        assert Recorded(**given).source.startswith("A file of 3 comparisons")
        return
    with pytest.raises(InvalidInput) as caught:
        Recorded(**given)
    assert caught.value.key == key and said in str(caught.value)


def test_items_that_nothing_links_are_named(tmp_path):
    given = file(tmp_path, HEADER + "u,a,b\nu,b,c\nu,y,z\nv,a,c\nv,a,b\n")
    with pytest.raises(
        InvalidInput, match="m=5: no comparisons link these items to the others: y, z;"
    ):
        Recorded(m=5, L=1, data_path=given)
    assert Recorded(m=3, L=1, data_path=given).m == 3
    rated = file(tmp_path, STARS + "1,a,4,0\n1,b,3,0\n2,c,4,0\n2,a,4,0\n", "rated.csv")
    with pytest.raises(InvalidInput, match="to the others: c;"):
        Recorded(m=3, L=1, rule="rated", data_path=rated, other_ratings=True)
    assert Recorded(m=3, L=1, rule="decided", data_path=rated, other_ratings=True)


def test_too_many_pairs_are_refused_before_they_are_made(tmp_path):
    rows = "".join(f"u{k % 2},i{k},i{k + 1}\n" for k in range(40_000))
    with pytest.raises(InvalidInput, match="m=40001: .* too many to hold"):
        Recorded(m=40_001, L=1, data_path=file(tmp_path, HEADER + rows))


def experiment(**data):
    return dict(
        name="own",
        problem="ranking",
        seed=1,
        replications=2,
        block=2,
        grid={"L": [1, 2]},
        metrics=["kendall"],
        data=data,
        parameters={"model": "recorded", "m": 3, "mechanism": "none", "estimator": "debiased"},
    )


def test_mistakes_are_reported_where_a_person_gave_them(tmp_path):
    path = file(tmp_path, GOOD).path
    study = read_experiment(experiment(path=path)).study
    assert study.description["parameters"]["data_path"].startswith("sha256:")
    for data, said in (
        (dict(path=file(tmp_path, GOOD + "x,a,a\n", "bad.csv").path), "data.path="),
        (dict(path=path, items=file(tmp_path, "a\nb\nc\nd\n", "bad.txt").path), "data.items="),
        (dict(path=str(tmp_path / "none.csv")), "data.path="),
    ):
        with pytest.raises(InvalidInput) as caught:
            read_experiment(experiment(**data))
        assert str(caught.value).startswith(said)
    with pytest.raises(InvalidInput, match=r"grid\.L=3: there are 2 users"):
        read_experiment(experiment(path=path) | {"grid": {"L": [1, 3]}})
    with pytest.raises(InvalidInput, match=r"parameters\.model=btl: shares of coin flips"):
        raw = experiment() | {"metrics": ["share_coin_flips"]}
        read_experiment(raw | {"parameters": raw["parameters"] | {"model": "btl"}})


def test_a_file_that_changed_is_an_error(tmp_path):
    given = file(tmp_path, GOOD)
    Path(given.path).write_text(HEADER + "u1,a,b\nu2,b,a\n")
    files.load.cache_clear()
    with pytest.raises(OSError, match="has changed"):  # so that units stay not run
        load(given)


NAMES = (
    st.text(
        st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"), min_size=1, max_size=4
    )
    .map(str.strip)
    .filter(bool)
)


@settings(max_examples=100)
@given(
    st.lists(NAMES, min_size=2, max_size=5, unique=True),
    st.lists(NAMES, min_size=2, max_size=6, unique=True),
    st.integers(0, 2**32).map(Random),
    st.sampled_from(["\n", "\r\n"]),
)
def test_every_valid_file_is_read(users, items, random, ends):
    made = [
        (u, *random.sample([a, b], 2))
        for u in users
        for k, a in enumerate(items)
        for b in items[:k]
    ]
    made = random.sample(made, random.randint(1, len(made)))
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=ends).writerows([("user", "winner", "loser"), *made])
    with tempfile.TemporaryDirectory() as folder:
        given = file(folder, text.getvalue())
        if len({u for u, _, _ in made}) < 2:
            with pytest.raises(InvalidInput, match="one user only"):
                load(given)
            return
        found = load(given)
    names = sorted({name for _, *both in made for name in both})
    assert found.names == tuple(names) and found.users == len({u for u, _, _ in made})
    assert found.popularity.tolist() == [sum(name in both for _, *both in made) for name in names]
    assert {(names[w], names[k]) for w, k in zip(found.winner, found.loser, strict=True)} == {
        (w, k) for _, w, k in made
    }
    lead = found.verdicts(np.arange(len(names)))[0]
    assert lead.shape == (found.users, len(names) * (len(names) - 1) // 2) and np.abs(
        lead
    ).sum() == len(made)


@pytest.mark.parametrize("path", [real("movielens/ratings.csv")])
def test_the_real_file(tmp_path, path):
    given = DataFile.at(path, "data_path")
    content = given.read().replace(b"\r\n", b"\n")
    for form in (content, content.replace(b"\n", b"\r\n")):
        found = load(file(tmp_path, form))
        assert found.source.startswith(
            "MovieLens ml-latest-small of GroupLens: 100,836 ratings of 9,724 films by 610"
        )
        assert len(found.user) == 100_836 and found.users == 610 and len(found.names) == 9_724
        assert np.sort(found.popularity)[::-1][[0, 39, 40]].tolist() == [
            329,
            162,
            161,
        ]  # the top 40 are no tie
    assert {DataFile.at(str(tmp_path / "data.csv"), "x").sha256, given.sha256} <= set(SMALL_SHA256)
    truth = Recorded(m=40, L=610, data_path=given).truth(np.random.default_rng(), 2, None)
    shares = truth.coin_flips, truth.two_ratings, truth.one_rating
    assert shares == pytest.approx((0.54408, 0.12373, 0.33219), abs=5e-6)
    with pytest.raises(InvalidInput, match="not MovieLens ml-latest-small: found 100,835 ratings"):
        load(file(tmp_path, content[: content.rindex(b"\n", 0, -1) + 1]))
