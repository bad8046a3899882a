"""Ways to keep a promise to a person: whom to trust, which mechanism, how many questions each.

For every kind of trust the way that needs least of the unknown is found and certified. How much is
needed is a function of the number of questions that has one least value: it falls up to there and
rises beyond. So numbers are tried in steps that double, from the end at which the kind of trust has
its least value, and then between the best and its neighbours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.advice.certificate import Certificate, certify
from pipeline.advice.levels import narrowed
from pipeline.advice.numbers import is_about_numbers, side_of_all, towards
from pipeline.advice.question import Question
from pipeline.advice.reached import Nowhere, Reached, Rough
from pipeline.advice.risk import Risk
from pipeline.advice.risk_budgets import DIGITS, largest_budget, power
from pipeline.advice.search import precisely, roughly
from pipeline.advice.simulation import Simulator
from pipeline.study.advice import Plan
from pipeline.study.guarantee import CURATOR, TRUSTS
from pipeline.study.parameters import InvalidInput, fields

WORSE = math.log(1.15)  # from which on another number of questions is surely worse
CLOSE = 3  # of the best numbers of questions, which are looked at longer
ENOUGH = 2  # numbers of questions in turn that are surely worse, after which no more are tried


@dataclass(frozen=True)
class Way:
    """A plan with a number of questions, and where its targets begin to be met.

    questions: of each person; None where that is given, asked for, or no parameter of the plan.
    rough: None where the targets are met nowhere, everywhere, or the parts cannot be made; then
    `why` says so, and `nowhere` or `error` holds the reason.
    """

    plan: Plan
    questions: int | None
    simulator: Simulator | None = None
    rough: Rough | None = None
    precise: Reached | None = None
    why: str = ""
    nowhere: Nowhere | None = None
    error: InvalidInput | None = None

    @property
    def everywhere(self) -> bool:
        """Whether the targets are met at every level."""
        return self.nowhere is not None and self.nowhere.met

    @property
    def is_rough(self) -> bool:
        """Whether it may be looked at longer."""
        return self.rough is not None and self.precise is None and self.simulator is not None

    @property
    def reached(self) -> Reached | None:
        """Where the targets begin to be met, as precisely as that is known; None where nowhere."""
        if self.precise is not None or self.rough is None:
            return self.precise
        return self.rough.reached

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        return str(self.plan.parameters["mechanism"])

    @property
    def reach(self) -> float:
        """How far along the unknown the targets are met; infinite where everywhere, −∞ nowhere."""
        if self.everywhere:
            return math.inf
        if self.reached is None:
            return -math.inf
        return self.reached.axis.reach(self.reached.value)

    @property
    def boundary(self) -> float | None:
        """Where the targets are just met, as the person names the unknown; None where nowhere."""
        if self.reached is None:
            return None
        axis = self.reached.axis
        level = math.exp(axis.better * self.reached.value)
        return axis.question.shown(float(f"{level:.6g}"))


@dataclass(frozen=True)
class Certified:
    """The best way of a kind of trust, certified.

    all_questions: the same mechanism with all questions; None where their number is given, or the
    mechanism has none. others: the best ways of other mechanisms of this kind of trust.
    """

    way: Way
    certificate: Certificate
    all_questions: Way | None
    others: tuple[Way, ...]

    @property
    def reach(self) -> float:
        """How far along the unknown the targets are certified to be met."""
        assert self.way.reached is not None
        axis = self.way.reached.axis
        return axis.reach(axis.position(self.level))

    @property
    def question(self) -> Question:
        """The question in which the way is chosen, and the unknown is left."""
        assert self.way.simulator is not None
        return self.way.simulator.question

    @property
    def level(self) -> float:
        """The certified level of the unknown."""
        return self.certificate.level

    @property
    def value(self) -> float:
        """The certified level as the person names the unknown."""
        return self.question.shown(self.level)


@dataclass
class _Search:
    """The numbers of questions of one plan that were tried, each once.

    every: how many questions there are in all; None where a plan asks fewer by default.
    """

    question: Question
    plan: Plan
    portion: float
    every: int | None = None
    tried: dict[int | None, Way] = field(default_factory=dict)

    def at(self, questions: int | None) -> Way:
        """What is found with so many questions."""
        if questions not in self.tried:
            self.tried[questions] = self._find(questions)
        return self.tried[questions]

    def _find(self, questions: int | None) -> Way:
        simulator = None
        try:
            simulator = Simulator(with_plan(self.question, self.plan, questions))
            simulator.portion = self.portion
            return Way(self.plan, questions, simulator, roughly(simulator))
        except Nowhere as nowhere:
            why = self.why(nowhere)
            return Way(self.plan, questions, simulator, why=why, nowhere=nowhere)
        except InvalidInput as error:
            why = f"cannot be used here: {error}"
            return Way(self.plan, questions, why=why, error=error)

    def best(self) -> Way:
        """The best of those that were tried."""
        return max(self.tried.values(), key=lambda way: way.reach)

    def look_closer(self) -> None:
        """Look longer at the best ones, of which a few replications do not tell which is best.

        Until one is the best that was looked at for long: the best of many rough estimates is too
        good.
        """
        looked = 0
        while True:
            best = self.best()
            near = [way for way in self.tried.values() if way.reach >= best.reach - WORSE]
            unsure = [way for way in near if way.is_rough]
            if not unsure or (looked >= CLOSE and not best.is_rough):
                return
            way = max(unsure, key=lambda candidate: candidate.reach)
            self.tried[way.questions] = self._looked_at(way)
            looked += 1

    def face(self, better: int) -> None:
        """Advise the fewest questions (1) or the most (−1), where their number is the unknown."""
        for asked, way in self.tried.items():
            if way.simulator is None or way.reached is None or way.reached.axis.better == better:
                continue
            turned = towards(way.simulator, way.reached, better)
            if way.precise is not None:
                self.tried[asked] = replace(way, precise=turned)
            elif way.rough is not None:
                self.tried[asked] = replace(way, rough=way.rough._replace(reached=turned))

    def _looked_at(self, way: Way) -> Way:
        """A way after a longer look, which may tell that it reaches the targets nowhere."""
        assert way.rough is not None and way.simulator is not None
        try:
            return replace(way, precise=precisely(way.simulator, way.rough))
        except Nowhere as nowhere:
            return replace(way, rough=None, nowhere=nowhere, why=self.why(nowhere))

    def why(self, nowhere: Nowhere) -> str:
        """Why there is no value, in words."""
        level = self.question.level_name
        if nowhere.met:
            return f"meets the targets at every {level}"
        return f"meets the targets at no {level}{_best_number(self.question, nowhere)}"


def _best_number(question: Question, nowhere: Nowhere) -> str:
    """Which number of questions is the best of those that miss the targets, if that is asked."""
    if not is_about_numbers(question):
        return ""
    return f"; {nowhere.last:g} would be the best"


def with_plan(question: Question, plan: Plan, questions: int | None) -> Question:
    """The question with a plan, and a number of questions that each person is asked.

    InvalidInput where the parts cannot be made.
    """
    changes: dict[str, Any] = dict(plan.parameters)
    name = question.advice.parameter_of("questions")
    if questions is not None and name:
        changes[name] = questions
    names = question.chosen | (changes.keys() & {"estimator"})
    changed = replace(question, values={**question.values, **changes}, chosen=names)
    mechanism = str(plan.parameters["mechanism"])
    planned = changed.using(mechanism)
    if not planned.has_unknown:
        allowed = f"mechanism={mechanism} has no {planned.parameter}; ask for another unknown"
        raise InvalidInput("unknown", planned.word, allowed)
    _ = planned.limits  # raises InvalidInput
    if question.risk is None:
        return planned
    return _within_risk(planned, question.risk)


def _within_risk(planned: Question, risk: Risk) -> Question:
    """The question with the largest budget that keeps a risk at the lowest level of the unknown; or
    with its own, at the levels of the unknown at which that keeps it.

    InvalidInput where none does.
    """
    name = planned.advice.parameter_of("person")
    if planned.parameter == name:
        return planned
    if planned.person_from_risk:
        largest = largest_budget(planned, risk)
        if largest == 0:
            raise InvalidInput("risk", risk, "no budget of a person keeps it")
        return replace(planned, values={**planned.values, name: largest})
    if planned.word not in ("items", "questions"):
        refused = _broken(planned, risk, planned.limits.low)
        if refused is not None:
            raise refused
        return planned
    narrower = narrowed(planned.limits, planned.whole, lambda level: _broken(planned, risk, level))
    return replace(planned, within=narrower)


def _broken(planned: Question, risk: Risk, level: float) -> InvalidInput | None:
    """That a person's budget breaks a risk at a level of the unknown; None where it keeps it."""
    name = planned.advice.parameter_of("person")
    person = planned.values[name]
    chance = power(planned, risk, person, level)
    if chance <= risk.most:
        return None
    where = ""
    if planned.word in ("items", "questions"):  # of which more tell less of each
        where = f" with {planned.word}={level:g}"
    largest = largest_budget(planned, risk, level)
    return InvalidInput(
        "risk",
        risk,
        f"at {name}={person:g} the best attack has {chance:.3g} true alarms{where}; {name} may "
        f"be {largest:.{DIGITS}g} at most",
    )


def budget_remark(planned: Question) -> str:
    """At how many items or questions a risk allows the budget, where they are asked for; or ""."""
    if not planned.person_from_risk or planned.word not in ("items", "questions"):
        return ""
    name = planned.advice.parameter_of("person")
    return (
        f"Its budget of {planned.values[name]:.{DIGITS}g} nats is the largest that keeps the risk "
        f"with {planned.word}={planned.limits.low:g}, the fewest; with more, a larger one may "
        "keep it."
    )


def certified_ways(question: Question) -> list[Certified | Way]:
    """The best way of every kind of trust, the one that needs least first.

    Certified where the targets begin to be met somewhere; else a `Way` that says why not.
    """
    plans = plans_of(question)
    by_trust: dict[str, list[Plan]] = {}
    for plan in plans:
        by_trust.setdefault(plan.trust, []).append(plan)
    ways = []
    for trusted in by_trust.values():
        searches = [_searched(question, plan, 1 / len(plans)) for plan in trusted]
        ways.append(_certified(searches))
    return sorted(ways, key=_needed)


def _needed(row: Certified | Way) -> tuple[bool, float]:
    """In what order ways are shown: what is not certified last, what needs least first."""
    fails = isinstance(row, Certified) and not row.certificate.targets_shown
    return fails, -row.reach


def plans_of(question: Question) -> Sequence[Plan]:
    """The plans of the problem that fit what the person chose."""
    plans = []
    for plan in question.advice.plans:
        mechanism = plan.parameters["mechanism"]
        named = "mechanism" in question.chosen
        if named and question.values["mechanism"] != mechanism:
            continue
        estimator = plan.parameters.get("estimator")
        if "estimator" in question.chosen and estimator not in (None, question.values["estimator"]):
            continue
        wanted = question.trust in ("", plan.trust)
        if wanted and question.fits(str(mechanism)):
            plans.append(plan)
    return plans


def most_questions(question: Question, plan: Plan) -> int | None:
    """How many questions a person can be asked; None where the plan has no such parameter.

    InvalidInput where the plan's parts cannot be made.
    """
    planned = with_plan(question, plan, None)
    name = planned.advice.parameter_of("questions")
    parts = planned.parts(planned.limits.low)
    if not any(name in fields(type(part)) for part in (parts.model, parts.mechanism)):
        return None
    level = planned.advice.unknowns[planned.word].start
    values = {**planned.values, planned.parameter: level}
    values.pop(name, None)
    return int(replace(planned, word="questions", values=values, within=None).limits.high)


def answers_by_default(question: Question, plan: Plan) -> int | None:
    """How many answers a person gives where no number is said; None where nobody says."""
    planned = with_plan(question, plan, None)
    answers: int | None = planned.parts(planned.limits.low).mechanism.promise().answers
    return answers


def _searched(question: Question, plan: Plan, portion: float) -> _Search:
    """A search over the numbers of questions of a plan."""
    search = _Search(question, plan, portion)
    name = question.advice.parameter_of("questions")
    if not name or name in question.chosen or question.parameter == name:
        search.at(None)
        return search
    try:
        most = most_questions(question, plan)
    except InvalidInput as error:
        search.tried[None] = Way(plan, None, why=f"cannot be used here: {error}", error=error)
        return search
    if most is None:
        search.at(None)
        return search
    if question.parameter == question.advice.parameter_of("items"):
        search.at(None)  # all questions, which are more where there are more items
    _try_steps(search, most)
    _try_between(search)
    if answers_by_default(question, plan) == most:
        search.every = most
        search.at(most)
    return search


def _try_steps(search: _Search, most: int) -> None:
    """Try numbers in steps that double, until enough of them are surely worse."""
    steps = [1 << k for k in range(most.bit_length()) if 1 << k < most]
    steps.append(most)
    if search.plan.trust == CURATOR:  # whose error falls with the number of questions
        steps.reverse()
    worse = 0
    for number in steps:
        way = search.at(number)
        best = search.best()
        is_worse = math.isfinite(best.reach) and way.reach < best.reach - WORSE
        worse = worse + 1 if is_worse else 0
        if worse == ENOUGH:
            break


def _try_between(search: _Search) -> None:
    """Try the numbers in the middle between the best one and those tried next to it."""
    best = search.best().questions
    numbers = sorted(number for number in search.tried if number is not None)
    if best is None:
        return
    below = [number for number in numbers if number < best][-1:]
    above = [number for number in numbers if number > best][:1]
    for other in (*below, *above):
        search.at(round(math.sqrt(best * other)))


def _face_one_way(searches: Sequence[_Search]) -> None:
    """Let all plans of one kind of trust advise the fewest questions, or all of them the most.

    This is for a number of questions that is the unknown. If one plan advised the fewest and
    another the most, their numbers could not be compared.
    """
    every = [way.reached for search in searches for way in search.tried.values()]
    about_numbers = [reached for reached in every if reached is not None and reached.numbers]
    sides = {reached.axis.better for reached in about_numbers}
    if len(sides) < 2:
        return
    better = side_of_all(about_numbers)
    for search in searches:
        search.face(better)


def _certified(searches: Sequence[_Search]) -> Certified | Way:
    """The best way of several plans of one kind of trust, certified where there is one."""
    _face_one_way(searches)
    search = max(searches, key=lambda candidate: candidate.best().reach)
    while search.best().is_rough:
        search.look_closer()
        _face_one_way(searches)
        search = max(searches, key=lambda candidate: candidate.best().reach)
    way = search.best()
    if way.reached is None or way.simulator is None:
        return way
    simulator = replace(way.simulator, portion=1 / len(TRUSTS))
    certificate = certify(simulator, way.reached)
    if is_about_numbers(search.question) and certificate.misses:
        nowhere = Nowhere(False, certificate.level)
        return replace(way, rough=None, precise=None, nowhere=nowhere, why=search.why(nowhere))
    everything = None if search.every is None else search.tried[search.every]
    others = tuple(other.best() for other in searches if other is not search)
    return Certified(replace(way, simulator=simulator), certificate, everything, others)
