"""`task=advise`: how small ε may be, or how many people are needed: the question and its answer as a person reads them.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.cli.help import table
from pipeline.study.parameters import InvalidInput

BESIDE = {"without_privacy": "without privacy", "twice_the_people": "with twice the people",
          "half_the_budget": "with half the budget"}


def perform(request: Mapping[str, Any], as_json: bool = False) -> int:
    """Answer a request; returns the exit code, 1 where nothing could be certified. Raises InvalidInput for any mistake.

    quick=true gives the atlas's first answer only. Without it and without JSON, that is printed until the certificate
    is there. save=FILE writes a page, or curves, of the atlas before; without a problem, nothing but the page.
    """
    from pipeline.advice.answer import answer  # SciPy
    from pipeline.advice.question import read
    from pipeline.cli import advise_files

    asked = {key: value for key, value in request.items() if key not in ("task", "quick", "save")}
    quick, where = flag(request, "quick"), advise_files.file(request["save"]) if "save" in request else None
    question = read(asked) if asked or where is None else None
    if where is not None:
        print(advise_files.save(where, question), file=sys.stderr if as_json else None, flush=True)
    if question is None:
        return EXIT_DONE
    if not quick and not as_json:
        print(_preface(question), flush=True)
    found = first_record(question) if quick else answer(question).record()
    print(json.dumps(plain(found), ensure_ascii=False) if as_json else text(found))
    return EXIT_DONE if quick or found["certified"] else EXIT_FAILED


def flag(request: Mapping[str, Any], name: str) -> bool:
    """Whether a request says true; InvalidInput if it says anything but true or false."""
    value = request.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInput(name, value, "must be true or false")
    return value


def first_record(question: Any) -> dict[str, Any]:
    """The atlas's answer to a question; InvalidInput, with the reason, where it has none."""
    from pipeline.advice.atlas import NotInAtlas
    from pipeline.advice.first import first

    try:
        return first(question).record()
    except NotInAtlas as error:
        raise InvalidInput("quick", True, f"no first answer from the atlas: {error}; without quick it is simulated"
                           ) from None


def _preface(question: Any) -> str:
    """The first answer in two lines, or in one why there is none."""
    from pipeline.advice.atlas import NotInAtlas
    from pipeline.advice.first import first

    try:
        heading, interval, source, *_ = _lines(first(question).record())
    except NotInAtlas as error:
        return f"no first answer from the atlas: {error}; simulating\n"
    return f"{heading}\n{interval}\n{source}; simulating, for a certificate\n"


def plain(value: Any) -> Any:
    """A value as strict JSON has it: null for what is not finite."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def text(record: Mapping[str, Any]) -> str:
    """The answer in words."""
    return "\n".join(_lines(record))


def _lines(record: Mapping[str, Any]) -> Iterator[str]:
    word, share = record["unknown"], "at least" if record["better"] == "more" else "at most"
    named = f" ({record['parameter']})" if record["parameter"] != word else ""
    targets = ", ".join(f"{one['metric']} {one['relation']} {one['value']:g}" for one in record["target"])
    yield f"{record['problem']}: {word}{named} {share} {record['value']:,g}, for {targets}"
    interval = "95 % interval" if record["source"] == "simulation" else "band"
    yield f"  the targets begin to be met at {record['boundary']:,.4g}, {interval} {_ends(record)}"
    yield from _atlas(record) if record["source"] == "atlas" else _certificate(record)
    yield from _privacy(record)
    for name, means in record.get("beside", {}).items():
        yield f"  {BESIDE[name]}: " + ", ".join(f"{one['metric']} = {one['mean']:.4g} [{one['low']:.4g}, "
                                                f"{one['high']:.4g}]" for one in means)
    if record.get("stress"):
        yield "  if people are not as the model says:"
        yield from table((f"  {one['case']}", one["why"] or ", ".join(map(_missed, one["measured"])))
                         for one in record["stress"])
    if len(record["mechanisms"]) > 1:
        yield f"  {word} by mechanism, where the targets begin to be met:"
        yield from table((f"  {one['mechanism']}", one["why"] or f"{one['boundary']:,.4g} {_ends(one)} with "
                          f"{one['estimator']}") for one in record["mechanisms"])
    yield "  with " + ", ".join(f"{name}={one}" for name, one in record["given"].items() if one is not None)


def _ends(found: Mapping[str, Any]) -> str:
    """An interval; "…" where an end lies outside of the atlas."""
    return "[{}, {}]".format(*("…" if found[end] is None else f"{found[end]:,.4g}" for end in ("low", "high")))


def _atlas(record: Mapping[str, Any]) -> Iterator[str]:
    """That an answer is none of this very question, and the means there."""
    yield "  from the atlas, NOT certified: between cells that were simulated in advance"
    for one in record["measured"]:
        yield f"    {one['metric']} = {one['mean']:.4g} {_ends(one)} in the mean"


def _certificate(record: Mapping[str, Any]) -> Iterator[str]:
    """Whether the targets were shown to be met, and the means."""
    confidence = f"{100 * record['confidence']:g} %"
    yield (f"  certified with {confidence} confidence" if record["certified"] else
           f"  NOT certified: not shown with {confidence} confidence"
           ) + f" by {record['replications']:,} fresh replications:"
    for one in record["measured"]:
        yield (f"    {one['metric']} = {one['mean']:.4g} {_ends(one)} in the mean; a single run meets its target with "
               f"probability {one['share_of_runs_met']:.2g}")
    if record["not_converged"]:
        yield f"    {100 * record['not_converged']:.2g} % of the estimates did not converge; they are counted"


def _missed(found: Mapping[str, Any]) -> str:
    """A mean, and by how much it misses its target."""
    missed = f"misses its target by {found['missed_by']:.2g}" if found["missed_by"] else "meets its target"
    return f"{found['metric']} = {found['mean']:.4g} [{found['low']:.4g}, {found['high']:.4g}], {missed}"


def _privacy(record: Mapping[str, Any]) -> Iterator[str]:
    """What the mechanism promises, and what that means for a person."""
    yield "  privacy: " + "; ".join([record["budget"], *(f"{name}: {one:.4g} nats"
                                                         for name, one in record["spent"].items())])
    yield f"    unit: {record['unit']}; neighbours: {record['neighbours']}"
    for what, one in record["in_a_persons_terms"].items():
        if one is None:
            continue
        budget = f"{one['budget']:.4g} nats" + (f" at δ = {one['delta']:g}" if one["delta"] else "")
        odds = f"odds change by {one['odds']:.4g} at most, " if one["odds"] and one["odds"] < 1e6 else ""
        found = " and ".join(f"{100 * a['true_alarms']:.3g} % at {100 * a['false_alarms']:g} %"
                             for a in one["attacker"])
        yield (f"    {'one answer' if what == 'answer' else 'all that a person gives'}: {budget}; {odds}the best attack"
               f"{'' if one['exact'] else ', at most,'} finds {found} of false alarms")
