"""How the gradients of estimators vary: what their standard errors are made of."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation, flip_probability
from pipeline.problems.common.heavy_tails import NoiseParts
from pipeline.study.arrays import Floats

from ..releases import FlippedWins, NoisyWins, ReleasedWins, privacy_variance
from ..theory.inference import ScoreLaw, ScoreMoments
from ..theory.links import LINKS, Link
from ..theory.risk import MANY, Variances, complete_variances, curvature


class _Shares(NamedTuple):
    """n and n² Var(z̄) = s w + c, (reps or 1, m or 1, m or 1) each."""

    share: Floats
    comparison: Floats
    privacy: Floats


@dataclass(frozen=True)
class MeanScores(ScoreLaw):
    """Of eq. (3) with debiased means z̄ = ½ + Σ_g v_g a_g (W_g − n_g/2)/Σ_g v_g n_g.

    The share of a pair is n = Σ_g v_g n_g/T, T = Σ_g v_g L_g of all users, so that n z̄ is Σ_g v_g
    a_g W_g/T and a constant. By Lemma 2 the variance of a_g W_g is n_g w + c_g, w = σ(1 − σ) the
    comparison's own and c_g privacy's (`ReleasedWins.added_variance`):

        n² Var(z̄) = [Σ_g v_g² n_g w + Σ_g v_g² c_g]/T².

    weights v: (groups,), None is all alike. Answers of one user to several pairs are independent
    given θ, as the model has it: designs that ask some pairs enter by n_g alone.
    """

    release: ReleasedWins
    weights: Floats | None = None

    def moments(self, theta: Floats, rows: slice) -> ScoreMoments:
        """Moments at θ of some replications, (reps, m, m); see `theory.inference`."""
        own_variance = curvature(theta)  # w
        share, variance = self.of_pairs(own_variance, rows)
        return ScoreMoments(share * own_variance, variance)

    def of_pairs(self, own_variance: Floats, rows: slice) -> tuple[Floats, Floats]:
        """n and n² Var(z̄) of some replications, broadcast against (reps, m, m).

        own_variance: (reps of these rows, m, m), of a comparison itself.
        """
        shares = self._shares
        variance = _rows(shares.comparison, rows) * own_variance + _rows(shares.privacy, rows)
        np.einsum("rii->ri", variance)[...] = 0
        return _rows(shares.share, rows), variance

    @property
    def has_heavy_tails(self) -> bool:
        """Where a curator's noise has a fourth cumulant."""
        return isinstance(self.release, NoisyWins) and self.release.fourth > 0

    def noise_parts(self, inverse: Floats, theta: Floats, rows: slice) -> Iterator[NoiseParts]:
        """Of a curator's noise in wins, over T."""
        if isinstance(self.release, NoisyWins):
            yield from self.release.noise_parts(inverse / self._total, rows)

    def variances(self, theta: Floats, ridge: float) -> Variances:
        """See `ScoreLaw`; compiled where all users compared all pairs."""
        if self.release.compared is not None or theta.shape[1] > MANY:
            return super().variances(theta, ridge)
        shares = self._shares
        comparison = float(shares.comparison.max())
        privacy = float(shares.privacy.max())
        return complete_variances(theta, comparison, privacy, ridge)

    @cached_property
    def _user_weights(self) -> Floats:
        return np.ones(len(self.release.users)) if self.weights is None else self.weights

    @cached_property
    def _total(self) -> float:
        """T."""
        return float(self.release.users @ self._user_weights)

    @cached_property
    def _shares(self) -> _Shares:
        release = self.release
        weights = self._user_weights
        total = self._total
        trials = np.asarray(release.trials, float)
        trials = trials.reshape(-1, *trials.shape[-2:])
        if release.compared is not None and release.compared.strides[0] == 0:
            trials = trials[:1]
        share = np.matvec(trials.mT, weights) / total
        comparison = np.matvec(trials.mT, weights**2) / total**2
        privacy = np.matvec(release.added_variance.mT, weights**2) / total**2
        return _Shares(
            _square(share, release.items),
            _square(comparison, release.items),
            _square(privacy, release.items),
        )


@dataclass(frozen=True)
class FlippedScores(ScoreLaw):
    """Of the likelihood of flipped wins over `unit`, by its Fisher information.

    The information of a pair is I = Σ_g n_g t_g² w²/(p̃_g(1 − p̃_g)) = Σ_g n_g w²/(w + c_g), since
    p̃(1 − p̃) = t²(w + c_g) with c_g = 1/(4 sinh²(ε_g/2)). The curvature's mean is I/unit, and the
    variance of the gradient I/unit². Source: Lemmas 1 and 2 of Xu, Sun and Cheng.
    """

    release: FlippedWins
    unit: float

    def moments(self, theta: Floats, rows: slice) -> ScoreMoments:
        """Moments at θ of some replications, (reps, m, m); see `theory.inference`."""
        trials = self._trials
        own_variance = curvature(theta)  # w
        diagonal = np.arange(theta.shape[1])
        own_variance[:, diagonal, diagonal] = 1.0  # keeps 0/0 off the diagonal
        information = np.zeros(own_variance.shape)
        for group, noise in enumerate(privacy_variance(self.release.epsilon).tolist()):
            of_group = _rows(trials[group], rows)
            information += of_group * own_variance**2 / (own_variance + noise)
        information[:, diagonal, diagonal] = 0
        return ScoreMoments(information / self.unit, information / self.unit**2)

    @cached_property
    def _trials(self) -> list[Floats]:
        """Comparisons of each group, (reps or 1, m or 1, m or 1)."""
        trials = np.asarray(self.release.trials, float)
        trials = trials.reshape(-1, *trials.shape[-2:])
        groups = range(trials.shape[1])
        return [_square(trials[:, group], self.release.items) for group in groups]


@dataclass(frozen=True)
class LinkedScores(MeanScores):
    """Of the matching loss of a link F: its Hessian has the weights n F', and w = F(1 − F)."""

    link: Link = LINKS["logistic"]

    def moments(self, theta: Floats, rows: slice) -> ScoreMoments:
        """Moments at θ of some replications, (reps, m, m); see `theory.inference`."""
        gap = _gaps(theta)
        own_variance = self.link.win(gap) * self.link.win(-gap)
        share, variance = self.of_pairs(own_variance, rows)
        density = self.link.density(gap)
        np.einsum("rii->ri", density)[...] = 0
        return ScoreMoments(share * density, variance)

    def variances(self, theta: Floats, ridge: float) -> Variances:
        """See `ScoreLaw`."""
        return ScoreLaw.variances(self, theta, ridge)


@dataclass(frozen=True)
class ChainScores(MeanScores):
    """Of rank centrality: how the balance of its Markov chain varies.

    With u = e^θ the chain moves from j to i at the rate z̄_ij, and at the true shares as much flows
    from i to j as back, u_i u_j/(u_i + u_j). To first order, for d = θ̂ − θ*,

        Σ_j u_i u_j/(u_i + u_j) (d_i − d_j) = Σ_j (u_i + u_j) (z̄_ij − σ(θ*_i − θ*_j)),

    over the pairs that are compared, so that K has the weights u_i u_j/(u_i + u_j), and V the
    weights (u_i + u_j)² Var(z̄_ij). Source: balance equations of Negahban, Oh and Shah (2016), by
    the delta method.
    """

    def moments(self, theta: Floats, rows: slice) -> ScoreMoments:
        """Moments at θ of some replications, (reps, m, m); see `theory.inference`."""
        worth = _worths(theta)
        total = worth[:, :, None] + worth[:, None, :]
        flow = worth[:, :, None] * worth[:, None, :] / total
        share, scaled_variance = self.of_pairs(curvature(theta), rows)
        is_compared = np.broadcast_to(share > 0, flow.shape)
        flow = np.where(is_compared, flow, 0.0)
        np.einsum("rii->ri", flow)[...] = 0
        variance = scaled_variance / np.where(share > 0, share, 1.0) ** 2
        return ScoreMoments(flow, np.where(is_compared, total**2 * variance, 0.0))

    def noise_parts(self, inverse: Floats, theta: Floats, rows: slice) -> Iterator[NoiseParts]:
        """Of a curator's noise in wins, over T n_ij: z̄_ij is weighed by u_i + u_j."""
        if not isinstance(self.release, NoisyWins):
            return
        worth = _worths(theta)
        share = _rows(self._shares.share, rows)
        factors = (worth[:, :, None] + worth[:, None, :]) / np.where(share > 0, share, 1.0)
        yield from self.release.noise_parts(inverse / self._total, rows, factors)

    def variances(self, theta: Floats, ridge: float) -> Variances:
        """See `ScoreLaw`."""
        return ScoreLaw.variances(self, theta, ridge)


@dataclass(frozen=True)
class FlippedLinkedScores(FlippedScores):
    """Of the likelihood of flipped wins for a link F, by its Fisher information.

    The information of a pair is I = Σ_g n_g t_g² F'²/(p̃_g(1 − p̃_g)).
    """

    link: Link = LINKS["logistic"]

    def moments(self, theta: Floats, rows: slice) -> ScoreMoments:
        """Moments at θ of some replications, (reps, m, m); see `theory.inference`."""
        gap = _gaps(theta)
        win = self.link.win(gap)
        lose = self.link.win(-gap)
        density = self.link.density(gap)
        information = np.zeros(gap.shape)
        flips = flip_probability(self.release.epsilon).tolist()
        slopes = attenuation(self.release.epsilon).tolist()
        for trials, flip, slope in zip(self._trials, flips, slopes, strict=True):
            variance = (flip + slope * win) * (flip + slope * lose)  # p̃(1 − p̃)
            information += _rows(trials, rows) * (slope * density) ** 2 / variance
        np.einsum("rii->ri", information)[...] = 0
        return ScoreMoments(information / self.unit, information / self.unit**2)


def _worths(theta: Floats) -> Floats:
    """u = e^θ over that of the best item, whose scale does not matter; (reps, m)."""
    relative: Floats = np.exp(theta - theta.max(axis=1, keepdims=True))
    return relative


def _gaps(theta: Floats) -> Floats:
    """θ_i − θ_j, (reps, m, m); theta: (reps, m)."""
    return theta[:, :, None] - theta[:, None, :]


def _rows(values: Floats, rows: slice) -> Floats:
    """Those of some replications; what stands for all of them stays."""
    return values if len(values) == 1 else values[rows]


def _square(values: Floats, m: int) -> Floats:
    """(reps, m, m) of pairs, (reps, pairs), symmetric; (reps, 1, 1) of a number for all pairs."""
    if values.shape[1] == 1 and m > 2:
        return values[:, :, None]
    first, second = np.triu_indices(m, 1)
    square = np.zeros((len(values), m, m))
    square[:, first, second] = values
    square[:, second, first] = values
    return square
