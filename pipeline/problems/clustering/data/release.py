"""`task=release` for ratings: how often people rate each two items alike,
with unseeded noise.

What is released is made of the noisy sums and of settings alone. A file is
refused for its header alone; a row that is wrong by itself is left out
without a word.
"""

from collections.abc import Sequence
from dataclasses import Field, replace
from typing import Any, TypeVar

import numpy as np

from pipeline.privacy.published_counts import PublishedCounts
from pipeline.problems.common.count_release import answers_in, checked, public_names
from pipeline.problems.common.disclosed import disclosure
from pipeline.problems.common.release_arguments import (
    FILES,
    file_of,
    is_check,
    keys_as_typed,
    receipt,
    settings_of,
    target_of,
)
from pipeline.problems.common.release_folder import (
    LAWS,
    LEFT_OUT,
    NAMES,
    PageOf,
    Table,
    made_by,
    new_folder,
    plain_text,
    write,
)
from pipeline.problems.common.release_rows import ENCODING
from pipeline.study.arrays import Integers
from pipeline.study.guarantee import ONE_PERSON, TRUSTS, Guarantee
from pipeline.study.making import build
from pipeline.study.parameters import InvalidInput, check_as, describe, parameter
from pipeline.study.untyped import Config, JsonObject

from ..estimators.spectral_clustering import SpectralClustering
from ..mechanisms.curator import NoisyCoOccurrences
from .rating_rows import HEADERS, RatingReader, co_occurrences_of, without_several

MECHANISMS: dict[str, type[NoisyCoOccurrences]] = {"noisy_co_occurrences": NoisyCoOccurrences}
# Of a study: the first two follow from data.items and most.
SIZES = ("N", "w", "U")
SETTINGS = ("person", "person_delta", "reading", "neighbours_are", "rounds")
MOST: Field[Any] = parameter(
    "ratings of one person that count, the first ones; the noise grows with it", low=2, high=10**6
)
MOST.type = int
LIKED: Field[Any] = parameter("least rating of an item that its user likes")
LIKED.type = float
CLUSTERS: Field[Any] = parameter("clusters into which items are divided", default=2, low=2)
CLUSTERS.type = int
OTHERS = {"most": MOST, "liked": LIKED, "clusters": CLUSTERS}
Kind = TypeVar("Kind")
COLUMN = {"signed": "alike_less_unlike", "agree": "alike"}
COUNTED = {
    "signed": (
        "persons who rate both items alike less those who like one of them only, plus noise"
    ),
    "agree": "persons who rate both items alike, plus noise; may be negative",
}


def release(arguments: Config, page_of: PageOf) -> str:
    """Release the ratings of the file `data.path` into the new folder
    `outputs`.

    Returns the account to print. data.items names the items,
    parameters.liked is the least rating of an item that its user likes;
    page_of makes the page on what is promised, which lies beside the
    tables; check=true releases nothing, and returns what rows are left out.
    arguments: key -> value, as typed on the command line. Raises
    InvalidInput for any mistake in them or in the header of the file,
    before anything is written; OSError where the disk is full.
    """
    name, kind, settings = settings_of(arguments, MECHANISMS, OTHERS, FILES, SIZES)
    liked = _required(float, "liked", settings)
    most = _required(int, "most", settings)
    data = file_of(arguments, "path", "ratings of items by people, one a row")
    names = public_names(arguments, "items")
    clusters = settings.get("clusters", CLUSTERS.default)
    if clusters > len(names):
        allowed = f"must be {len(names):,}, the number of items in data.items, or less"
        raise InvalidInput("parameters.clusters", clusters, allowed)
    most = min(most, len(names))
    mechanism = _mechanism(kind, settings, len(names), most)
    target = None if is_check(arguments) else target_of(arguments)
    encoding = settings.get("encoding", ENCODING.default)
    rows = answers_in(data, encoding, HEADERS, lambda sheet: RatingReader(sheet, names, liked))
    ratings = without_several(rows)
    if target is None:
        return checked(ratings)
    unlike, alike = co_occurrences_of(ratings, len(names), most)
    with keys_as_typed():
        result = mechanism.publish(unlike, alike)
    account = statement(name, mechanism, result, liked, clusters)
    tables = _tables(names, mechanism, result.counts, clusters)
    disclosed = disclosure(account, ONE_PERSON, mechanism.neighbours_are, None)
    with new_folder(target, arguments["outputs"]) as folder:
        write(folder, tables, disclosed, page_of)
    return receipt(target, account)


def _required(kind: type[Kind], key: str, settings: Config) -> Kind:
    """A parameter without a default."""
    declared = OTHERS[key]
    value = settings.get(key)
    if value is None:
        allowed = f"is needed, {describe(declared)} ({declared.metadata['meaning']})"
        raise InvalidInput(f"parameters.{key}", None, allowed)
    return check_as(kind, declared, value, f"parameters.{key}")


def _mechanism(
    kind: type[NoisyCoOccurrences], settings: Config, items: int, most: int
) -> NoisyCoOccurrences:
    """The mechanism for the items of this release; most: ratings of one person that count."""
    of_mechanism = {key: value for key, value in settings.items() if key in SETTINGS}
    with keys_as_typed():
        return build(kind, {**of_mechanism, "N": items, "w": most})


def promise(mechanism: NoisyCoOccurrences) -> Guarantee:
    """What a release by this mechanism guarantees: that of its study, in
    words of a file.
    """
    of_study = mechanism.promise()
    return replace(
        of_study,
        protects=(
            "which items one person rates, and how: all rows of one name. "
            f"The first {mechanism.w:,} of these count, without items "
            "that several of them rate"
        ),
        neighbours=(f"{of_study.neighbours}; or any one row, whatever name it has"),
        public=(
            "names in data.items, how many ratings of a person count at "
            "most, the law of the noise; every pair of items has its "
            "number, whether anybody rated both or not"
        ),
    )


def statement(
    name: str,
    mechanism: NoisyCoOccurrences,
    result: PublishedCounts,
    liked: float,
    clusters: int,
) -> JsonObject:
    """What was released, how private it is, and what was not released.

    Nothing depends on the rows.

    name: of the mechanism. liked, clusters: as in `OTHERS`.
    """
    (noise,) = result.noise
    guarantee = promise(mechanism)
    settings = {key: getattr(mechanism, key) for key in SETTINGS}
    return {
        "trust": TRUSTS[guarantee.trust],
        "unit": guarantee.protects,
        "neighbours": guarantee.neighbours,
        "budget": guarantee.budget,
        "composition": guarantee.composition,
        "spent": result.spent,
        "asked": {**settings, "most": mechanism.w, "liked": liked, "clusters": clusters},
        "mechanism": name,
        "noise": result.noise,
        "noise_law": LAWS[noise],
        "sensitivity": {
            "L1": result.sensitivity.absolute,
            "squared L2": result.sensitivity.squared,
        },
        **made_by(),
        "co_occurrences.csv": COUNTED[mechanism.reading],
        "items.csv": (
            "cluster of each item by spectral clustering of "
            "co_occurrences.csv alone, in no meaningful order; empty "
            "where the noisy numbers determine none"
        ),
        "names": NAMES,
        "public": guarantee.public,
        "rows left out": LEFT_OUT,
        "not released": "the number of persons, who rated what, any number without noise",
    }


def _tables(
    names: Sequence[str], mechanism: NoisyCoOccurrences, noisy: Integers, clusters: int
) -> dict[str, Table]:
    """The tables of a release by the names of their files. noisy: (pairs,)."""
    texts = [plain_text(name) for name in names]
    first, second = np.triu_indices(len(texts), 1)
    triples = zip(first.tolist(), second.tolist(), noisy.tolist(), strict=True)
    pairs = [(texts[i], texts[j], number) for i, j, number in triples]
    cluster = _clusters(mechanism, noisy, clusters)
    items = list(zip(texts, cluster, strict=True))
    return {
        "co_occurrences.csv": (("first", "second", COLUMN[mechanism.reading]), pairs),
        "items.csv": (("item", "cluster"), items),
    }


def _clusters(mechanism: NoisyCoOccurrences, noisy: Integers, clusters: int) -> list[str]:
    """Cluster of each item, numbered in the order of their first items.

    Empty if undetermined.
    """
    shares = ", ".join(str(1 / clusters) for _ in range(clusters))
    estimator = SpectralClustering(N=mechanism.N, beta=shares)
    # Their number is not public.
    sums = mechanism.released(noisy[None], mechanism.N, users=0)
    estimate = estimator.fit(sums, np.random.default_rng(0))
    if not estimate.converged[0]:
        return ["" for _ in range(mechanism.N)]
    labels = estimate.clusters[0].tolist()
    in_order = list(dict.fromkeys(labels))
    return [str(in_order.index(label) + 1) for label in labels]
