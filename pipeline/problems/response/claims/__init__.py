"""Claims of Nguyen and Zhang: every figure, theorem and lemma."""

from . import (
    consistency,
    entrywise,
    few_responses,
    figure_1,
    high_privacy,
    inference,
    pair_share,
    persons,
    price,
    price_estimators,
    privacy,
    random_graph,
    recorded,
    shuffling,
    sparse,
    top_k,
)

CLAIMS = (
    *inference.CLAIMS,
    *entrywise.CLAIMS,
    *few_responses.CLAIMS,
    *consistency.CLAIMS,
    *top_k.CLAIMS,
    *price.CLAIMS,
    *price_estimators.CLAIMS,
    *privacy.CLAIMS,
    *random_graph.CLAIMS,
    *high_privacy.CLAIMS,
    *shuffling.CLAIMS,
    *figure_1.CLAIMS,
    *recorded.CLAIMS,
    *pair_share.CLAIMS,
    *sparse.CLAIMS,
    *persons.CLAIMS,
)
