"""What a curator's release says of itself, for the page that lies beside it."""

from collections.abc import Mapping
from typing import Any

from pipeline.study.disclosure import Attack, Disclosure, promised_trade_off, trade_off
from pipeline.study.guarantee import (
    CURATOR,
    ONE_PERSON,
    REPLACED,
    THERE_OR_NOT,
    Guarantee,
)

RELATIONS = {"replace_one": REPLACED, "add_remove": THERE_OR_NOT}
COMPOSITION = (
    "everything in this folder is one release, and this is its budget; if it is made again, that "
    "is another release"
)
PROMISED = "anything protected, by its budget"


def disclosure(
    account: Mapping[str, Any], unit: str, neighbours_are: str, attack: Attack | None
) -> Disclosure:
    """The disclosure of a release with an account.

    unit: a person, or one answer where rows name no persons. neighbours_are: `replace_one` or
    `add_remove`. attack: the best one on a unit; None where only the budget bounds it.
    """
    spent = account["spent"]
    epsilon = float(spent["epsilon"])
    delta = float(spent.get("delta", 0.0))
    budget = "pure ε-DP"
    if "rho" in spent:
        budget = f"ρ-zCDP, hence (ε, δ)-DP at δ = {delta:g},"
    is_person = unit == ONE_PERSON
    guarantee = Guarantee(
        trust=CURATOR,
        unit=unit,
        protects=account["unit"],
        neighbours=account["neighbours"],
        relation=RELATIONS[neighbours_are],
        budget=f"{budget} for the unit",
        public=account["public"],
        composition=COMPOSITION,
        epsilon=epsilon if is_person else None,
        delta=delta,
        rho=spent.get("rho"),
        answer_epsilon=None if is_person else epsilon,
    )
    trade_offs = [promised_trade_off(epsilon, delta, PROMISED)]
    if attack is not None:
        name = "all answers of a person" if is_person else "one answer"
        trade_offs.insert(0, trade_off(attack, name))
    return Disclosure(guarantee, account, trade_offs)
