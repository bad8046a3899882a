"""Integer noise on counts of pairs of items: discrete Gaussian and discrete Laplace."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pipeline.privacy import accounting, gaussian_account
from pipeline.privacy.attacks import Bound
from pipeline.privacy.budgeted_noise import CONVERSIONS, BudgetedNoise, GaussianNoise, LaplaceNoise
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.curator_sums import noise_budget, noise_within
from pipeline.problems.common.person import PERSON_DELTA, ROUNDS, over_noise
from pipeline.study.arrays import Booleans, Integers
from pipeline.study.disclosure import Attack
from pipeline.study.guarantee import CURATOR, ONE_PERSON, THERE_OR_NOT, Guarantee
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMechanism

from ..model import Responses
from ..questions import (
    EPSILON_USER,
    PERSON,
    QUESTIONS,
    WORDS,
    budget_of_person,
    check_charge,
    check_pairs,
)
from ..releases import Differences, Published
from ..sampling.pair_counts import slices, weighted_differences
from ..sampling.surveys import thinned
from ..theory.connectivity import connected
from ..theory.cuts import EXACT
from ..theory.sensitivity import (
    CALIBRATIONS,
    ROWS,
    charged_sensitivity,
    named_sensitivity,
    released_entries,
    squared_sensitivity,
)
from .public_graph import TRIES, random_graphs

ROW = Guarantee(
    trust=CURATOR,
    unit=ONE_PERSON,
    protects="all responses of one person, and which of them are missing",
    neighbours="one person's row replaced by another",
    public="the number of persons, the pairs of items that are released, the law of the noise",
    budget="differential privacy for all responses of a person",
    composition="all responses of a person are changed at once",
)


@dataclass(frozen=True)
class NoisyDifferences(BaseMechanism, ABC):
    """Noise on every released entry of Y, whatever the data are.

    On the edges of a public random graph if p0 < 1. n is released
    and not protected: a person who is absent leaves a row without
    answers, which n counts. Who answered what is protected like
    the answers: `publish` has nothing of it. Whether it links the
    items is lent by the simulation, `Differences.linked`, outside
    of the budget. Public: n, the graph, the variance of the
    noise. Off the graph, and on the diagonal, released counts are
    0. calibration: `paper` charges 1 for every released entry
    (Lemma 4.1 of Nguyen and Zhang, corrected), `tight` the exact
    sensitivity of a person's row, half or a quarter of that; each
    graph is charged by itself. A person answers k = `questions`
    items at most: then the exact sensitivity is 2⌊k²/4⌋, or half
    of that, see `theory.sensitivity`.

    A law of noise has one parameter, its variance or its scale,
    which follows from the budget and the sensitivity. Of several
    `rounds` each has an equal part of the budget.
    """

    m: int = parameter("items", unit="items", low=2)
    epsilon_user: float | None = EPSILON_USER
    calibration: str = parameter(
        "sensitivity that is charged", default="tight", choices=CALIBRATIONS
    )
    neighbours_are: str = parameter(
        "what a person may change: the row replaced, or there or not",
        default="replace_one",
        choices=tuple(ROWS),
    )
    p0: float = parameter(
        "edge probability of the public graph; 1 releases all pairs", default=1.0, above=0, high=1
    )
    questions: int | None = QUESTIONS
    person: float | None = PERSON
    rounds: int = ROUNDS

    guarantee: ClassVar[Guarantee] = ROW
    accepts: ClassVar[type] = Responses
    releases: ClassVar[type] = Differences

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_budget()
        _ = self.answers  # raises InvalidInput
        charge = self._charged()
        budget = self.person_epsilon
        self.noise.checked_width(self._budget_key, budget, charge, f" at m={self.m}")

    def check_budget(self) -> None:
        """Raise InvalidInput where the budget has no ρ, of noise that has one."""
        noise = self.noise
        if isinstance(noise, GaussianNoise):
            check_rho(noise, self._budget_key)

    @property
    def person_epsilon(self) -> float:
        """Budget of all responses of a person, nats."""
        return budget_of_person(self.epsilon_user, self.person)

    @property
    def _budget_key(self) -> str:
        """The name by which that budget was given."""
        return "person" if self.epsilon_user is None else "epsilon_user"

    @property
    def answers(self) -> int:
        """Items that each person answers, k, at most."""
        return check_pairs(self.questions, self.m, "noise on counts of pairs")

    @property
    @abstractmethod
    def noise(self) -> BudgetedNoise:
        """Law of the noise on every released entry, and what it spends."""

    def stated(self) -> Guarantee:
        """A row replaced by another, or by one without answers."""
        stated = over_noise(self.guarantee, self.rounds, self.noise.measure)
        if self.neighbours_are == "replace_one":
            return stated
        return replace(
            stated,
            relation=THERE_OR_NOT,
            neighbours="one person's row replaced by one without answers, or the reverse",
        )

    def promise(self) -> Guarantee:
        """The guarantee in numbers, with ρ where the noise is Gaussian."""
        noise = self.noise
        is_gaussian = isinstance(noise, GaussianNoise)
        rho = self.used * noise.budget * self.rounds if is_gaussian else None
        return replace(super().promise(), rho=rho, answers=self.answers)

    def release(self, data: Responses, rng: np.random.Generator) -> Differences:
        """Noisy Y of a block, (reps, m, m) int64.

        A graph without edges releases nothing, of variance 0. O(reps · entries)
        draws. A tight charge of a graph costs O(m³), or O(2^m) for m ≤ 16. Raises
        InvalidInput where persons answered more items than are charged.
        """
        if self.questions is not None:
            check_charge(self.questions, self.answers, data.most_answers or data.items)
        counts = data.differences()
        if self.p0 < 1:
            return self._release_on_graphs(data, rng)
        width = self.noise.width(self._charged())
        noisy = self.noise.draw(rng, width, counts.shape)
        noisy += counts  # which may share memory with the data
        np.einsum("rii->ri", noisy)[...] = 0
        variance = np.full(len(counts), self.noise.variance(width))
        fourth = np.full(len(counts), self.noise.fourth_cumulant(width))
        return Differences(
            noisy,
            data.persons,
            variance,
            linked=data.linked(),
            inclusion=data.inclusion,
            fourth=fourth if fourth.any() else None,
        )

    def _release_on_graphs(self, data: Responses, rng: np.random.Generator) -> Differences:
        """Noise on the edges of a graph for each replication, by the charge of that graph."""
        counts = data.differences()
        reps = len(counts)
        edges = random_graphs(rng, reps, self.m, self.p0)
        has_edges = edges.any(axis=(1, 2))
        charges = np.zeros(reps, int)
        charges[has_edges] = charged_sensitivity(
            self.calibration, self.m, self.neighbours_are, edges[has_edges], self.questions
        )
        noisy = counts * edges
        variance = np.zeros(reps)
        fourth = np.zeros(reps)
        for charge in np.unique(charges[has_edges]).tolist():  # graphs of one charge share a width
            rows = np.flatnonzero(charges == charge)
            width = self.noise.width(charge)
            where = edges[rows]
            drawn = np.zeros(where.shape, np.int64)
            drawn[where] = self.noise.draw(rng, width, int(np.count_nonzero(where)))
            noisy[rows] += drawn
            variance[rows] = self.noise.variance(width)
            fourth[rows] = self.noise.fourth_cumulant(width)
        linked = data.linked(edges)
        tails = fourth if fourth.any() else None
        return Differences(noisy, data.persons, variance, edges, linked, data.inclusion, tails)

    def publish(
        self,
        answers: Booleans,
        observed: Booleans | None,
        persons: Integers | None = None,
        named: bool = False,
    ) -> Published:
        """Y of real people, once, with OpenDP's noise on every released entry; nothing can seed it.

        answers, observed: (rows, m), as in `Responses` without
        replications. persons: (rows,), how many persons a row
        stands for; None is one each. Of each person `questions`
        answers count, drawn at random, or all if they are no
        more. named: whether they are the rows of a file with
        names, of which those are left out that stand in several;
        one row may then take two persons away,
        `named_sensitivity`. The graph, which is public, is drawn
        by NumPy from the system's entropy. What is spent is by
        OpenDP's own map, which rounds up, at the exact
        sensitivity (of a graph of more than 16 items, an upper
        bound). 10 µs an entry. Raises `InvalidInput` if no graph
        drawn connects the items, and without OpenDP.
        """
        graph = self._published_graph()
        edges = ~np.eye(self.m, dtype=bool)
        if graph is not None:
            edges = graph
        plain = self._exact(graph)
        sensitivity = Sensitivity(plain, plain)
        if named:
            sensitivity = named_sensitivity(self.m, self.neighbours_are, graph, self.questions)
        exact = self.noise.charge(sensitivity)
        charge = self._charged(graph) * exact // plain
        counts = self._counted(answers, observed, persons)
        released = self.noise.publish(counts[edges], charge, exact)
        noisy = np.zeros_like(counts)
        noisy[edges] = released.counts
        return Published(noisy, edges, released.noise, charge, sensitivity, released.spent)

    def _counted(
        self, answers: Booleans, observed: Booleans | None, persons: Integers | None
    ) -> Integers:
        """Y of real people, (m, m), of each person `questions` answers, as a study counts them.

        Which ones is drawn for each person, from the system's
        entropy. Whatever is drawn a person changes Y by what is
        charged at most.
        """
        if self.answers == self.m:
            return weighted_differences(answers, observed, persons)
        if observed is None:
            observed = np.ones_like(answers)
        if persons is None:
            persons = np.ones(len(answers), np.int64)
        total = np.zeros((self.m, self.m), np.int64)
        rng = np.random.default_rng()
        last = np.cumsum(persons)
        for _, some in slices(1, int(persons.sum()), self.m):
            person = np.arange(some.start, min(some.stop, int(last[-1])))
            row = np.searchsorted(last, person, side="right")
            counted = thinned(rng, observed[row], self.answers)
            total += weighted_differences(answers[row], counted, None)
        return total

    def _published_graph(self) -> Booleans | None:
        """A connected public graph, (m, m); None where all pairs are released."""
        if self.p0 == 1:
            return None
        graph: Booleans = random_graphs(np.random.default_rng(), 1, self.m, self.p0)[0]
        if not connected(graph[None]).all():
            allowed = f"no graph of {TRIES} connected the {self.m} items; must be larger"
            raise InvalidInput("p0", self.p0, allowed)
        return graph

    @property
    def noise_width(self) -> float:
        """Width of the noise where all pairs are released, see `BudgetedNoise`."""
        return self.noise.width(self._charged())

    def _charged(self, graph: Booleans | None = None) -> int:
        """Sensitivity that the noise is made for, of all pairs or of a graph (m, m)."""
        charged = charged_sensitivity(
            self.calibration, self.m, self.neighbours_are, graph, self.questions
        )
        return int(charged)

    def _exact(self, graph: Booleans | None = None) -> int:
        """What a person's row can change, in L1 and in squared L2, of all pairs or of a graph."""
        return int(squared_sensitivity(self.m, self.neighbours_are, graph, self.questions))

    @property
    def used(self) -> float:
        """Exact sensitivity over the one charged, for the worst graph; below 1 for the paper's."""
        if self.calibration == "tight":
            return 1.0
        if self.p0 < 1:  # a graph may be bipartite: a row can change all its edges
            return ROWS[self.neighbours_are] / 2
        return self._exact() / int(released_entries(self.m))

    def bound(self) -> Bound:
        """What the budget allows any attack on a person."""
        return self.noise.bound()

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one response, and on all of a person.

        A response changes one count less than a person answers
        items, by 1. On public graphs of edge probability below 1
        what the budget allows, as the noise depends on the graph.
        """
        if self.p0 < 1:
            return {"person": self.bound()}
        width = self.noise.width(self._charged())
        return {
            "answer": self.noise.attack(width, self.answers - 1),
            "person": self.noise.attack(width, self._exact() * self.rounds),
        }

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        if self.p0 == 1:
            return 12 * self.m**2
        drawing = 7e5 + (8 + 25 * self.p0) * self.m**2
        if self.calibration != "tight":
            return drawing
        if self.m <= EXACT:
            return drawing + 2.0**self.m
        return drawing + 0.3 * self.m**3

    def memory(self) -> float:
        """Bytes of one replication: counts, in two types of numbers, and noise."""
        return 24 * self.m**2


@dataclass(frozen=True)
class DiscreteGaussian(NoisyDifferences):
    """Discrete Gaussian noise N_Z(0, Δ²/(2ρ)) on pairwise differential measurements.

    ρ-zCDP for a person's row. ρ is that of (ε, δ): `conversion` tight is numerical
    (Canonne, Kamath and Steinke), bun_steinke the closed form ε = ρ + √(4ρ
    log(1/δ)), paper its shortcut ρ = ε²/(4 log(1/δ)), which spends more than ε: see
    `spent`. exact is no conversion but the noise's own law (Balle and Wang): less
    noise than tight, for studies only. Raises `InvalidInput` for budgets so small
    that the noise is wider than 1e9, or beyond the range of numbers.
    Source: Nguyen and Zhang, Algorithm 2 and Lemma 4.1, corrected (variance, not
    standard deviation; noise also where Y is 0).
    """

    delta: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)
    conversion: str = parameter(
        "how ε at δ becomes zCDP", default="tight", choices=tuple(CONVERSIONS)
    )

    guarantee: ClassVar[Guarantee] = replace(
        ROW, budget="ρ-zCDP, hence (ε, δ)-DP, for all responses of a person"
    )

    @property
    def by_replication(self) -> bool:  # type: ignore[override]  # of an object: p0 decides
        """Where all pairs are released.

        Noise on the edges of graphs is drawn for all graphs of
        one charge at once.
        """
        return self.p0 == 1

    def check_budget(self) -> None:
        """Raise InvalidInput where there is no ρ, or none by the noise's own law."""
        epsilon = self.person_epsilon
        if self.conversion == "exact" and epsilon > gaussian_account.LARGEST:
            allowed = f"must be at most {gaussian_account.LARGEST:g} with conversion=exact"
            raise InvalidInput(self._budget_key, epsilon, allowed)
        super().check_budget()

    @property
    def noise(self) -> GaussianNoise:
        """Its law and what it spends."""
        return GaussianNoise(self.person_epsilon, self.delta, self.conversion, self.rounds)

    @property
    def rho(self) -> float:
        """ρ that the noise of all rounds is made for."""
        return self.noise.budget * self.rounds

    @property
    def spent_epsilon(self) -> float:
        """Least ε at δ that is known of a person's responses.

        That of `used` · ρ; or the one asked for, if the
        noise is made for that by its own law.
        """
        by_zcdp = float(accounting.zcdp_epsilon(self.used * self.rho, self.delta))
        if self.conversion == "exact":
            return min(by_zcdp, self.person_epsilon)
        return by_zcdp

    def bound(self) -> Bound:
        """What is really spent allows any attack on a person: more than ε with the paper's ρ."""
        return Bound(self.spent_epsilon, self.delta)

    def promise(self) -> Guarantee:
        """The guarantee in numbers; ε is `spent_epsilon`."""
        return replace(super().promise(), epsilon=self.spent_epsilon)

    def spent(self) -> dict[str, float]:
        """What a person's responses really cost, `used` · ρ.

        ε at δ by the tight conversion and by the closed form.
        """
        rho = self.used * self.rho
        person = f"all responses of a person, ε at δ = {self.delta:g}"
        if self.conversion == "exact":  # at most: where too much is charged it is less
            return {
                f"{person}, by the noise's own law": self.person_epsilon,
                f"{person}, by zCDP": float(accounting.zcdp_epsilon(rho, self.delta)),
                "all responses of a person, zCDP ρ": rho,
            }
        return {
            person: float(accounting.zcdp_epsilon(rho, self.delta)),
            f"{person}, by Bun and Steinke": float(accounting.bun_steinke_epsilon(rho, self.delta)),
            "all responses of a person, zCDP ρ": rho,
        }


@dataclass(frozen=True)
class DiscreteLaplace(NoisyDifferences):
    """Discrete Laplace noise of scale Δ₁/ε on pairwise differential measurements.

    Pure ε-DP for a person's row. Raises `InvalidInput` for
    budgets so small that the noise is wider than 1e9.
    Source: Nguyen and Zhang, supplement, Lemma 4.2 (Ghosh,
    Roughgarden and Sundararajan, 2009).
    """

    guarantee: ClassVar[Guarantee] = replace(ROW, budget="pure ε-DP for all responses of a person")
    by_replication = DiscreteGaussian.by_replication

    def spent(self) -> dict[str, float]:
        """What a person's responses really cost, `used` · ε."""
        return {"all responses of a person": self.used * self.person_epsilon}

    @property
    def noise(self) -> LaplaceNoise:
        """Its law and what it spends."""
        return LaplaceNoise(self.person_epsilon, self.rounds)


@dataclass(frozen=True)
class CuratorDifferences(NoisyDifferences):
    """Pairwise differential measurements with noise, by the budget that all problems have.

    With person_delta = 0 noise is that of `DiscreteLaplace` and the release is pure
    ε-DP; otherwise it is that of `DiscreteGaussian`, ρ-zCDP, and (ε, δ)-DP at δ =
    person_delta.
    Source: Canonne, Kamath and Steinke (2020); Ghosh, Roughgarden and Sundararajan
    (2009).
    """

    person_delta: float = PERSON_DELTA

    guarantee: ClassVar[Guarantee] = replace(
        ROW, budget="ε-DP for all responses of a person, or (ε, δ)-DP at δ = person_delta"
    )
    by_replication = DiscreteGaussian.by_replication

    def stated(self) -> Guarantee:
        """Pure, or at δ."""
        budget = noise_budget(self.person_delta, WORDS.all_answers)
        return replace(super().stated(), budget=budget)

    @property
    def noise(self) -> BudgetedNoise:
        """Its law and what it spends."""
        return noise_within(self.person_epsilon, self.person_delta, self.rounds)

    def spent(self) -> dict[str, float]:
        """What a person's responses really cost; at δ = person_delta."""
        noise = self.noise
        if isinstance(noise, GaussianNoise):
            rho = self.used * noise.budget * self.rounds
            spent = float(accounting.zcdp_epsilon(rho, self.person_delta))
            return {f"all responses of a person, ε at δ = {self.person_delta:g}": spent}
        return {"all responses of a person": self.used * self.person_epsilon}


def check_rho(noise: GaussianNoise, key: str) -> None:
    """Raise InvalidInput where a budget has no ρ that is a number. key: of the budget."""
    rho = noise.budget
    if 0 < rho < math.inf:
        return
    direction = "larger" if rho == 0 else "smaller"
    allowed = f"has no ρ within the range of numbers at δ = {noise.delta:g}; must be {direction}"
    raise InvalidInput(key, noise.epsilon, allowed)
