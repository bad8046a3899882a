"""The answer to a question, or the reason why there is none, in one line."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipeline.advice.beside import beside, stressed
from pipeline.advice.certificate import ERROR, Certificate, certify, measure
from pipeline.advice.person import terms
from pipeline.advice.question import Question, read
from pipeline.advice.search import LOOK, Found, Nowhere, bracket, find
from pipeline.advice.simulation import STEPS, Simulator
from pipeline.study.parameters import DataFile, InvalidInput, fields, shorten

CHECKED = 400  # replications that a refusal is measured with


@dataclass(frozen=True)
class Answer:
    """What is advised. value: of the unknown, as the person names it, at which the targets were certified; low, high:
    95 % interval of where they begin to be met, and boundary, its estimate; better: whether larger values are better.
    """

    question: Question
    value: float
    boundary: float
    low: float
    high: float
    better: str
    certificate: Certificate
    beside: Mapping[str, Any]
    stress: tuple[Mapping[str, Any], ...] = ()
    others: tuple[Mapping[str, Any], ...] = ()

    @property
    def certified(self) -> bool:
        """Whether fresh replications showed, with 95 % confidence, that all targets are met."""
        return self.certificate.given

    def record(self) -> dict[str, Any]:
        """The answer as one object of JSON; see docs/advise.md."""
        return {
            **about(self.question, self.certificate.level), "value": self.value, "low": self.low, "high": self.high,
            "boundary": self.boundary, "better": self.better, "source": "simulation", "certified": self.certified,
            "confidence": 1 - ERROR, "measured": [one.record() for one in self.certificate.measured],
            "replications": self.certificate.replications, "not_converged": self.certificate.not_converged,
            "beside": dict(self.beside), "stress": list(self.stress), "mechanisms": list(self.others),
        }


def about(asked: Question, level: float) -> dict[str, Any]:
    """What any answer says of its question, and of the mechanism's promise at a level of the unknown; for JSON."""
    mechanism = asked.parts(level).mechanism
    means = terms(mechanism)
    return {
        "problem": asked.problem.name, "unknown": asked.word, "parameter": asked.parameter,
        "target": [{"metric": one.metric, "relation": one.relation, "value": one.value} for one in asked.targets],
        "given": {name: str(one) if isinstance(one, DataFile) else one for name, one in sorted(asked.values.items())},
        "budget": mechanism.budget, "unit": mechanism.unit, "neighbours": mechanism.neighbours,
        "spent": {name: float(one) for name, one in getattr(mechanism, "spent", dict)().items()},
        **{f"budget_per_{what}": one and one["budget"] for what, one in means.items()},
        "in_a_persons_terms": means, "seed": asked.seed,
    }


def answer(request: Mapping[str, Any] | Question) -> Answer:
    """The answer to a question, or a request as `question.read` takes it; the same one gives the same, to the last bit.

    Raises InvalidInput, in one line, for every mistake, and where no value of the unknown, or each, meets the targets.
    """
    question = request if isinstance(request, Question) else read(request)
    try:
        return _answer(question)
    except MemoryError as error:
        raise InvalidInput("problem", question.problem.name, f"takes more memory than there is here ({error}); ask for "
                           "smaller sizes") from None


def _answer(question: Question) -> Answer:
    simulator, found, others = choose(question)
    question = simulator.question
    certificate = certify(simulator, found)
    low, boundary, high = found.shown()
    larger = (found.axis.better > 0) != question.unknown.left
    return Answer(question, question.shown(certificate.level), boundary, low, high, "more" if larger else "less",
                  certificate, beside(simulator, certificate.level), tuple(stressed(simulator, certificate.level)),
                  tuple(others))


def choose(question: Question) -> tuple[Simulator, Found, list[dict[str, Any]]]:
    """The mechanism that needs least, where its targets begin to be met, and what was found of each that fits.

    Only the one that the person named, if any; else all of the problem that have a budget. InvalidInput where none
    meets the targets: why the problem's first one does not.
    """
    epsilon = question.advice.unknowns.get("epsilon")
    names = [question.values["mechanism"]]
    if "mechanism" not in question.chosen and epsilon is not None:
        names += [name for name in sorted(question.problem.mechanisms) if name not in names
                  and epsilon.parameter in fields(question.problem.part("mechanism", name))]
    best, rows, refused = None, list[dict[str, Any]](), None
    for name in names:
        try:
            simulator = Simulator(question if name == names[0] else question.using(name), portion=1 / len(names))
            found = find(simulator)
        except Nowhere as nowhere:
            if nowhere.met and name == names[0]:  # a guess does as well
                raise _refusal(simulator, nowhere) from None
            why = "meets the targets everywhere" if nowhere.met else "does not reach the targets"
            refused = refused or (simulator, nowhere)
        except InvalidInput as error:
            if name == names[0]:
                raise
            why = str(error)
        else:
            asked = simulator.question
            low, value, high = found.shown()
            rows.append({"mechanism": name, "estimator": asked.values["estimator"], "boundary": value, "low": low,
                         "high": high, "why": None})
            if best is None or found.axis.better * found.value < best[1].axis.better * best[1].value:
                best = simulator, found
            continue
        rows.append({"mechanism": name, "estimator": None, "boundary": None, "low": None, "high": None, "why": why})
    if best is None:
        if refused is None:
            raise InvalidInput("mechanism", names[0], "no mechanism of the problem fits")
        raise _refusal(*refused)
    simulator, found = best
    return replace(simulator, portion=1.0), found, rows


def _refusal(simulator: Simulator, nowhere: Nowhere) -> InvalidInput:
    """Why no value of the unknown can be advised."""
    question, unknown = simulator.question, simulator.question.unknown
    targets, last = ", ".join(map(str, question.targets)), question.shown(nowhere.last)
    there = measure(simulator, nowhere.last, min(CHECKED, simulator.affordable(nowhere.last, 0.05)))
    means = ", ".join(f"{one.target.metric} = {one.mean:.3g}" for one in there.measured)
    at = f"{means} at {question.word} = {last:g}"
    if unknown.helps is not None and (wrong := _wrong(simulator, there, nowhere)):
        return InvalidInput("target", targets, wrong)
    if nowhere.met:
        why = (f"a guess does as well: {at}; give a harder target" if question.word == "epsilon" else
               f"it is met at every {question.word} that was tried: {at}; give a harder target, or ask for another "
               "unknown")
        return InvalidInput("target", targets, f"is met already, {why}")
    limit = shorten(nowhere.why.partition(";")[0], 120)
    why = (f"is not reached at any {question.word} that can be simulated: {at}; the next {limit}" if limit else
           f"is out of reach at any {question.word}: {at}")
    return InvalidInput("target", targets, why + _instead(question, nowhere.last))


def _wrong(simulator: Simulator, there: Certificate, nowhere: Nowhere) -> str | None:
    """That a target has the wrong direction: it is met where least is learned, and not where most is."""
    question, unknown = simulator.question, simulator.question.unknown
    other = unknown.high if bool(unknown.helps) == nowhere.met else unknown.low
    level = max(1, round(other)) if question.whole else other
    try:
        if simulator.cost(level) * LOOK > STEPS / 10:
            return None
        end = measure(simulator, level, LOOK)
    except InvalidInput:
        return None
    least, most = (there, end) if nowhere.met else (end, there)
    for worst, best in zip(least.measured, most.measured, strict=True):
        target = worst.target
        if target.sign * (worst.mean - target.value) <= 0 < target.sign * (best.mean - target.value):
            turned = ">=" if target.relation == "<=" else "<="
            return (f"has the wrong direction: {target.metric} = {worst.mean:.3g} at {question.word} = "
                    f"{question.shown(least.level):g}, where least is learned; write {target.metric}{turned}…")
    return None


def _instead(question: Question, level: float) -> str:
    """What would reach the target: how many people, if the problem knows of them and that can be simulated."""
    people = question.advice.unknowns.get("people")
    if people is None or question.word == "people" or people.parameter not in question.values:
        return ""
    values = {name: one for name, one in question.values.items() if name != people.parameter}
    other = Question(question.problem, "people", question.targets, {**values, question.parameter: level}, {},
                     question.seed)
    try:
        axis, worse, better = bracket(Simulator(other))
    except (Nowhere, InvalidInput):
        return "; no number of people that can be simulated here reaches it either"
    needed = axis.level((axis.position(worse) + axis.position(better)) / 2)
    return f"; about {people.parameter}={float(f'{needed:.1e}'):,.0f} people would reach it there"
