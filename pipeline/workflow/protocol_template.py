"""The 20 questions of ADEMP-PreReg in its 7 sections, and what a study answers of them.

Source: B. S. Siepe, F. Bartoš, T. P. Morris, A.-L. Boulesteix, D. W. Heck, S. Pawel, Simulation
studies for methodological research in psychology: a standardized template for planning,
preregistration, and reporting, Psychological Methods (2024), doi 10.1037/met0000695; CC BY 4.0. The
questions are shortened here.
"""

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.identity.registry import problem
from pipeline.storage import results
from pipeline.study.checks import ROLES
from pipeline.study.parameters import DataFile
from pipeline.study.problem import is_of_a_paper
from pipeline.study.study import Study
from pipeline.workflow import provenance, statements
from pipeline.workflow.experiment import Experiment

if TYPE_CHECKING:  # loads SciPy
    from pipeline.analysis.claims import Claim

MOST_LEVELS = 24  # of an axis that are written out
SECTIONS = (
    "General information",
    "Aims",
    "Data-generating mechanism",
    "Estimands and targets",
    "Methods",
    "Performance measures",
    "Other",
)
CITATION = (
    "The questions are those of ADEMP-PreReg (Siepe, Bartoš, Morris, Boulesteix, Heck and Pawel, "
    "Psychological Methods 2024, https://doi.org/10.1037/met0000695; template at "
    "https://github.com/bsiepe/ADEMP-PreReg, CC BY 4.0), shortened. ADEMP is by Morris, White and "
    "Crowther, Statistics in Medicine 38 (2019) 2074."
)


@dataclass(frozen=True)
class Question:
    """A question of the template. section: its number, from 0. answer: empty where only people
    know it.
    """

    section: int
    text: str
    answer: str = ""


def questions(experiment: Experiment, claims: "Sequence[Claim]", command: str) -> list[Question]:
    """All 20 questions, those with an answer that the experiment gives. command: that runs it."""
    study = experiment.study
    return [
        *_general(experiment, claims),
        *_data(study),
        *_methods(study, claims),
        *_performance(study, claims),
        *_other(command, study),
    ]


def _general(experiment: Experiment, claims: "Sequence[Claim]") -> Iterator[Question]:
    study = experiment.study
    text = experiment.text
    described = problem(study.problem)
    description = (
        f"A Monte Carlo study of the problem “{described.title}”: {len(study.grid):,} cells, "
        f"{len(study.metrics)} metrics, {len(claims)} claims to be judged."
    )
    if claims and described.paper and is_of_a_paper(study.name):
        description += f" The claims are those of {described.paper}."
    yield Question(0, "What is the title of the project?", text.title or study.name)
    yield Question(0, "Who are the current and future contributors?")
    yield Question(0, "Describe the project.", description)
    yield Question(
        0, "Did any contributor already conduct related simulations on this specific question?"
    )
    yield Question(1, "What is the aim of the simulation study?", text.question)


def _data(study: Study) -> Iterator[Question]:
    """The section on the data-generating mechanism."""
    constants = []
    for name, value in study.parameters.items():
        if name not in ROLES and not isinstance(value, DataFile):
            constants.append(f"{name} = {value}")
    specified = _parts(study, "model")
    if constants:
        specified += f"\nConstants: {', '.join(constants)}."
    source = statements.source(study)
    if source:
        specified += f"\nData: {source}"
    yield Question(2, "How are the parameters of the mechanism specified?", specified)
    varied = [axis for axis, levels in study.grid.axes.items() if len(levels) > 1]
    factors = ", ".join(varied) or "none; there is one condition"
    yield Question(2, "What are the factors?", factors)
    yield Question(2, "What are the values of the factors, and other settings?", _levels(study))
    yield Question(2, "How are levels combined, and into how many conditions?", _combined(study))


def _levels(study: Study) -> str:
    lines = []
    for axis, levels in study.grid.axes.items():
        shown = [str(level) for level in levels[:MOST_LEVELS]]
        if len(levels) > MOST_LEVELS:
            shown.append(f"and {len(levels) - MOST_LEVELS} more, to {levels[-1]}")
        lines.append(f"- {axis}: {', '.join(shown)}")
    for name, derivation in study.derive.items():
        lines.append(f"- {name}: derived by {derivation}")
    return "\n".join(lines)


def _combined(study: Study) -> str:
    full = 1
    for levels in study.grid.axes.values():
        full *= len(levels)
    cells = len(study.grid)
    if cells == full:
        return f"Fully factorial: {cells:,} conditions."
    return f"Partially factorial: {cells:,} of {full:,} combinations."


def _methods(study: Study, claims: "Sequence[Claim]") -> Iterator[Question]:
    """The sections on estimands and on methods."""
    estimands = "The truth that the model draws in each replication."
    for claim in claims:
        estimands += f"\n- {claim.estimand} (`{claim.id}`)"
    yield Question(3, "What are the estimands and targets?", estimands)
    parts = f"{_parts(study, 'mechanism')}\n{_parts(study, 'estimator')}"
    if study.paired_axes:
        parts += f"\nCompared on the same data: levels of {', '.join(study.paired_axes)}."
    yield Question(4, "Which methods are included, and what is extracted?", parts)


def _parts(study: Study, role: str) -> str:
    """The parts of a role, each with what the code says of it."""
    lines = [f"{role.capitalize()}:"]
    for name, meaning in statements.parts(study)[role].items():
        lines.append(f"- {name}: {meaning}")
    return "\n".join(lines)


def _performance(study: Study, claims: "Sequence[Claim]") -> Iterator[Question]:
    """The section on performance measures."""
    measures = ["Means over replications of:"]
    for name in study.metrics:
        metric = study.metric(name)
        measures.append(f"- {name}: {metric.long_name} [{metric.units}]")
    yield Question(5, "Which performance measures are used?", "\n".join(measures))
    yield Question(
        5,
        "How is Monte Carlo uncertainty calculated and reported?",
        "Every mean has its Monte Carlo standard error and an interval, in the table, in the "
        "figures and on the page; intervals that decide one claim hold together.",
    )
    yield Question(5, "How many repetitions are used for each condition?", _repetitions(study))
    yield Question(
        5,
        "How are missing values handled, of non-convergence or other reasons?",
        "Replications that fail, do not converge or are not finite are counted and shown for every "
        "cell. Means are over the finite values; the page says how far missing values could move "
        "them, and intervals that decide claims are wider by that.",
    )
    decided = [f"- `{claim.id}`: {claim.statement} Tolerated: {claim.claimed}." for claim in claims]
    interpretation = ""
    if decided:
        interpretation = "By these claims and tolerances, and no others:\n" + "\n".join(decided)
    yield Question(5, "How are the performance measures interpreted?", interpretation)


def _repetitions(study: Study) -> str:
    many = f"{study.replications:,}"
    if study.precision:
        targets = "; ".join(map(str, study.precision))
        return f"Until each group of cells reaches {targets}, {many} at most."
    if study.until:
        return f"{study.until}; {many} at most."
    if study.refine:
        return f"{many}, fixed in advance, also for levels that are added: {study.refine}."
    return f"{many}, fixed in advance. (Why so many: people say.)"


def _other(command: str, study: Study) -> Iterator[Question]:
    """The last section."""
    packages = ", ".join(f"{name} {number}" for name, number in results.versions().items())
    commit = provenance.commit()
    at_commit = f"; commit {commit} of the program" if commit else ""
    yield Question(6, "Which software and packages are used?", f"{packages}{at_commit}.")
    machine = f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield Question(
        6,
        "Which computational environment is used?",
        f"This protocol was written on {machine}; the machine and the versions of every session of "
        "work are stored with the results.",
    )
    yield Question(
        6,
        "Which other steps make the results reproducible?",
        f"Seed {study.seed}, one stream of Philox for each cell, block and role; every stored "
        f"number knows the code that made it. To run the study:\n\n    {command}",
    )
    yield Question(6, "Is there anything else to preregister?")


def markdown(title: str, questions: Sequence[Question], facts: Mapping[str, Any]) -> str:
    """The protocol as Markdown. facts: name -> value, of the lines above the questions."""
    lines = [f"# Protocol: {title}", "", CITATION, ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    section = -1
    for number, question in enumerate(questions, 1):
        if question.section != section:
            section = question.section
            lines += ["", f"## {section + 1}. {SECTIONS[section]}"]
        answer = question.answer or "*To be answered by the contributors.*"
        lines += ["", f"**{number}. {question.text}**", "", answer]
    return "\n".join(lines) + "\n"
