"""Integer noise on counts of pairs of items: discrete Gaussian and discrete Laplace."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pipeline.privacy import accounting, gaussian_account
from pipeline.privacy.attacks import Attack
from pipeline.privacy.budgeted_noise import CONVERSIONS, BudgetedNoise, GaussianNoise, LaplaceNoise
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.study.arrays import Booleans, Integers
from pipeline.study.guarantee import CURATOR, ONE_PERSON, THERE_OR_NOT, Guarantee
from pipeline.study.parameters import Checked, InvalidInput, parameter
from pipeline.study.parts import BaseMechanism

from ..model import Responses
from ..releases import Differences, Published
from ..sampling.pair_counts import weighted_differences
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

    On the edges of a public random graph if p0 < 1.
    n is released and not protected: a
    person who is absent leaves a row without answers, which n counts. Who answered
    what is protected like the answers: `publish` has nothing of it. Whether it
    links the items is lent by the simulation, `Differences.linked`, outside of the
    budget. Public: n, the graph, the variance of the noise. Off the graph, and on
    the diagonal, released counts are 0. calibration: `paper` charges 1 for every
    released entry (Lemma 4.1 of Nguyen and Zhang, corrected), `tight` the exact
    sensitivity of a person's row, half or a quarter of that; each graph is charged
    by itself.

    A law of noise has one parameter, its variance or its scale, which follows from
    the budget and the sensitivity.
    """

    m: int = parameter("items", unit="items", low=2)
    epsilon_user: float = parameter(
        "privacy budget of all responses of a person", unit="nats", above=0
    )
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

    guarantee: ClassVar[Guarantee] = ROW
    accepts: ClassVar[type] = Responses
    releases: ClassVar[type] = Differences

    def __post_init__(self) -> None:
        super().__post_init__()
        charge = self._charged()
        self.noise.checked_width("epsilon_user", self.epsilon_user, charge, f" at m={self.m}")

    @property
    @abstractmethod
    def noise(self) -> BudgetedNoise:
        """Law of the noise on every released entry, and what it spends."""

    def stated(self) -> Guarantee:
        """A row replaced by another, or by one without answers."""
        if self.neighbours_are == "replace_one":
            return self.guarantee
        return replace(
            self.guarantee,
            relation=THERE_OR_NOT,
            neighbours="one person's row replaced by one without answers, or the reverse",
        )

    def release(self, data: Responses, rng: np.random.Generator) -> Differences:
        """Noisy Y of a block, (reps, m, m) int64.

        A graph without edges releases nothing, of variance 0. O(reps · entries)
        draws. A tight charge of a graph costs O(m³), or O(2^m) for m ≤ 16.
        """
        counts = data.differences()
        if self.p0 < 1:
            return self._release_on_graphs(data, rng)
        width = self.noise.width(self._charged())
        noisy = self.noise.draw(rng, width, counts.shape)
        noisy += counts  # which may share memory with the data
        np.einsum("rii->ri", noisy)[...] = 0
        variance = np.full(len(counts), self.noise.variance(width))
        return Differences(noisy, data.persons, variance, linked=data.linked())

    def _release_on_graphs(self, data: Responses, rng: np.random.Generator) -> Differences:
        """Noise on the edges of a graph for each replication, by the charge of that graph."""
        counts = data.differences()
        reps = len(counts)
        edges = random_graphs(rng, reps, self.m, self.p0)
        has_edges = edges.any(axis=(1, 2))
        charges = np.zeros(reps, int)
        charges[has_edges] = charged_sensitivity(
            self.calibration, self.m, self.neighbours_are, edges[has_edges]
        )
        noisy = counts * edges
        variance = np.zeros(reps)
        for charge in np.unique(charges[has_edges]).tolist():  # graphs of one charge share a width
            rows = np.flatnonzero(charges == charge)
            width = self.noise.width(charge)
            where = edges[rows]
            drawn = np.zeros(where.shape, np.int64)
            drawn[where] = self.noise.draw(rng, width, int(np.count_nonzero(where)))
            noisy[rows] += drawn
            variance[rows] = self.noise.variance(width)
        return Differences(noisy, data.persons, variance, edges, data.linked(edges))

    def publish(
        self,
        answers: Booleans,
        observed: Booleans | None,
        persons: Integers | None = None,
        named: bool = False,
    ) -> Published:
        """Y of real people, once, with OpenDP's noise on every released entry; nothing can seed it.

        answers, observed: (rows, m), as in `Responses` without replications.
        persons: (rows,), how many persons a row stands for; None is one each.
        named: whether they are the rows of a file with names, of which those are
        left out that stand in several; one row may then take two persons away,
        `named_sensitivity`. The graph, which is public, is drawn by NumPy from the
        system's entropy. What is spent is by OpenDP's own map, which rounds up, at
        the exact sensitivity (of a graph of more than 16 items, an upper bound). 10
        µs an entry. Raises `InvalidInput` if no graph drawn connects the items, and
        without OpenDP.
        """
        graph = self._published_graph()
        edges = ~np.eye(self.m, dtype=bool)
        if graph is not None:
            edges = graph
        plain = int(squared_sensitivity(self.m, self.neighbours_are, graph))
        sensitivity = Sensitivity(plain, plain)
        if named:
            sensitivity = named_sensitivity(self.m, self.neighbours_are, graph)
        exact = self.noise.charge(sensitivity)
        charge = self._charged(graph) * exact // plain
        counts = weighted_differences(answers, observed, persons)
        released = self.noise.publish(counts[edges], charge, exact)
        noisy = np.zeros_like(counts)
        noisy[edges] = released.counts
        return Published(noisy, edges, released.noise, charge, sensitivity, released.spent)

    def _published_graph(self) -> Booleans | None:
        """A connected public graph, (m, m); None where all pairs are released."""
        if self.p0 == 1:
            return None
        graph: Booleans = random_graphs(np.random.default_rng(), 1, self.m, self.p0)[0]
        if not connected(graph[None]).all():
            allowed = f"no graph of {TRIES} connected the {self.m} items; must be larger"
            raise InvalidInput("p0", self.p0, allowed)
        return graph

    def _charged(self, graph: Booleans | None = None) -> int:
        """Sensitivity that the noise is made for, of all pairs or of a graph (m, m)."""
        return int(charged_sensitivity(self.calibration, self.m, self.neighbours_are, graph))

    @property
    def used(self) -> float:
        """Exact sensitivity over the one charged, for the worst graph; below 1 for the paper's."""
        if self.calibration == "tight":
            return 1.0
        if self.p0 < 1:  # a graph may be bipartite: a row can change all its edges
            return ROWS[self.neighbours_are] / 2
        return int(squared_sensitivity(self.m, self.neighbours_are)) / int(released_entries(self.m))

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one response, and on all of a person.

        A response changes m − 1 counts by 1.
        On public graphs of edge probability below 1 what the budget allows, as the
        noise depends on the graph.
        """
        if self.p0 < 1:
            return {"person": self.noise.bound()}
        width = self.noise.width(self._charged())
        most = int(squared_sensitivity(self.m, self.neighbours_are))
        return {
            "answer": self.noise.attack(width, self.m - 1),
            "person": self.noise.attack(width, most),
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

        Noise on the edges of graphs is drawn for all graphs of one charge at once.
        """
        return self.p0 == 1

    def __post_init__(self) -> None:
        Checked.__post_init__(self)  # ρ is computed from values that are allowed
        if self.conversion == "exact" and self.epsilon_user > gaussian_account.LARGEST:
            allowed = f"must be at most {gaussian_account.LARGEST:g} with conversion=exact"
            raise InvalidInput("epsilon_user", self.epsilon_user, allowed)
        rho = self.noise.budget
        if not 0 < rho < math.inf:
            direction = "larger" if rho == 0 else "smaller"
            allowed = (
                f"has no ρ within the range of numbers at δ = {self.delta:g}; must be {direction}"
            )
            raise InvalidInput("epsilon_user", self.epsilon_user, allowed)
        super().__post_init__()

    @property
    def noise(self) -> GaussianNoise:
        """Its law and what it spends."""
        return GaussianNoise(self.epsilon_user, self.delta, self.conversion)

    @property
    def rho(self) -> float:
        """ρ that the noise is made for."""
        return self.noise.budget

    def spent(self) -> dict[str, float]:
        """What a person's responses really cost, `used` · ρ.

        ε at δ by the tight conversion and by the closed form.
        """
        rho = self.used * self.rho
        person = f"all responses of a person, ε at δ = {self.delta:g}"
        if self.conversion == "exact":  # at most: where too much is charged it is less
            return {
                f"{person}, by the noise's own law": self.epsilon_user,
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

    Pure ε-DP for a person's row. Raises `InvalidInput` for budgets so small that
    the noise is wider than 1e9.
    Source: Nguyen and Zhang, supplement, Lemma 4.2 (Ghosh, Roughgarden and
    Sundararajan, 2009).
    """

    guarantee: ClassVar[Guarantee] = replace(ROW, budget="pure ε-DP for all responses of a person")
    by_replication = DiscreteGaussian.by_replication

    def spent(self) -> dict[str, float]:
        """What a person's responses really cost, `used` · ε."""
        return {"all responses of a person": self.used * self.epsilon_user}

    @property
    def noise(self) -> LaplaceNoise:
        """Its law and what it spends."""
        return LaplaceNoise(self.epsilon_user)
