"""Names, labels and numbers as a reader wants them; knows attributes of a dataset, never a study."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

GREEK = dict(
    alpha="α",
    beta="β",
    gamma="γ",
    delta="δ",
    epsilon="ε",
    eta="η",
    theta="θ",
    kappa="κ",
    mu="μ",
    nu="ν",
    rho="ρ",
    sigma="σ",
    tau="τ",
    phi="φ",
    chi="χ",
    psi="ψ",
    omega="ω",
)
SUPERSCRIPT = str.maketrans("0123456789-−.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻·")


def symbol(name: str) -> str:
    """`epsilon` → ε, `epsilon_user` → ε user, `top_k` → top k, anything else as it is."""
    return " ".join(GREEK.get(part, part) for part in name.split("_"))


def number(value: Any, digits: int = 6) -> str:
    """A number without exponent where that is shorter: 1,600, 0.02, ∞.

    A word with blanks for underscores.
    """
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str):
        return str(value).replace("_", " ")
    value = float(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    form = (
        ".3g"
        if value and not 1e-5 <= abs(value) < 1e9
        else f",.{digits}g"
        if abs(value) < 10**digits
        else ",.0f"
    )
    return format(value, form).replace("-", "−").replace("e−0", "e−").replace("e+0", "e")


def three(value: float) -> str:
    """A number in three digits, zeros and all: 0.700, 12.0, 1,234."""
    return (
        f"{value:#.3g}".rstrip(".").replace("-", "−")
        if 1e-4 <= abs(value) < 999.5
        else number(value, 3)
    )


def fraction(value: float) -> str:
    """`−½` for −0.5, and so for thirds and quarters; other numbers as they are."""
    from fractions import Fraction

    whole = {(1, 2): "½", (1, 3): "⅓", (2, 3): "⅔", (1, 4): "¼", (3, 4): "¾"}
    near = Fraction(abs(value)).limit_denominator(4)
    if abs(near - abs(value)) > 1e-3 or (near.numerator, near.denominator) not in whole:
        return number(value)
    return "−" * (value < 0) + whole[near.numerator, near.denominator]


def interval(estimate: Any) -> str:
    """An Estimate with its interval and a true minus sign.

    `not determined` where the data say nothing.
    """
    if math.isnan(estimate.value):
        return "not determined"
    return minus(str(estimate)).replace("inf", "∞")


def minus(text: str) -> str:
    """Text with true minus signs in front of its numbers."""
    return re.sub(r"(?<![\w)\]])-(?=[\d.]|inf)", "−", text)


def findings(text: str) -> list[Any]:
    """The text of a check, one line of Markup for each part, with the estimates and their intervals
    in bold.
    """
    from markupsafe import Markup, escape

    from pipeline.analysis.estimate import NO_ERROR

    def bold(match: re.Match[str]) -> str:
        return (
            "not determined"
            if match[0].startswith("nan")
            else f"<b>{match[0].replace('inf', '∞')}</b>"
        )

    estimate = rf"(?:nan|−?[\d.]+(?:e[+−-]?\d+)?) (?:\[[^\[\]]*\]|{re.escape(NO_ERROR)})"
    return [Markup(re.sub(estimate, bold, str(escape(minus(part))))) for part in text.split("; ")]


def with_interval(value: float, low: float, high: float) -> str:
    """`0.52 [0.51, 0.53]`; what `Estimate` says where the interval has no width."""
    from pipeline.analysis.estimate import NO_ERROR, is_point  # xarray

    ends = NO_ERROR if is_point(value, low, high) else f"[{number(low, 3)}, {number(high, 3)}]"
    return f"{number(value, 3)} {ends}"


def percent(share: float) -> str:
    """A share in two significant digits: 0.012 → 1.2 %."""
    return (
        "–"
        if math.isnan(share)
        else f"{100 * share:.2g} %"
        if share < 0.995
        else f"{100 * share:,.0f} %"
    )


def about(variable: Any) -> str:
    """`meaning (unit)` of a variable, from its attributes; empty without meaning.

    A semicolon ends the meaning.
    """
    meaning = variable.attrs.get("long_name", "").partition(";")[0]
    unit = variable.attrs.get("units", "1")
    return f"{meaning} ({unit})" if meaning and unit not in ("1", meaning) else meaning


def axis_label(variable: Any) -> str:
    """Symbol and meaning for an axis: `ε: privacy budget of one comparison`."""
    name = symbol(variable.name)
    meaning = about(variable)
    return meaning if meaning.startswith(name) else name + (f": {meaning}" if meaning else "")


def metric_label(variable: Any, name: str) -> str:
    """Meaning and unit of a metric, or its name."""
    return about(variable) or symbol(name)


def product(names: Iterable[str]) -> str:
    """`m`, `L` → mL; longer names are put apart."""
    symbols = [symbol(name) for name in names]
    return ("" if all(len(s) == 1 for s in symbols) else "·").join(symbols)


def power(base: str, exponent: float) -> str:
    """`mL`, 0.5 → √(mL); others with a raised exponent."""
    whole = base if len(base) == 1 else f"({base})"
    if exponent == 0.5:
        return "√" + whole
    return base if exponent == 1 else whole + number(exponent).translate(SUPERSCRIPT)


def levels(labels: Mapping[str, Any]) -> str:
    """`m = 10, L = 400`."""
    return ", ".join(f"{symbol(name)} = {number(level)}" for name, level in labels.items())


def glossary(variables: Iterable[Any]) -> str:
    """`m: items. L: users.` for the variables that have a meaning."""
    known = {v.name: meaning for v in variables if (meaning := about(v)) not in ("", v.name)}
    return "; ".join(f"{symbol(name)}: {meaning}" for name, meaning in known.items()) + "." * bool(
        known
    )


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def count(n: int, what: str) -> str:
    """`1 cell`, `1,200 cells`."""
    return f"{n:,} {what}" + ("" if n == 1 else "s")
