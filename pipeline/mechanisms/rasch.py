"""Mechanisms on responses: integer noise on pairwise differential measurements, randomized response on answers."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.mechanisms import vetted
from pipeline.mechanisms.integer_noise import LARGEST, discrete_gaussian, discrete_laplace
from pipeline.models.rasch import Differences, FlippedResponses, Responses, differences_of
from pipeline.models.response_files import load
from pipeline.parameters import DataFile, InvalidInput, parameter
from pipeline.theory import accounting, rasch_privacy
from pipeline.theory.btl import flip_probability
from pipeline.theory.integer_noise import gaussian_variance, laplace_variance

_CONVERSIONS = {"tight": accounting.zcdp_rho, "bun_steinke": accounting.bun_steinke_rho, "paper": accounting.paper_rho}
TRIES = 100  # draws of a public graph
SLACK = 1e-12  # by which noise for real data is wider than asked for, so that rounding never spends more


def _connected(edges):
    """(reps,) bool: whether a path joins all items; edges (reps, m, m) bool, symmetric. O(reps · m² · diameter)."""
    reached = np.zeros(edges.shape[:2], bool)
    reached[:, 0] = True
    while True:
        further = reached | (edges & reached[:, None]).any(axis=2)
        if (further == reached).all():
            return reached.all(axis=1)
        reached = further


@dataclass(frozen=True)
class _NoisyDifferences:
    """Noise on every released entry of Y, whatever the data are; on the edges of a public random graph if p0 < 1.

    unit: all responses of one person, and which of them are missing. neighbours: his row replaced by another; or, with
    neighbours_are=add_remove, there or not. n is released and not protected: a person who is not there leaves a row
    without answers, and n counts it.
    Public: n, the graph, the variance of the noise. Off the graph, and on the diagonal, released counts are 0.
    calibration: `paper` charges 1 for every released entry (Lemma 4.1 of Nguyen and Zhang, read correctly), `tight`
    the exact sensitivity of a person's row, half or a quarter of that; each graph is charged by itself.
    """

    m: int = parameter("items", unit="items", low=2)
    epsilon_user: float = parameter("privacy budget of all responses of a person", unit="nats", above=0)
    calibration: str = parameter("sensitivity that is charged", default="tight", choices=rasch_privacy.CALIBRATIONS)
    neighbours_are: str = parameter("what a person may change: his row replaced, or there or not",
                                    default="replace_one", choices=tuple(rasch_privacy.ROWS))
    p0: float = parameter("edge probability of the public graph; 1 releases all pairs", default=1.0, above=0, high=1)

    unit: ClassVar[str] = "all responses of one person"
    neighbours: ClassVar[str] = ("one person's row replaced by another; with neighbours_are=add_remove, by one without "
                                 "answers; n is public")
    accepts: ClassVar[type] = Responses
    releases: ClassVar[type] = Differences

    def __post_init__(self):
        with np.errstate(all="ignore"):  # of the tiniest and the largest budgets
            widest = self._law(rasch_privacy.charged(self.calibration, self.m, self.neighbours_are))
        if widest == 0:
            raise InvalidInput("epsilon_user", self.epsilon_user, "asks for no noise at all; must be smaller")
        if not widest <= self._widest:
            raise InvalidInput("epsilon_user", self.epsilon_user,
                               f"asks for noise wider than {LARGEST**0.5:g} at m={self.m}; must be larger")

    def release(self, data: Responses, rng: np.random.Generator) -> Differences:
        """Noisy Y of a block, (reps, m, m) int64; a graph without edges releases nothing, of variance 0.

        O(reps · entries) draws. A tight charge of a graph costs O(m³), or O(2^m) for m ≤ 16.
        """
        counts = data.differences()
        reps = len(counts)
        if self.p0 == 1:
            charge = rasch_privacy.charged(self.calibration, self.m, self.neighbours_are)
            noisy = self._draw(rng, self._law(charge), counts.shape)
            noisy += counts  # which may be the data's own
            np.einsum("rii->ri", noisy)[...] = 0
            return Differences(noisy, data.persons, np.full(reps, self._variance(self._law(charge))))
        edges, charge = self._graphs(rng, reps), np.zeros(reps, int)
        some = edges.any(axis=(1, 2))
        charge[some] = rasch_privacy.charged(self.calibration, self.m, self.neighbours_are, edges[some])
        noisy, variance = counts * edges, np.zeros(reps)
        for level in np.unique(charge[some]).tolist():  # graphs of one charge share a law
            rows = np.flatnonzero(charge == level)
            where = edges[rows]
            noise = np.zeros(where.shape, np.int64)
            noise[where] = self._draw(rng, self._law(level), np.count_nonzero(where))
            noisy[rows] += noise
            variance[rows] = self._variance(self._law(level))
        return Differences(noisy, data.persons, variance, edges)

    def publish(self, answers: np.ndarray, observed: np.ndarray | None) -> "Published":
        """Y of real people, once, with OpenDP's noise on every released entry; nothing can seed it.

        answers, observed: (n, m) bool, as in `Responses` without replications. The graph, which is public, is drawn
        by NumPy from the system's entropy. What is spent is by OpenDP's own map, which rounds up, at the exact
        sensitivity (of a graph of more than 16 items, an upper bound). 10 µs an entry; n has no bearing on it.
        Raises `InvalidInput` if no graph drawn connects the items, and without OpenDP.
        """
        graph, edges = None, ~np.eye(self.m, dtype=bool)
        if self.p0 < 1:
            graph = edges = self._graphs(np.random.default_rng(), 1)[0]
            if not _connected(edges[None]).all():
                raise InvalidInput("p0", self.p0, f"no graph of {TRIES} connected the {self.m} items; must be larger")
        charge, exact = (int(size) for size in (
            rasch_privacy.charged(self.calibration, self.m, self.neighbours_are, graph),
            rasch_privacy.squared_sensitivity(self.m, self.neighbours_are, graph)))
        noise = {self._named: self._law(charge) * (1 + SLACK)}
        if not vetted.spent(self._norm(charge), **noise) <= self._asked:
            raise ArithmeticError(f"{noise} spends more than {self._asked}")
        counts = differences_of(answers[None], None if observed is None else observed[None])[0].astype(np.int64)
        noisy = np.zeros_like(counts)
        noisy[edges] = vetted.release(counts[edges], **noise)
        return Published(noisy, edges, noise, charge, exact, self._account_of(vetted.spent(self._norm(exact), **noise)))

    def _graphs(self, rng, reps):
        """(reps, m, m) bool: Erdős–Rényi graphs, drawn before the noise and without the data.

        Anew, up to `TRIES` times, until all items are connected: graphs are public, and others determine no estimate.
        """
        i, j = np.triu_indices(self.m, 1)
        edges, left = np.zeros((reps, self.m, self.m), bool), np.arange(reps)
        for _ in range(TRIES):
            drawn = np.zeros((left.size, self.m, self.m), bool)
            drawn[:, i, j] = rng.random((left.size, i.size)) < self.p0
            edges[left] = drawn | drawn.swapaxes(1, 2)
            left = left[~_connected(edges[left])]
            if not left.size:
                break
        return edges

    @property
    def used(self) -> float:
        """Exact sensitivity over the one charged, for the worst graph: the paper charges too much."""
        if self.calibration == "tight":
            return 1.0
        if self.p0 < 1:  # a graph may be bipartite: a row can change all its edges
            return rasch_privacy.ROWS[self.neighbours_are] / 2
        return rasch_privacy.squared_sensitivity(self.m, self.neighbours_are) / rasch_privacy.released_entries(self.m)

    def work(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        if self.p0 == 1:
            return 12 * self.m**2
        cut = 2.0**self.m if self.m <= rasch_privacy.EXACT else 0.3 * self.m**3
        return 7e5 + (8 + 25 * self.p0) * self.m**2 + (cut if self.calibration == "tight" else 0)


@dataclass(frozen=True)
class Published:
    """What leaves of real people's responses, and what it cost.

    counts: (m, m) int64, noisy Y, 0 off the edges. edges: (m, m) bool, pairs released. noise: its parameter, variance
    σ² of the discrete Gaussian or scale of the discrete Laplace. charged: the sensitivity that the noise is made for,
    squared in L2, which is that in L1. sensitivity: the exact one. spent: budgets of all responses of a person.
    """

    counts: np.ndarray
    edges: np.ndarray
    noise: dict[str, float]
    charged: int
    sensitivity: int
    spent: dict[str, float]


@dataclass(frozen=True)
class DiscreteGaussian(_NoisyDifferences):
    """Discrete Gaussian noise N_Z(0, Δ²/(2ρ)) on pairwise differential measurements: ρ-zCDP for a person's row.

    ρ is that of (ε, δ): `conversion` tight is numerical (Canonne, Kamath and Steinke), bun_steinke the closed form
    ε = ρ + √(4ρ log(1/δ)), paper its shortcut ρ = ε²/(4 log(1/δ)), which spends more than ε: see `spent`.
    Raises `InvalidInput` for budgets so small that the noise is wider than 1e9, or beyond the range of numbers.
    Source: Nguyen and Zhang, Algorithm 2 and Lemma 4.1, corrected (variance, not standard deviation; noise also where
    Y is 0).
    """

    delta: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)
    conversion: str = parameter("how ε at δ becomes zCDP", default="tight", choices=tuple(_CONVERSIONS))

    budget: ClassVar[str] = "ρ-zCDP, hence (ε, δ)-DP, for all responses of a person"
    _draw, _variance, _widest = staticmethod(discrete_gaussian), staticmethod(gaussian_variance), LARGEST
    _named: ClassVar[str] = "variance"

    def __post_init__(self):
        with np.errstate(all="ignore"):
            rho = self.rho
        if not 0 < rho < math.inf:
            raise InvalidInput("epsilon_user", self.epsilon_user, f"has no ρ within the range of numbers at δ = "
                               f"{self.delta:g}; must be {'larger' if rho == 0 else 'smaller'}")
        super().__post_init__()

    @cached_property
    def rho(self) -> float:
        """ρ that the noise is made for."""
        return float(_CONVERSIONS[self.conversion](self.epsilon_user, self.delta))

    def spent(self) -> dict[str, float]:
        """What a person's responses really cost, `used` · ρ: ε at δ by the tight conversion and by the closed form."""
        rho, person = self.used * self.rho, f"all responses of a person, ε at δ = {self.delta:g}"
        return {person: float(accounting.zcdp_epsilon(rho, self.delta)),
                f"{person}, by Bun and Steinke": float(accounting.bun_steinke_epsilon(rho, self.delta)),
                "all responses of a person, zCDP ρ": rho}

    def _law(self, charge):
        """σ²"""
        return float(accounting.calibrated_variance(charge, self.rho))

    @property
    def _asked(self):
        return self.rho

    @staticmethod
    def _norm(squared):
        return math.nextafter(math.sqrt(squared), math.inf)

    def _account_of(self, rho):
        return {"rho": rho, "delta": self.delta, "epsilon": float(accounting.zcdp_epsilon(rho, self.delta)),
                "epsilon_bun_steinke": float(accounting.bun_steinke_epsilon(rho, self.delta))}


@dataclass(frozen=True)
class DiscreteLaplace(_NoisyDifferences):
    """Discrete Laplace noise of scale Δ₁/ε on pairwise differential measurements: pure ε-DP for a person's row.

    Raises `InvalidInput` for budgets so small that the noise is wider than 1e9.
    Source: Nguyen and Zhang, supplement, Lemma 4.2 (Ghosh, Roughgarden and Sundararajan, 2009).
    """

    budget: ClassVar[str] = "pure ε-DP for all responses of a person"
    _draw, _variance, _widest = staticmethod(discrete_laplace), staticmethod(laplace_variance), LARGEST**0.5
    _named: ClassVar[str] = "scale"

    def spent(self) -> dict[str, float]:
        """What a person's responses really cost, `used` · ε."""
        return {"all responses of a person": self.used * self.epsilon_user}

    def _law(self, charge):
        """Scale"""
        return float(charge / self.epsilon_user)

    @property
    def _asked(self):
        return self.epsilon_user

    _norm = staticmethod(float)

    @staticmethod
    def _account_of(epsilon):
        return {"epsilon": epsilon}


@dataclass(frozen=True)
class RandomizedResponses:
    """Every response is flipped with probability 1/(1 + e^{ε0/m}) before it leaves its person.

    unit: all responses of one person. neighbours: one person's answers replaced; n and who answered what are public.
    budget: pure ε-LDP per person, ε0 = ε. With `shuffled` the reports leave in random order, and ε0 > ε where
    amplification by shuffling is known to allow that: then (ε, δ)-DP holds for all of them together. Elsewhere ε0
    stays ε, and `unamplified` says why. Amplification needs complete responses, of a file too: a visible pattern of
    missing answers tells reports apart.
    Source: Nguyen and Zhang, supplement, Lemma 4.1 (Feldman, McMillan and Talwar, 2022, Theorem III.1).
    """

    n: int = parameter("persons", unit="persons", low=1)
    m: int = parameter("items", unit="items", low=2)
    epsilon_user: float = parameter("privacy budget of all responses of a person", unit="nats", above=0)
    p: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)
    shuffled: bool = parameter("charge the amplification by shuffling", default=False)
    delta: float = parameter("δ of the (ε, δ)-guarantee when shuffled", default=1e-4, above=0, below=1)
    data_path: DataFile | None = parameter("file of the responses, whose missing answers rule out amplification",
                                           default=None)
    other_ratings: bool = parameter("accept ratings that are not MovieLens's ml-latest-small", default=False)

    unit: ClassVar[str] = "all responses of one person"
    neighbours: ClassVar[str] = "one person's answers replaced by others; n and who answered what are public"
    budget: ClassVar[str] = "pure ε-LDP for all responses of a person; shuffled, (ε, δ)-DP"
    accepts: ClassVar[type] = Responses
    releases: ClassVar[type] = FlippedResponses

    @cached_property
    def _account(self):
        """(ε0, None), or (ε, why nothing is amplified)."""
        if not self.shuffled:
            return self.epsilon_user, "reports are not shuffled"
        if self.p < 1 or self.data_path is not None and load(self.data_path, self.other_ratings).observed is not None:
            return self.epsilon_user, ("amplification by shuffling does not apply where responses are missing; the "
                                       f"local budget is epsilon itself, {self.epsilon_user:g}")
        return accounting.local_budget(self.epsilon_user, self.n, self.delta)

    @property
    def local_epsilon(self) -> float:
        """ε0, budget of a person's report: more than ε where shuffling is known to amplify."""
        return self._account[0]

    @property
    def unamplified(self) -> str | None:
        """Why ε0 is no more than ε, in a line; None where it is."""
        return self._account[1]

    @property
    def remark(self) -> str | None:
        """What a reader of the account should know: why shuffling, though asked for, is not charged."""
        return self.unamplified if self.shuffled else None

    def release(self, data: Responses, rng: np.random.Generator) -> FlippedResponses:
        """Flipped responses of a block, (reps, n, m); rows in random order where that is charged. O(reps · n · m)."""
        answers, observed = data.answers, data.observed
        shuffle = self.unamplified is None
        if shuffle and observed is not None:
            raise ValueError("shuffled reports have missing answers that neither p nor data_path told of")
        epsilon = float(rasch_privacy.response_budget(self.local_epsilon, self.m))
        answers = answers ^ _flips(answers.shape, flip_probability(epsilon), rng)
        if observed is not None:
            answers &= observed
        if shuffle:
            reps, n, _ = answers.shape
            answers = answers[np.arange(reps)[:, None], rng.permuted(np.tile(np.arange(n), (reps, 1)), axis=1)]
        return FlippedResponses(answers, observed, epsilon)

    def spent(self) -> dict[str, float]:
        """Budgets of a person and of one response, before and, where that amplifies, after shuffling."""
        local = self.local_epsilon
        if self.unamplified is not None:
            return {"all responses of a person": local, "one response": local / self.m}
        return {f"all responses of a person, ε at δ = {self.delta:g}":
                float(accounting.shuffled_epsilon(local, self.n, self.delta)),
                "all responses of a person, before shuffling": local, "one response": local / self.m}

    def work(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 2 * self.n * self.m


def _flips(shape, flip, rng):
    """Bernoulli draws, exact to 2⁻⁵³: a random byte decides all but one in 256, a further uniform these."""
    whole, rest = divmod(256 * flip, 1)
    byte = rng.integers(0, 256, shape, np.uint8)
    flipped, tie = byte < np.uint8(whole), np.flatnonzero(byte == np.uint8(whole))
    flipped.reshape(-1)[tie] = rng.random(tie.size) < rest
    return flipped
