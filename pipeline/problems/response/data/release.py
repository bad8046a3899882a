"""`task=release`: real people's responses, released once and privately.

Nothing can seed the noise. What is released is made of the noisy
measurements and of settings alone: no count without noise, no number of
persons, no hash of the file, no trace of who answered what. A file is
refused for its header alone: a row that is wrong by itself is left out
without a word, and so are all rows of a name that stands in several.
"""

from dataclasses import Field
from typing import Any

import numpy as np

from pipeline.problems.common.disclosed import disclosure
from pipeline.problems.common.release_arguments import (
    file_of,
    is_check,
    keys_as_typed,
    receipt,
    settings_of,
    target_of,
)
from pipeline.problems.common.release_folder import PageOf, new_folder, write
from pipeline.problems.common.release_intervals import Noise
from pipeline.problems.common.release_rows import ENCODING, check_report
from pipeline.study.guarantee import ONE_PERSON
from pipeline.study.making import build
from pipeline.study.parameters import InvalidInput, fields, parameter
from pipeline.study.untyped import Config

from ..estimators.pair_count_estimator import ItemEstimate
from ..estimators.spectral import Spectral
from ..mechanisms.noisy_differences import (
    CuratorDifferences,
    DiscreteGaussian,
    DiscreteLaplace,
    NoisyDifferences,
)
from ..model import chances_of
from ..releases import Differences, Published
from . import release_file
from .release_contents import best_attack, statement, tables

MECHANISMS: dict[str, type[NoisyDifferences]] = {
    "discrete_gaussian": DiscreteGaussian,
    "discrete_laplace": DiscreteLaplace,
    "noisy_differences": CuratorDifferences,
}
MOST: Field[Any] = parameter(
    "answers of one person that count, drawn at random; null is all", default=None, low=2
)
MOST.type = int | None


def release(arguments: Config, page_of: PageOf) -> str:
    """Release the responses of the file `data.path` into the new folder `outputs`.

    Returns the account to print. page_of makes the page on what is
    promised, which lies beside the tables. check=true releases nothing,
    and returns what rows are left out. arguments: key -> value, as typed on
    the command line. Raises InvalidInput for any mistake in them or in
    the header of the file, before anything is written; OSError where
    the disk is full. The folder is there with all its files, or not at
    all, and only its owner may read it.
    """
    name, kind, settings = settings_of(arguments, MECHANISMS, {**fields(Spectral), "most": MOST})
    if "questions" in settings:
        allowed = "is for studies; a release has parameters.most, answers of a person that count"
        raise InvalidInput("parameters.questions", settings["questions"], allowed)
    most = settings.pop("most", None)
    encoding = settings.pop("encoding", ENCODING.default)
    checks = is_check(arguments)
    target = None
    if not checks:
        target = target_of(arguments)
    with keys_as_typed():
        file = file_of(arguments, "path", "responses, persons × items, a person a row")
        rows, left_out = release_file.read(file, encoding)
        settings["m"] = len(rows.items)
        settings["questions"] = _questions(most, len(rows.items))
        mechanism = build(kind, settings)
        estimator = build(Spectral, settings)
    if estimator.pseudo_count + estimator.floor == 0:
        allowed = "with floor=0 noise may leave no estimate; one must be > 0"
        raise InvalidInput("parameters.pseudo_count", 0, allowed)
    if target is None:
        return check_report(len(rows.answers), left_out)
    named = rows.person is not None
    with keys_as_typed():
        published = mechanism.publish(rows.answers, rows.observed, rows.persons, named)
    account = statement(name, mechanism, estimator, published, named)
    contents = tables(rows.items, published, _difficulties(estimator, published))
    disclosed = disclosure(
        account, ONE_PERSON, mechanism.neighbours_are, best_attack(mechanism, published)
    )
    with new_folder(target, arguments["outputs"]) as folder:
        write(folder, contents, disclosed, page_of)
    return receipt(target, account)


def _questions(most: int | None, items: int) -> int | None:
    """Items of a person that count, by the name that a study has for them; None is all."""
    if most is None or most >= items:
        return None
    return most


def _difficulties(estimator: Spectral, published: Published) -> ItemEstimate:
    """Difficulties in logits, (1, m), from the noisy measurements alone.

    The estimator needs no number of persons. Errors take it that everybody answered all items that
    count, which makes them wider than they are where answers are missing.
    """
    noise = Noise.of(published.noise)
    variance = np.full(1, noise.variance)
    fourth = np.full(1, noise.fourth) if noise.fourth else None
    m = len(published.counts)
    counted = chances_of(estimator.questions or m, m)
    release = Differences(
        published.counts[None],
        0,
        variance,
        published.edges[None],
        inclusion=counted,
        fourth=fourth,
    )
    return estimator.fit(release, np.random.default_rng(0))
