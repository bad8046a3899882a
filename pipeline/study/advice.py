"""What `task=advise` has to know of a problem: what may be asked for, and what is taken where
nothing is said.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.study.untyped import ParameterValues


@dataclass(frozen=True)
class Unknown:
    """A parameter that a person may ask for. parameter: its name in the problem's parts.

    meaning: in words.

    helps: whether learning is easier the more there is of it; None where that
    depends. low, high: where it is looked for; start: where, if no theory
    predicts it. left: the word means 1 − parameter, such as the share of
    answers that are missing where the parameter is the share that is given.
    """

    parameter: str
    meaning: str
    low: float
    high: float
    start: float
    helps: bool | None = True
    left: bool = False


@dataclass(frozen=True)
class AtlasGrid:
    """Cells of a problem that are solved in advance, for a first answer in seconds.

    See `pipeline.advice.atlas`.

    axes: parameter -> levels, ascending, two at least; the last one is that of
    ε. A mechanism has cells along those that its parts take. mechanisms,
    metrics: names. parameters: values of others that have no default, or are to
    differ from it. halves: a parameter of metrics -> the axis of which it is
    half, rounded down, in every cell. all_questions: mechanisms in whose cells
    everybody is asked everything, so that these have no axis of questions.

    >>> AtlasGrid({"n": (10, 100), "epsilon": (0.1, 1, 10)}, ("laplace",), ("error",)).metrics
    ('error',)
    """

    axes: Mapping[str, tuple[float, ...]]
    mechanisms: tuple[str, ...]
    metrics: tuple[str, ...]
    parameters: ParameterValues = field(default_factory=dict)
    halves: Mapping[str, str] = field(default_factory=dict)
    all_questions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A way to keep a person's promise. parameters: the mechanism, and what makes it this way.

    trust: who must be trusted then, one of `pipeline.study.guarantee.TRUSTS`.

    >>> Plan("nobody", {"mechanism": "randomized_response"}).trust
    'nobody'
    """

    trust: str
    parameters: ParameterValues


def _no_survey(model: object, mechanism: object) -> str:
    """Of a problem that says nothing of what people are asked."""
    return ""


@dataclass(frozen=True)
class Advice:
    """How a problem takes part in `task=advise`.

    Its parts' own names and declarations say everything else.

    unknowns: word that is the same in all problems (epsilon, people, items,
    questions, missing) -> `Unknown`, epsilon first. parameters: values of
    parameters that a person need not give, among them the model and the
    mechanism. estimators: by preference; the first one that takes a mechanism's
    release is used. recorded, derive: parameters in place of these, and
    derivations that give others, where `data.path` is given. predicted: metric
    -> function of parameters, by their names, that predicts its mean. stress:
    function of the model -> case in words -> changes of parameters; how people
    may differ from the model, to see by how much an advice then misses its
    targets. atlas: what is solved in advance, if anything; promises: the same
    in budgets of persons, the last axis, with mechanisms of plans. decisions: metrics
    that decide something, the most important first -> what their mean is, in
    words that follow "the". needed: parameters that a person must give where a
    target's metric takes them, though they have a default. survey: function of
    the model and the mechanism -> one sentence, without a full stop: how many
    people are asked what, and who makes it private. plans: ways to keep the promise
    to a person, among which the one that needs least is advised for each kind of
    trust. answers: what people answer, in words; a problem without them is not offered to who
    begins a study of their own.

    >>> Advice({"epsilon": Unknown("epsilon", "budget of one answer", 1e-3, 20, 1.0)}, {"model": "answers"}, ("mean",))
    ... # doctest: +ELLIPSIS
    Advice(unknowns={'epsilon': ...
    """

    unknowns: Mapping[str, Unknown]
    parameters: ParameterValues
    estimators: tuple[str, ...]
    recorded: Mapping[str, Any] = field(default_factory=dict)
    derive: Mapping[str, str] = field(default_factory=dict)
    predicted: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    stress: Callable[[Any], Mapping[str, Mapping[str, Any]]] = lambda model: {}
    atlas: AtlasGrid | None = None
    promises: AtlasGrid | None = None
    decisions: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    survey: Callable[[Any, Any], str] = _no_survey
    plans: tuple[Plan, ...] = ()
    answers: str = ""

    def parameter_of(self, word: str) -> str:
        """Name of the parameter of a word; empty where the problem has no such word."""
        if word not in self.unknowns:
            return ""
        return self.unknowns[word].parameter
