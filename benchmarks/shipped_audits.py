"""`make audit`: audit every mechanism that ships, in each way to state its budget, and write the
table of docs/audits.md.

Words: problems or mechanisms, such as `crowd` or `crowd/noisy_votes`; and `samples=100000`. With
words the table is printed and not written. It ends with 1 where a promise is broken.

Rows are kept in outputs/audits, so that the same command goes on where it was stopped, as long as the
code is the same. Cheap problems are first.
"""

import dataclasses
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pipeline
from benchmarks.kept_answers import Kept
from pipeline.auditing.verdict import Audited
from pipeline.identity.registry import problems
from pipeline.study.parameters import InvalidInput, fields
from pipeline.workflow.audit import perform, read_request

PAGE = Path("docs/audits.md")
SAMPLES = 20_000  # of either data set
DELTA = 1e-3  # of budgets at δ: one that samples can see
BUDGETS = ("epsilon", "epsilon_user", "person")
GRID = 2.0**-20
SECONDS = 3_600.0  # of an audit, and of a call: rows do not depend on how busy the machine is
SLOW = {"clustering/noisy_co_occurrences": 10}  # which get so many times fewer samples
ORDER = ("response", "crowd", "ranking", "clustering")  # of auditing: the cheap ones first
IN_FLOATS = {"ranking/laplace"}  # whose noise is in floating-point arithmetic
SOME = {"m": 3, "n": 3, "L": 3}  # sizes where each person answers two questions
ALONE = {"n": 1}  # of local mechanisms, whose people do not hide each other
OTHERS: Mapping[str, Sequence[Mapping[str, object]]] = {  # further forms of mechanisms
    "crowd/noisy_votes": ({"person": 1.0, "votes": "net"}, {"person": 1.0, "votes": "public"}),
    "ranking/noisy_counts": ({"person": 1.0, "L": 2, "compared_are": "public"},),
    "response/discrete_gaussian": (
        {"epsilon_user": 1.0, "conversion": "exact"},
        {"epsilon_user": 1.0, "calibration": "paper"},
        {"epsilon_user": 1.0, "neighbours_are": "add_remove"},
    ),
    "response/randomized_response": ({"epsilon_user": 1.0, "shuffled": True, "n": 2},),
    "clustering/pairwise_preference": ({"person": 1.0, "rated_set": "public"},),
}
HEAD = """# Audits of what ships

`make audit` wrote this table: every mechanism that promises something, in each way to state its
budget, at small sizes, for a promise of ε = 1 for an answer or a person. *Exact* are laws that
follow from all paths of the code, and sensitivities of integer noise; other bounds are certified
with {confidence:g} % confidence by {samples:,} samples of either data set at most, and a weak bound
says that few samples show little, not that little is spent. [Audit](audit.md) explains the columns.

| mechanism | parameters | promises | verdict | ε is at least | how |
| --- | --- | --- | --- | --- | --- |
"""
TAIL = """
Faults that the same audits would have found are not counted here: `pipeline audit …` does so for one
mechanism at a time, and `python -m benchmarks planted_faults` for several.

The Laplace mechanism of rankings is a simulation in floating-point numbers, whose last bits tell the
data, as Mironov (2012) says of all such noise. It must release nobody's data, and `release` does not
offer it. With `grid=2**-20`, which rounds what is released, nothing else is found.
"""


@dataclass(frozen=True)
class Case:
    """One audit. name: problem/mechanism. parameters: those that are not as small as by default."""

    name: str
    parameters: Mapping[str, object]

    def entries(self, samples: int) -> dict[str, object]:
        """The words of `pipeline audit`."""
        problem, _, mechanism = self.name.partition("/")
        options = {"samples": samples // SLOW.get(self.name, 1), "repeats": 0}
        limits = {"seconds": SECONDS, "call_seconds": SECONDS}
        return {
            "problem": problem,
            "mechanism": mechanism,
            **options,
            **limits,
            **self.parameters,
        }

    def __str__(self) -> str:
        parameters = [f"{key}={_text(value)}" for key, value in self.parameters.items()]
        return f"| `{self.name}` | {', '.join(parameters)}"

    @property
    def is_in_floats(self) -> bool:
        """Whether its noise is known to be in floating-point numbers, and nothing is rounded."""
        return self.name in IN_FLOATS and "grid" not in self.parameters


@dataclass(frozen=True)
class Row:
    """A row of the table. contradicted: whether the promise is broken, but for noise in floats."""

    text: str
    contradicted: bool

    @classmethod
    def of(cls, case: Case, audited: Audited) -> "Row":
        """The row of an answer."""
        how = "exact" if audited.exact else f"{audited.samples:,} samples"
        bound = f"{audited.epsilon_lower:.4f}"
        text = f"{case} | {audited.promise} | {audited.verdict} | {bound} | {how} |"
        return cls(text, audited.violates and not case.is_in_floats)


def cases() -> Iterator[Case]:
    """Every mechanism that promises something, with each of its budgets, and with few questions."""
    for problem in problems().values():
        if problem.audits is None:
            continue
        for mechanism in problem.names("mechanism"):
            part = problem.part("mechanism", mechanism)
            if not part.guarantee.protected:
                continue
            name = f"{problem.name}/{mechanism}"
            is_local = part.guarantee.trust == "nobody"
            every = [*_parameters(set(fields(part)), is_local), *OTHERS.get(name, ())]
            for parameters in every:
                yield Case(name, parameters)
                if name in IN_FLOATS:
                    yield Case(name, {**parameters, "grid": GRID})


def _parameters(known: set[str], is_local: bool) -> Iterator[dict[str, object]]:
    """Each way to state a budget, and one of two questions to a person."""
    for budget in BUDGETS:
        if budget in known:
            yield {budget: 1.0}
    if "person_delta" in known:
        yield {"person": 1.0, "person_delta": DELTA}
    sizes = {**SOME, **ALONE} if is_local else SOME
    if "questions" in known:
        own_sizes = {name: count for name, count in sizes.items() if name in known}
        yield {"person": 1.0, "questions": 2, **own_sizes}
    if "Q" in known:
        yield {"person": 1.0, "Q": 2}


def audited(case: Case, samples: int = SAMPLES) -> Row:
    """Audit a case."""
    try:
        return Row.of(case, perform(read_request(case.entries(samples))))
    except InvalidInput as error:
        return Row(f"{case} | | not audited | | {error} |", False)


def every_row(chosen_cases: Sequence[Case], samples: int) -> list[Row]:
    """The rows of cases, in their order; those that were kept are not audited again."""
    kept = Kept("shipped_audits")
    code = code_digest()
    names = {f"{code} {samples} {case}": case for case in chosen_cases}
    for name in names:
        if name in kept.answers:
            print(kept.answers[name]["text"], flush=True)
    for name, case in kept.missing(sorted(names.items(), key=_by_cost), None):
        row = audited(case, samples)
        kept.add(name, dataclasses.asdict(row))
        print(row.text, flush=True)
    return [Row(**kept.answers[name]) for name in names]


def _by_cost(entry: tuple[str, Case]) -> int:
    problem = entry[1].name.partition("/")[0]
    return ORDER.index(problem) if problem in ORDER else len(ORDER)


def code_digest() -> str:
    """A digest of all modules of the program."""
    sha = hashlib.sha256()
    for path in sorted(Path(pipeline.__file__).parent.rglob("*.py")):
        sha.update(path.read_bytes())
    return sha.hexdigest()[:16]


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def chosen(names: Sequence[str]) -> list[Case]:
    """The cases of some problems or mechanisms; all without names."""
    every = list(cases())
    known = {name for case in every for name in (case.name, case.name.partition("/")[0])}
    for name in names:
        if name not in known:
            raise InvalidInput("make audit", name, f"must be one of {', '.join(sorted(known))}")
    if not names:
        return every
    return [case for case in every if {case.name, case.name.partition("/")[0]} & set(names)]


def main(words: Sequence[str] = ()) -> int:
    """Audit, print rows as they come, and write the page if all was audited."""
    samples = SAMPLES
    names = []
    for word in words:
        key, _, value = word.partition("=")
        if key == "samples" and value.isdecimal():
            samples = int(value)
        else:
            names.append(word)
    rows = every_row(chosen(names), samples)
    if not names:
        text = HEAD.format(confidence=99.9, samples=samples)
        PAGE.write_text(text + "\n".join(row.text for row in rows) + "\n" + TAIL)
        print(f"wrote {PAGE}")
    return int(any(row.contradicted for row in rows))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except InvalidInput as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
