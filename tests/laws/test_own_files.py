"""Law: own/ranking, own/response and own/crowd take a person's file, ask for no size and know items by their names."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy.stats import binom

from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.privacy.composition import answer_budget
from pipeline.privacy.published_counts import bounded_counts
from pipeline.problems.common.count_release import answers_of
from pipeline.problems.ranking.data.files import load
from pipeline.problems.ranking.data.own_items import PooledComparisons, pool_of, records_of
from pipeline.problems.ranking.data.release import HEADERS, _Reader
from pipeline.study.parameters import DataFile, InvalidInput
from pipeline.workflow.config import read_experiments
from tests.helpers.checks import counts_agree
from tests.helpers.real_data import real

DRINKS = (
    "winner,loser\n"
    + "tea,milk\n" * 9
    + "milk,tea\n" * 3
    + "milk,beer\n" * 8
    + "beer,milk\n" * 4
    + "tea,beer\n" * 7
)
MARKS = "person,item,answer\n" + "".join(
    f"p{k},{item},{'right' if (k * 7 + i * i) % 5 > i else 'wrong'}\n"
    for k in range(30)
    for i, item in enumerate(("sum", "root", "proof"))
    if (k + i) % 4
)
VOTES = "task,worker,label\n" + "".join(
    f"t{t},w{w},{'yes' if (t % 2 == 1) != ((t + w) % 4 == 0) else 'no'}\n"
    for t in range(6)
    for w in range(5)
)
TRUTH = "".join(f"t{t},{'yes' if t % 2 else 'no'}\n" for t in range(6))


def study(name, *words):
    return read_experiments(compose([f"experiment=own/{name}", "size=quick", *words]))[0].study


def cell(item, mechanism, person=1.0):
    """Labels of a cell of own/ranking."""
    return {"person": person, "mechanism": mechanism, "item": item}


def labelled(task, mechanism="randomized_response", estimator="dawid_skene", person=1.0):
    """Labels of a cell of own/crowd."""
    return {"person": person, "mechanism": mechanism, "estimator": estimator, "task": task}


def answered(item, mechanism, person=1.0):
    """Labels of a cell of own/response."""
    estimator = "spectral" if mechanism in ("noisy_differences", "none") else "item_shares"
    return {"person": person, "mechanism": mechanism, "estimator": estimator, "item": item}


def written(folder, name, text):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


@pytest.fixture
def drinks(tmp_path):
    return f"data.path={written(tmp_path, 'drinks.csv', DRINKS)}"


@pytest.fixture
def votes(tmp_path):
    return (
        f"data.path={written(tmp_path, 'v.csv', VOTES)}",
        f"data.truth={written(tmp_path, 't.csv', TRUTH)}",
    )


def test_sizes_and_names_come_from_the_file(tmp_path, drinks, votes):
    ranking = study("ranking", drinks)
    assert ranking.grid.axes["item"] == ("all items", "tea", "milk", "beer")
    labels = cell("milk", "noisy_counts")
    values = ranking.values(labels)
    assert [values[name] for name in ("m", "L", "questions", "messages")] == [3, 31, 1, 7]
    coordinates = ranking.derived(labels)
    assert coordinates["rank"] == 2 and coordinates["times_compared"] == 24
    response = study("response", f"data.path={written(tmp_path, 'm.csv', MARKS)}")
    assert set(response.grid.axes["item"]) == {"all items", "sum", "root", "proof"}
    labels = answered("sum", "noisy_differences")
    found = [response.derived(labels | {"item": item}) for item in response.grid.axes["item"]]
    assert [one["rank"] for one in found[1:]] == [1, 2, 3]
    asked = [MARKS.count(f",{item},") for item in response.grid.axes["item"][1:]]
    assert [one["times_answered"] for one in found] == [sum(asked) / 3, *asked]
    values = response.values(labels)
    assert [values[name] for name in ("n", "m", "questions", "messages")] == [30, 3, 3, min(asked)]
    crowd = study("crowd", *votes)
    assert set(crowd.grid.axes["task"]) == {"all tasks", *(f"t{t}" for t in range(6))}
    values = crowd.values(labelled("t1"))
    assert [values[name] for name in ("n", "m", "questions", "messages")] == [5, 6, 1, 5]
    assert crowd.derived(labelled("t1"))["leaving_epsilon"] == answer_budget(1.0, 1, 1e-6)
    at_four = crowd.components(labelled("t1", person=4.0))
    drawn = at_four.model.simulate(*of_one_replication(at_four.model)).answers
    assert (np.count_nonzero(drawn, axis=2) == 2).all() and at_four.mechanism.answers == 2
    shuffled = labelled("t1", "shuffled_response", "vote_mixture")
    mixed = crowd.components(shuffled).mechanism
    assert mixed.reports == 5
    assert crowd.derived(shuffled)["leaving_epsilon"] == mixed.answer_epsilon
    curator = crowd.components(labelled("t1", "noisy_votes", "vote_mixture")).mechanism
    assert curator.answers == 6 and curator.sensitivity == (12, 24)


def test_nobody_trusted_asks_each_person_as_few_items_as_the_budget_is_best_spent_on(tmp_path):
    response = study("response", f"data.path={written(tmp_path, 'm.csv', MARKS)}")
    for person, questions in ((1.0, 1), (4.0, 2)):
        local = answered("sum", "randomized_response", person)
        mechanism = response.components(local).mechanism
        assert mechanism.answers == response.values(local)["questions"] == questions
        leaving = response.derived(local)["leaving_epsilon"]
        assert mechanism.answer_epsilon == leaving == answer_budget(person, questions, 1e-6)
        drawn = response.components(local).model.simulate(
            *of_one_replication(response.components(local).model)
        )
        assert (drawn.observed.sum(axis=2) == questions).all()
    shuffled = answered("sum", "shuffled_response")
    mixed = response.components(shuffled).mechanism
    fewest = min(MARKS.count(f",{item},") for item in ("sum", "root", "proof"))
    assert mixed.answers == 3 and mixed.reports == fewest
    assert response.derived(shuffled)["leaving_epsilon"] == mixed.answer_epsilon
    curator = response.components(answered("sum", "noisy_differences")).mechanism
    assert curator.answers == 3 and curator.promise().epsilon == 1.0


def of_one_replication(model):
    """Truth of one replication, and a generator."""
    rng = np.random.default_rng(5)
    return model.truth(rng, 1, rng), rng


def test_of_each_user_one_comparison_is_drawn_at_random(tmp_path):
    """u made three that count, v two, w one. The control: as if each pair were as likely as another."""
    path = DataFile.at(str(written(tmp_path, "d.csv", REPEATED)), "data_path")
    reps = 20_000
    pool = pool_of(path, None, 100)
    records = records_of(path, None, 100)
    assert np.bincount(records.pair, minlength=3).tolist() == pool.counted.compared.tolist()
    assert np.bincount(records.pair, records.won, 3).tolist() == pool.counted.won.tolist()
    data = PooledComparisons(pool, reps, np.random.default_rng(3), records, questions=1)
    compared = data.compared(np.array([3]))[:, 0]
    assert (compared.sum(axis=1) == 3).all() and (data.wins <= compared).all()
    # Pairs ab, ac, bc: u one of three, v ca or bc, w ab.
    expected = np.array([1 / 3 + 1, 1 / 3 + 1 / 2, 1 / 3 + 1 / 2])
    variance = np.array([2 / 9, 2 / 9 + 1 / 4, 2 / 9 + 1 / 4])
    distance = np.abs(compared.mean(axis=0) - expected) / np.sqrt(variance / reps)
    print(f"n={reps}, {distance.max():.2f} standard errors, bound 5.2")
    assert distance.max() < 5.2
    assert np.abs(compared.mean(axis=0) - 1).max() > 0.1


REPEATED = """user,winner,loser
u,a,b
u,b,c
u,a,b
u,c,a
v,c,a
v,b,c
w,a,b
"""


@pytest.mark.parametrize("most, questions, messages", [("null", 3, 2), ("2", 2, 1)])
def test_users_with_names_promise_for_all_that_they_said(tmp_path, most, questions, messages):
    """Of u's comparisons that of a and b counts once; with most_answers=2 that of c and a does not count."""
    path = written(tmp_path, "d.csv", REPEATED)
    ranking = study("ranking", f"data.path={path}", f"parameters.most_answers={most}")
    for person, asked in ((2.0, 1), (4.0, 2)):  # nobody trusted: as few as are best
        local = cell("a", "randomized_response", person)
        mechanism = ranking.components(local).mechanism
        assert mechanism.answers == asked
        leaving = ranking.derived(local)["leaving_epsilon"]
        assert mechanism.spent()["one comparison"] == leaving == answer_budget(person, asked, 1e-6)
        assert mechanism.spent()["all comparisons of a user"] == pytest.approx(person)
    shuffled = cell("a", "shuffled_response", 2.0)
    mixed = ranking.components(shuffled).mechanism
    assert mixed.reports == messages and mixed.promise().epsilon == 2.0
    assert ranking.derived(shuffled)["leaving_epsilon"] == mixed.answer_epsilon
    curator = ranking.components(cell("a", "noisy_counts", 2.0)).mechanism
    assert curator.answers == questions and curator.sensitivity == (questions, questions)
    assert np.isnan(ranking.derived(cell("a", "noisy_counts"))["leaving_epsilon"])


def test_what_counts_is_what_a_release_counts(tmp_path):
    """The comparisons of a study are the table that `task=release` adds noise to."""
    path = written(tmp_path, "d.csv", REPEATED)
    items = written(tmp_path, "i.txt", "a\nb\nc\n")
    request = SimpleNamespace(
        data=DataFile.at(str(path), "data.path"),
        names=("a", "b", "c"),
        settings={"encoding": "utf-8"},
    )
    answers = answers_of(request, HEADERS, lambda sheet: _Reader(sheet, request.names))
    for most in (1, 2, 3):
        counts = bounded_counts(answers.person, answers.group, answers.side, answers.times, 3, most)
        records = load(
            DataFile.at(str(path), "data.path"),
            DataFile.at(str(items), "data.items"),
            other_ratings=True,
        )
        counted, _ = records.bounded(np.arange(3), most)
        assert counted.tolist() == counts.tolist()
    everything = records.pooled(np.arange(3))
    assert everything[1].sum() == counts.sum() + 1  # the repetition, which counts for θ* alone


def test_a_promise_cut_to_too_few_answers_is_refused(tmp_path):
    rows = "user,winner,loser\nu,a,b\nu,b,c\nv,a,b\nv,c,b\n"
    path = written(tmp_path, "d.csv", rows)
    with pytest.raises(InvalidInput, match="most_answers=1: no comparisons link these items"):
        study("ranking", f"data.path={path}", "parameters.most_answers=1")


def test_ratings_are_cut_whatever_they_say(tmp_path):
    """Which pairs of a person count does not depend on the ratings: all the other way round, the same pairs."""
    rng = np.random.default_rng(5)
    stars = rng.permuted(np.tile(np.arange(5), (12, 1)), axis=1)
    counted = []
    for values in (stars, 4 - stars):
        rows = [f"u{u},i{i},{values[u, i]}" for u in range(12) for i in range(5)]
        path = written(tmp_path, "r.csv", "user,item,rating\n" + "\n".join(rows))
        counted.append(pool_of(DataFile.at(str(path), "data.path"), None, 100, 3).counted)
    assert counted[0].most == 3 and counted[0].compared.sum() == 36
    assert (counted[0].compared == counted[1].compared).all()
    assert (counted[0].won == counted[1].compared - counted[1].won).all()


def test_without_privacy_nothing_moves(tmp_path, drinks, votes):
    ranking = study("ranking", drinks, "grid.mechanism=[none]", "~parameters.compared_are")
    for item in ranking.grid.axes["item"]:
        found = ranking.simulate(cell(item, "none"), 0)
        assert found["first_kept"].all()
        assert (found["rank_kept"] == 1).all() and found["score_moved"].max() < 1e-6
    response = study(
        "response",
        f"data.path={written(tmp_path, 'm.csv', MARKS)}",
        "figures=[]",
        "grid=[{mechanism:[none],person:[1],estimator:[spectral],item:file_names}]",
    )
    for item in response.grid.axes["item"]:
        values = response.simulate(answered(item, "none"), 0)
        assert (values["rank_kept"] == 1).all() and values["first_kept"].all()
    crowd = study(
        "crowd",
        *votes,
        "~parameters.votes",
        "figures=[]",
        "grid=[{mechanism:[none],person:[1],estimator:[dawid_skene],task:file_tasks}]",
    )
    found = crowd.simulate(labelled("all tasks", "none"), 0)
    assert (found["label_kept"] == 1).all() and found["posterior_moved"].max() < 1e-6


def test_a_crowd_without_true_labels_is_followed_all_the_same(votes):
    known, unknown = study("crowd", *votes), study("crowd", votes[0])
    labels = labelled("all tasks")
    one, other = known.simulate(labels, 0), unknown.simulate(labels, 0)
    assert all((one[name] == other[name]).all() for name in ("label_kept", "posterior_moved"))
    assert np.isnan(other["label_right"]).all() and np.isfinite(one["label_right"]).all()


def test_how_often_a_place_is_kept_is_exact_for_two_items(tmp_path):
    """Of n = 20 comparisons a won 13; it stays first while its released wins, of a known law, are more than half."""
    rows = "winner,loser\n" + "a,b\n" * 13 + "b,a\n" * 7
    ranking = study(
        "ranking",
        f"data.path={written(tmp_path, 'd.csv', rows)}",
        "replications=20000",
        "block=20000",
        "grid.mechanism=[randomized_response]",
        "parameters.person_delta=0",
        "~parameters.compared_are",
    )
    found = ranking.simulate(cell("a", "randomized_response"), 0)
    kept = found["rank_kept"]
    assert (found["first_kept"] == kept).all()
    counts = np.array([(kept == 0).sum(), (kept == 1).sum()])

    def law(flip):
        own, other = binom(13, 1 - flip).pmf(np.arange(14)), binom(7, flip).pmf(np.arange(8))
        first = np.convolve(own, other)[11:].sum()
        return np.array([1 - first, first])

    assert counts_agree(counts, law(1 / (1 + np.e)), "rank kept at ε = 1")
    assert not counts_agree(counts, law(1 / (1 + np.exp(1.1))), "negative control: ε = 1.1")


def test_levels_of_one_estimate_share_it(drinks, monkeypatch):
    """Items are looked at in one estimate: its stream does not depend on the item, and it is made once."""
    ranking = study("ranking", drinks)
    assert ranking.measured == {"item"}
    first, second = (cell(item, "randomized_response") for item in ("tea", "beer"))
    model = ranking.components(first).model
    assert ranking.stream("estimator", first, 0, model) == ranking.stream(
        "estimator", second, 0, model
    )
    estimator = type(ranking.components(first).estimator)
    fits, fit = [], estimator.fit
    monkeypatch.setattr(estimator, "fit", lambda *given: fits.append(1) or fit(*given))
    memo = {}
    alone = [ranking.simulate(labels, 0) for labels in (first, second)]
    shared = [ranking.simulate(labels, 0, memo) for labels in (first, second)]
    assert len(fits) == 3
    for one, same in zip(alone, shared, strict=True):
        assert all((one[name] == same[name]).all() for name in one)


def test_from_file_to_report(tmp_path, drinks, capsys):
    done = main(
        [
            "experiment=own/ranking",
            "size=quick",
            drinks,
            "replications=20",
            "block=20",
            "grid.person=[1,8]",
            "cluster=synchronous",
            f"outputs={tmp_path / 'out'}",
            "figures=[]",
        ]
    )
    assert done == 0, capsys.readouterr()
    (folder,) = tmp_path.glob("out/own/*")
    with xr.open_zarr(folder / "results.zarr") as data:
        assert data["item"].values.tolist() == ["all items", "tea", "milk", "beer"]
        kept = data["rank_kept"].mean("replication").load()
        assert (
            data["rank"].sel(item="beer").item() == 3
            and float(kept.sel(item="tea", person=8, mechanism="noisy_counts")) > 0.9
        )
    page, table = (
        (folder / "report.html").read_text("utf-8"),
        (folder / "summary.csv").read_text("utf-8"),
    )
    for word in (
        "tea",
        "milk",
        "beer",
        "A file of 31 comparisons of 3 items",
        "all comparisons of a user",
        "At 1 nat a person, with nobody trusted (randomized response)",
        "At 1 nat a person, with a shuffler (shuffled response)",
        "At 1 nat a person, with a curator (noisy counts)",
    ):
        assert word in page
    assert "own/ranking,8.0,noisy_counts,tea," in table
    without = re.sub("<[^>]+>", " ", page[page.index("what is known of each without simulation") :])
    assert re.search(
        r"tea\s+1\s+[\d.]+\s+19\s+milk\s+2\s+\S+\s+24\s+beer\s+3", without
    )  # rank, score, comparisons


BAD = [
    ("ranking", ["data.path=nowhere.csv"], "data.path", "cannot be read"),
    (
        "ranking",
        ["grid.item=[Tea]"],
        "grid.item",
        "there is no such item in the data; names are case-sensitive",
    ),
    ("ranking", ["grid.item=file_name"], "grid.item", "must be a list of levels"),
    ("ranking", ["grid.item=score"], "grid.item", "needs item; give it in parameters"),
    ("ranking", ["grid.item=file_items"], "grid.item", "gives no levels"),
    ("ranking", ["grid.person=1"], "grid.person", "must be a list of levels"),
    (
        "ranking",
        ["~derive.m", "+parameters.m=4"],
        "parameters.m",
        "the file has 3; leave it to derive.m",
    ),
    ("ranking", ["~derive.L", "+parameters.L=4"], "parameters.L", "the file has 31"),
    (
        "ranking",
        ["+parameters.profile='0.5:1, 0.5:2'"],
        "parameters.profile",
        "have one budget for all; must be 1:1",
    ),
    ("ranking", ["parameters.most_items=1"], "parameters.most_items", "needs two at least"),
    ("ranking", ["grid.person=[0]"], "grid.person", "> 0"),
    ("ranking", ["data.truth=nowhere.csv"], "data.truth", "takes no such file"),
    ("crowd", [], "data.path", "must be the header task,worker,label"),
]


@pytest.mark.parametrize("name, words, key, says", BAD, ids=range(len(BAD)))
def test_mistakes_are_one_line_before_anything_is_made(
    tmp_path, drinks, capsys, name, words, key, says
):
    words = [words[0] if words and words[0].startswith("data.path") else drinks, *words]
    words = list(dict.fromkeys(words))
    if name == "crowd":
        words.append(f"data.truth={written(tmp_path, 't.csv', TRUTH)}")
    before = sorted(tmp_path.iterdir())
    assert (
        main(
            [f"experiment=own/{name}", *words, f"outputs={tmp_path / 'out'}", "cluster=synchronous"]
        )
        == 2
    )
    printed = capsys.readouterr()
    assert (
        printed.err.startswith(f"error: {key}=")
        and says in printed.err
        and printed.err.count("\n") == 1
    )
    assert sorted(tmp_path.iterdir()) == before


def test_a_large_file_is_cut_to_the_items_compared_most(drinks):
    two = study("ranking", drinks, "parameters.most_items=2")
    assert two.grid.axes["item"] == (
        "all items",
        "milk",
        "beer",
    )  # 24 and 19 comparisons; tea has 19, too
    assert (
        "the 2 items compared most"
        in two.components(cell("all items", "noisy_counts")).model.source
    )


@pytest.mark.parametrize("path", [real("movielens/ratings.csv")])
def test_the_real_ratings_are_ranked(path):
    ranking = study("ranking", f"data.path={path}", "parameters.most_items=10")
    assert (
        len(ranking.grid.axes["item"]) == 11 and ranking.grid.axes["item"][1] == "318"
    )  # The Shawshank Redemption
    assert ranking.values(cell("318", "noisy_counts"))["questions"] <= 45


@pytest.mark.parametrize(
    "answers, truth", [real("crowd/bluebird_label.csv", "crowd/bluebird_truth.csv")]
)
def test_the_real_crowd_is_followed(answers, truth):
    words = [f"data.path={answers}", f"data.truth={truth}", "parameters.most_tasks=4"]
    words.append(
        "grid=[{mechanism:[randomized_response],person:[648],estimator:[dawid_skene],"
        "task:file_tasks}]"
    )
    crowd = study("crowd", *words, "~parameters.votes", "figures=[]")
    assert len(crowd.grid.axes["task"]) == 5
    found = crowd.simulate(labelled("all tasks", person=648.0), 0)
    assert found["label_kept"].mean() > 0.95 and 0.7 < found["label_right"].mean() < 0.8


def test_items_of_two_files_are_not_mixed(tmp_path, drinks):
    other = written(tmp_path, "o.csv", DRINKS.replace("tea", "wine"))
    assert study("ranking", drinks).key != study("ranking", f"data.path={other}").key
    with pytest.raises(InvalidInput, match="there is no such item"):
        study("ranking", f"data.path={other}", "grid.item=[tea]")
