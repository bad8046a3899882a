"""Claims on real crowds, bluebird and RTE: decided on the real files, never on a stand-in."""

import json

from pipeline.claims.claim import Claim, TooLittle, at_least, at_most, throughout
from pipeline.claims.evidence import HIGH, enough, renamed
from pipeline.claims.wang_limits import cells_of
from pipeline.reduce.summary import paired_difference, summarise

BLUEBIRD = "sha256:e9362c5b1af0dbace899acf1dd8c597dbdf25350285776bea0cf5255bc7bdfa3"
RTE = "sha256:2ad788bb36cf9206c496ffdf5e4dec466a1de420bc0c403404e9d3367024ff66"
_FILES = {BLUEBIRD: "bluebird", RTE: "RTE"}
_AXES = dict(epsilon=2, mechanism="randomized_answers")


def _real(results, *known):
    constants = json.loads(results.attrs.get("study", "{}")).get("parameters", {})
    if constants.get("data_path") not in known:
        raise TooLittle(f"is about the answers of {' or '.join(_FILES[one] for one in known)}, and these are others: "
                        "give data.path and data.truth")


def _against_vote(file, within, decide, aim):
    def check(results):
        _real(results, file)
        data = enough(results, "label_error", estimator=2, within=within, **_AXES)
        apart = paired_difference(data, "label_error", "estimator", "dawid_skene", "majority_vote")
        return throughout(cells_of(data, apart["mean"], apart["mcse"]), lambda one, cell: decide(
            one, 0, f"Dawid and Skene less vote at {cell}:"), aim)

    return check


def _close(results):
    _real(results, *_FILES)
    data = enough(results, "labels_unlike_plain", estimator="dawid_skene", within=lambda d: d["epsilon"] >= 4, **_AXES)
    cells = summarise(data)
    return throughout(cells_of(data, cells["labels_unlike_plain"], cells["labels_unlike_plain_mcse"]),
                      lambda one, cell: at_most(one, 0.05, f"labels unlike those without privacy at {cell}:"), -HIGH)


_ABOUT = dict(experiment="wang/real", source="beyond Wang and Xu, who have no data",
              estimand="difference of mean shares of wrong labels on the same release, in every cell",
              why="The statement is one of direction.")
_NAMES = dict(twin="the two estimators under each other's name",
              twin_data=renamed("estimator", "dawid_skene", "majority_vote"))

CLAIMS = (
    Claim(
        id="wang.real.rte",
        statement="On RTE Dawid and Skene's method labels better than majority vote at moderate privacy.",
        tolerance="at most 0 in every cell (simultaneous intervals)",
        conditions="ε ≥ 1.5; 8,000 answers by 164 workers to 800 tasks. At ε = 0.5 it is the other way round.",
        check=_against_vote(RTE, lambda d: d["epsilon"] >= 1.5, at_most, -HIGH),
        **_NAMES,
        **_ABOUT,
    ),
    Claim(
        id="wang.real.bluebird",
        statement="On bluebird majority vote labels better, at every ε and without privacy: workers have a bias, and "
                  "no one ability.",
        tolerance="at least 0 in every cell (simultaneous intervals)",
        conditions="All ε; 4,212 answers by 39 workers to 108 tasks. Without privacy 27.8 against 24.1 % of the labels "
                   "are wrong.",
        check=_against_vote(BLUEBIRD, None, at_least, HIGH),
        **_NAMES,
        **_ABOUT,
    ),
    Claim(
        id="wang.real.close",
        statement="At ε = 4 and more hardly a label differs from the fit without privacy.",
        tolerance="at most 0.05 in every cell (simultaneous intervals)",
        conditions="ε ≥ 4, either file. It is 0.038 and 0.015 at ε = 4, and 0.33 and 0.42 at 0.5.",
        check=_close,
        twin="labels at the least ε in place of those at all",
        twin_data=lambda r: r.assign(labels_unlike_plain=(
            r["labels_unlike_plain"].isel(epsilon=0) + 0 * r["labels_unlike_plain"]).transpose(
                *r["labels_unlike_plain"].dims)),
        **_ABOUT | dict(estimand="mean share of labels unlike those fitted without privacy, in every cell",
                        why="One label in twenty."),
    ),
)
