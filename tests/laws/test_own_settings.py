"""What an experiment of a person's own says of targets, data and claims counts, in a file, a mapping and a study."""

import pytest
import yaml

import pipeline as pl
from pipeline.cli.compose import compose
from pipeline.study.parameters import InvalidInput
from pipeline.workflow.config import read_experiment
from tests.helpers.engine import mapping, study

TARGETS = {"error_l2": {"relative": 0.5}}


def read(tmp_path, **changes):
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({"name": "own/test", **mapping(), "figures": [], **changes}))
    return read_experiment(compose([f"experiment={path}"])[0])


def test_a_file_says_targets_and_claims(tmp_path):
    assert read(tmp_path).text.claims and read(tmp_path).study.precision == ()
    given = read(tmp_path, precision=TARGETS, claims=False)
    assert given.study.precision == study(precision=TARGETS).precision and not given.text.claims
    quick = yaml.safe_dump(
        {"name": "own/test", **mapping(), "figures": [], "quick": {"precision": TARGETS}}
    )
    (tmp_path / "quick.yaml").write_text(quick)
    sized = read_experiment(compose([f"experiment={tmp_path / 'quick.yaml'}", "size=quick"])[0])
    assert sized.study.precision == given.study.precision
    for wrong in (
        {"precision": 5},
        {"precision": ["error_l2"]},
        {"precision": {"error_l2": 0.1}},
        {"claims": "maybe"},
    ):
        with pytest.raises(InvalidInput):
            read(tmp_path, **wrong)


def test_a_file_says_its_data(tmp_path):
    (tmp_path / "c.csv").write_text("winner,loser\n" + "a,b\nb,c\na,c\nb,a\n" * 9)
    shown = compose(["experiment=own/ranking", f"data.path={tmp_path / 'c.csv'}"])[0]
    given = {
        key: shown[key]
        for key in (
            "name",
            "problem",
            "seed",
            "replications",
            "block",
            "grid",
            "parameters",
            "derive",
            "coordinates",
            "metrics",
            "data",
            "figures",
            "claims",
        )
    }
    (tmp_path / "shown.yaml").write_text(yaml.safe_dump(given))
    again = read_experiment(compose([f"experiment={tmp_path / 'shown.yaml'}"])[0])
    assert len(again.study.grid.axes["item"]) == 4  # all items, and each of three


@pytest.mark.parametrize(
    "make",
    [
        lambda: study(precision=TARGETS, replications=400),
        lambda: {**mapping(replications=400), "precision": TARGETS},
    ],
    ids=["study", "mapping"],
)
def test_a_call_obeys_the_study(make, tmp_path):
    results = pl.run(make(), cluster="synchronous", progress=False, outputs=str(tmp_path))
    assert (results["status"] > 0).sum("replication").max() < 400 and results.attrs["precision"]
    with pytest.raises(InvalidInput, match="needs run"):
        pl.simulate(make())
    next(path for path in tmp_path.rglob("results.zarr/error_l2/c/**/*") if path.is_file()).unlink()
    with pytest.raises(InvalidInput, match="repair=true"):
        pl.run(make(), cluster="synchronous", progress=False, outputs=str(tmp_path))


@pytest.mark.parametrize("key, value", [("task", "plan"), ("shard", "1/2")])
def test_a_call_takes_no_words_of_the_command(key, value):
    with pytest.raises(InvalidInput, match="is for the command"):
        pl.run("xu/lemmas", **{key: value})
