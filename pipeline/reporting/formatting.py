"""Names, labels and numbers as a reader wants them, from the attributes of a dataset."""

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pipeline.study.untyped import CellLabels

if TYPE_CHECKING:
    import xarray as xr

    from pipeline.analysis.estimate import Estimate

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
FRACTIONS = {(1, 2): "½", (1, 3): "⅓", (2, 3): "⅔", (1, 4): "¼", (3, 4): "¾"}
SUPERSCRIPT = str.maketrans("0123456789-−.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻·")


def symbol(name: str) -> str:
    """`epsilon` → ε, `epsilon_user` → ε user, `top_k` → top k, anything else as it is."""
    return " ".join(GREEK.get(part, part) for part in name.split("_"))


def number(value: object, digits: int = 6) -> str:
    """A number without exponent where that is shorter: 1,600, 0.02, ∞.

    A word with blanks for underscores.
    """
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str):
        return str(value).replace("_", " ")
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = format(value, _format_of(value, digits)).replace("-", "−")
    return text.replace("e−0", "e−").replace("e+0", "e")


def _format_of(value: float, digits: int) -> str:
    """How Python shall write a finite number."""
    size = abs(value)
    if value and not 1e-5 <= size < 1e9:
        return ".3g"
    if size < 10**digits:
        return f",.{digits}g"
    return ",.0f"


def three(value: float) -> str:
    """A number in three digits, zeros and all: 0.700, 12.0, 1,234."""
    if 1e-4 <= abs(value) < 999.5:
        return f"{value:#.3g}".rstrip(".").replace("-", "−")
    return number(value, 3)


def fraction(value: float) -> str:
    """`−½` for −0.5, and so for thirds and quarters; other numbers as they are."""
    from fractions import Fraction

    near = Fraction(abs(value)).limit_denominator(4)
    sign = FRACTIONS.get((near.numerator, near.denominator))
    if sign is None or abs(near - abs(value)) > 1e-3:
        return number(value)
    return f"−{sign}" if value < 0 else sign


def interval(estimate: "Estimate") -> str:
    """An Estimate with its interval and a true minus sign.

    `not determined` where the data say nothing.
    """
    if math.isnan(estimate.value):
        return "not determined"
    return minus(str(estimate)).replace("inf", "∞")


def minus(text: str) -> str:
    """Text with true minus signs in front of its numbers."""
    return re.sub(r"(?<![\w)\]])-(?=[\d.]|inf)", "−", text)


def check_lines(text: str) -> list[Any]:
    """The text of a check as lines of Markup: one for each part that a semicolon ends.

    Estimates and their intervals are in bold.
    """
    from markupsafe import Markup, escape

    from pipeline.analysis.estimate import NO_ERROR

    estimate = rf"(?:nan|−?[\d.]+(?:e[+−-]?\d+)?) (?:\[[^\[\]]*\]|{re.escape(NO_ERROR)})"
    lines = []
    for part in text.split("; "):
        safe = str(escape(minus(part)))
        lines.append(Markup(re.sub(estimate, _bold, safe)))
    return lines


def _bold(estimate: re.Match[str]) -> str:
    """An estimate with its interval in bold, or that nothing is known."""
    if estimate[0].startswith("nan"):
        return "not determined"
    return f"<b>{estimate[0].replace('inf', '∞')}</b>"


def with_interval(value: float, low: float, high: float) -> str:
    """`0.52 [0.51, 0.53]`; what `Estimate` says where the interval has no width."""
    from pipeline.analysis.estimate import NO_ERROR, is_point  # xarray

    if is_point(value, low, high):
        return f"{number(value, 3)} {NO_ERROR}"
    return f"{number(value, 3)} [{number(low, 3)}, {number(high, 3)}]"


def percent(share: float) -> str:
    """A share in two significant digits: 0.012 → 1.2 %."""
    if math.isnan(share):
        return "–"
    if 0 < share < 1e-6:
        return "less than 0.0001 %"
    if share < 0.995:
        return f"{100 * share:.2g} %"
    return f"{100 * share:,.0f} %"


def about(variable: "xr.DataArray") -> str:
    """`meaning (unit)` of a variable, from its attributes; empty without meaning.

    A semicolon ends the meaning.
    """
    meaning: str = variable.attrs.get("long_name", "").partition(";")[0]
    unit = variable.attrs.get("units", "1")
    if meaning and unit not in ("1", meaning):
        return f"{meaning} ({unit})"
    return meaning


def axis_label(variable: "xr.DataArray") -> str:
    """Symbol and meaning for an axis: `ε: privacy budget of one comparison`."""
    name = symbol(str(variable.name))
    meaning = about(variable)
    if not meaning:
        return name
    if meaning.startswith(name):
        return meaning
    return f"{name}: {meaning}"


def metric_label(variable: "xr.DataArray", name: str) -> str:
    """Meaning and unit of a metric, or its name."""
    return about(variable) or symbol(name)


def product(names: Iterable[str]) -> str:
    """`m`, `L` → mL; longer names are put apart."""
    symbols = [symbol(name) for name in names]
    are_letters = all(len(text) == 1 for text in symbols)
    return "".join(symbols) if are_letters else "·".join(symbols)


def power(base: str, exponent: float) -> str:
    """`mL`, 0.5 → √(mL); others with a raised exponent."""
    whole = base if len(base) == 1 else f"({base})"
    if exponent == 0.5:
        return "√" + whole
    if exponent == 1:
        return base
    return whole + number(exponent).translate(SUPERSCRIPT)


def levels(labels: CellLabels) -> str:
    """`m = 10, L = 400`."""
    return ", ".join(f"{symbol(name)} = {number(level)}" for name, level in labels.items())


def glossary(variables: Iterable[Any]) -> str:
    """`m: items. L: users.` for the variables that have a meaning."""
    known = {}
    for variable in variables:
        meaning = about(variable)
        if meaning not in ("", variable.name):
            known[variable.name] = f"{symbol(variable.name)}: {meaning}"
    if not known:
        return ""
    return f"{'; '.join(known.values())}."


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = words
    if not others:
        return last
    return f"{', '.join(others)} and {last}"


def count(n: int, thing: str) -> str:
    """`1 cell`, `1,200 cells`."""
    if n == 1:
        return f"1 {thing}"
    return f"{n:,} {thing}s"


def capitalised(text: str) -> str:
    """A text whose first letter is a capital; the others stay as they are."""
    return text[:1].upper() + text[1:]
