"""What an audit answers: a verdict, its evidence, and the power that it had."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.auditing.promise import Promise
from pipeline.study.untyped import JsonObject

VIOLATES = "violates"
NOT_REFUTED = "not refuted"
LEVELS = ("form", "law", "replay", "samples")


@dataclass(frozen=True)
class Point:
    """A certified point of a trade-off curve: power at least, chance of a false alarm at most."""

    false_alarm: float
    power: float


@dataclass(frozen=True)
class Power:
    """How many of the planted faults of a kind were found; planted 0 where none can be."""

    found: int
    planted: int

    def __str__(self) -> str:
        if self.planted == 0:
            return "cannot be planted"
        return f"{self.found} of {self.planted}"


@dataclass(frozen=True)
class Audited:
    """The answer of an audit.

    verdict: `violates` or `not refuted`. epsilon_lower: certified lower bound
    of ε at delta, infinite where what happens on one data set cannot happen on
    the other; rho_lower, mu_lower likewise, None where no bound is known.
    confidence: of the bounds together, 1 where they are exact. level: what
    decided: form, law, replay, samples. pair: what differs between both data
    sets. event: what tells them apart. samples: of either data set, 0 where
    none were drawn. points: certified ones of the trade-off curve. power: fault
    -> how many were found; empty where the promise is broken, or none was
    measured. notes: draws that depend on the data, and what else a reader must
    know. command: what gives this answer again.
    """

    verdict: str
    mechanism: str
    promise: Promise
    epsilon_lower: float
    rho_lower: float | None
    mu_lower: float | None
    confidence: float
    level: str
    pair: str
    event: str
    samples: int
    points: Sequence[Point] = ()
    power: Mapping[str, Power] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    command: str = ""

    @property
    def delta(self) -> float:
        """The δ at which ε is bounded: that of the promise."""
        return self.promise.delta

    @property
    def violates(self) -> bool:
        """Whether the promise is broken."""
        return self.verdict == VIOLATES

    @property
    def exact(self) -> bool:
        """Whether the bounds are exact, without statistics."""
        return self.confidence == 1

    def record(self) -> JsonObject:
        """The answer as one object of JSON, as --json prints it; infinite numbers are texts."""
        promise = self.promise
        return {
            "verdict": self.verdict,
            "mechanism": self.mechanism,
            "epsilon_lower": _number(self.epsilon_lower),
            "delta": self.delta,
            "rho_lower": _number(self.rho_lower),
            "mu_lower": _number(self.mu_lower),
            "confidence": self.confidence,
            "level": self.level,
            "pair": self.pair,
            "event": self.event,
            "samples": self.samples,
            "trade_off": [[point.false_alarm, point.power] for point in self.points],
            "power": {
                fault: {"found": power.found, "planted": power.planted}
                for fault, power in self.power.items()
            },
            "guarantee": {
                "epsilon": promise.epsilon,
                "delta": promise.delta,
                "rho": promise.rho,
                "mu": promise.mu,
            },
            "notes": list(self.notes),
            "command": self.command,
        }

    def __str__(self) -> str:
        lines = [f"{self.mechanism}: {self.verdict}; it promises {self.promise}"]
        lines.append(f"  {self.bound}")
        lines.append(f"  pair: {self.pair}")
        if self.event:
            lines.append(f"  event: {self.event}")
        lines += [f"  note: {note}" for note in self.notes]
        if self.power:
            lines.append("  power, faults of each kind that were planted and found:")
            lines += [f"    {fault}: {power}" for fault, power in self.power.items()]
        elif not self.violates:
            lines.append("  power was not measured: this verdict says nothing of faults")
        if self.command:
            lines.append(f"  again: {self.command}")
        return "\n".join(lines)

    @property
    def _shown_epsilon(self) -> str:
        """ε to four digits, or to more where four would hide that it is more than promised."""
        shown = f"{self.epsilon_lower:.4g}"
        if self.violates and shown == f"{self.promise.epsilon or 0:.4g}":
            return f"{self.epsilon_lower:.7g}"
        return shown

    @property
    def bound(self) -> str:
        """What is certified, in a line."""
        at_delta = f" at δ = {self.delta:g}" if self.delta else ""
        bounds = [f"ε ≥ {self._shown_epsilon}{at_delta}"]
        if self.rho_lower is not None:
            bounds.append(f"ρ ≥ {self.rho_lower:.4g}")
        if self.mu_lower is not None:
            bounds.append(f"μ ≥ {self.mu_lower:.4g}")
        how = f"exact, by {self.level}"
        if not self.exact:
            how = f"with {100 * self.confidence:g} % confidence, by {self.samples:,} {self.level}"
            if self.level != "samples":
                how = f"with {100 * self.confidence:g} % confidence, by {self.samples:,} calls"
        return f"{', '.join(bounds)} ({how})"


def _number(value: float | None) -> float | str | None:
    if value is None or abs(value) != float("inf"):
        return value
    return "inf"
