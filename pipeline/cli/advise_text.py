"""An answer of `task=advise` as a person reads it in a terminal: three sentences, then numbers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pipeline.advice import words
from pipeline.advice.words import Word
from pipeline.cli.help import table

BESIDE = {
    "without_privacy": "without privacy",
    "twice_the_people": "with twice the people",
    "half_the_budget": "with half the budget",
}


def text(record: Mapping[str, Any]) -> str:
    """The answer in words, and below each word of the trade, where it is first used, what it means."""
    sentences = "\n".join(opening(record))
    return "\n".join(explained([sentences, "", *numbers(record)]))


def explained(parts: Iterable[str]) -> Iterator[str]:
    """Parts of a text, and below the first that has a word of the trade, what it means."""
    known = list[Word]()
    for part in parts:
        yield part
        for word in words.explained(part, known):
            known.append(word)
            yield f"      ({word.word}: {word.meaning})"


def numbers(record: Mapping[str, Any]) -> Iterator[str]:
    """The answer in numbers, line by line."""
    yield headline(record)
    interval = "95 % interval" if record["source"] == "simulation" else "band"
    yield f"  the targets begin to be met at {record['boundary']:,.4g}, {interval} {ends(record)}"
    if record["remark"]:
        yield f"  {record['remark']}"
    yield from _atlas(record) if record["source"] == "atlas" else _certificate(record)
    yield from _privacy(record)
    yield from _beside(record)
    yield from _mechanisms(record)
    known = [f"{name}={value}" for name, value in record["given"].items() if value is not None]
    yield f"  with {', '.join(known)}"


def opening(record: Mapping[str, Any]) -> Iterator[str]:
    """Three sentences, and the warning, if there is one."""
    yield from record["in_words"]
    if record["warning"]:
        yield record["warning"]


def first_lines(record: Mapping[str, Any]) -> list[str]:
    """A first answer in short: its sentences, its headline, its band, and where it comes from."""
    interval = f"  the targets begin to be met at {record['boundary']:,.4g}, band {ends(record)}"
    return [*opening(record), headline(record), interval, next(_atlas(record))]


def headline(record: Mapping[str, Any]) -> str:
    """What is advised, in one line."""
    word = record["unknown"]
    share = "at least" if record["better"] == "more" else "at most"
    named = f" ({record['parameter']})" if record["parameter"] != word else ""
    targets = ", ".join(
        f"{target['metric']} {target['relation']} {target['value']:g}"
        for target in record["target"]
    )
    return f"{record['problem']}: {word}{named} {share} {record['value']:,g}, for {targets}"


def ends(row: Mapping[str, Any]) -> str:
    """An interval; "…" where an end lies outside of the atlas."""
    low, high = ("…" if row[end] is None else f"{row[end]:,.4g}" for end in ("low", "high"))
    return f"[{low}, {high}]"


def _atlas(record: Mapping[str, Any]) -> Iterator[str]:
    """That an answer is none of this very question, and the means there."""
    yield "  from the atlas, NOT certified: between cells that were simulated in advance"
    for target in record["measured"]:
        yield f"    {target['metric']} = {target['mean']:.4g} {ends(target)} in the mean"


def _certificate(record: Mapping[str, Any]) -> Iterator[str]:
    """Whether the targets were shown to be met, and the means."""
    confidence = f"{100 * record['confidence']:g} %"
    shown = "certified with" if record["certified"] else "NOT certified: not shown with"
    yield f"  {shown} {confidence} confidence by {record['replications']:,} fresh replications:"
    for target in record["measured"]:
        yield (
            f"    {target['metric']} = {target['mean']:.4g} {ends(target)} in the mean; a single "
            f"run meets its target with probability {target['share_of_runs_met']:.2g}"
        )
    if record["not_converged"]:
        yield (
            f"    {100 * record['not_converged']:.2g} % of the estimates did not converge; they "
            "are counted"
        )


def _beside(record: Mapping[str, Any]) -> Iterator[str]:
    """What would be with more people, less budget, or other people."""
    for name, means in record.get("beside", {}).items():
        yield f"  {BESIDE[name]}: {', '.join(map(mean, means))}"
    if record.get("stress"):
        yield "  if people are not as the model says:"
        yield from table(
            (f"  {case['case']}", case["why"] or ", ".join(map(missed, case["measured"])))
            for case in record["stress"]
        )


def mean(row: Mapping[str, Any]) -> str:
    """A mean with its interval."""
    return f"{row['metric']} = {row['mean']:.4g} {ends(row)}"


def missed(row: Mapping[str, Any]) -> str:
    """A mean, and by how much it misses its target."""
    return f"{mean(row)}, {distance(row)}"


def distance(row: Mapping[str, Any]) -> str:
    """By how much a mean misses its target."""
    return (
        f"misses its target by {row['missed_by']:.2g}" if row["missed_by"] else "meets its target"
    )


def _mechanisms(record: Mapping[str, Any]) -> Iterator[str]:
    """Mechanisms side by side, if there are several."""
    if len(record["mechanisms"]) < 2:
        return
    yield f"  {record['unknown']} by mechanism, where the targets begin to be met:"
    yield from table(_mechanism(row) for row in record["mechanisms"])


def _mechanism(row: Mapping[str, Any]) -> tuple[str, str]:
    return f"  {row['mechanism']}", row[
        "why"
    ] or f"{row['boundary']:,.4g} {ends(row)} with {row['estimator']}"


def _privacy(record: Mapping[str, Any]) -> Iterator[str]:
    """What the mechanism promises, and what that means for a person."""
    spent = [f"{name}: {budget:.4g} nats" for name, budget in record["spent"].items()]
    yield f"  privacy: {'; '.join([record['budget'], *spent])}"
    yield f"    unit: {record['unit']}; neighbours: {record['neighbours']}"
    means = record["in_a_persons_terms"]
    for role, name in (("person", "all that a person gives"), ("answer", "one answer")):
        if means[role] is not None:
            yield f"    {name}: {terms(means[role])}"


def terms(means: Mapping[str, Any]) -> str:
    """A budget, the odds, and the best attack."""
    budget = f"{means['budget']:.4g} nats"
    if means["delta"]:
        budget += f" at δ = {means['delta']:g}"
    odds = ""
    if means["odds"] and means["odds"] < 1e6:
        odds = f"odds change by {means['odds']:.4g} at most, "
    alarms = " and ".join(
        f"{100 * attack['true_alarms']:.3g} % at {100 * attack['false_alarms']:g} %"
        for attack in means["attacker"]
    )
    bound = "" if means["exact"] else ", at most,"
    return f"{budget}; {odds}the best attack{bound} finds {alarms} of false alarms"
