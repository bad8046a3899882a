"""What a protocol fixes: everything that can change a number, a verdict or which numbers are shown.

A plain mapping, kind -> key -> value, so that two of them can be compared entry by entry and no
difference can be overlooked.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pipeline.execution.runner import parts
from pipeline.identity.fingerprints import fingerprint
from pipeline.identity.patches import at_one_moment
from pipeline.study import refinement, statistics, until
from pipeline.study.parameters import DataFile
from pipeline.study.study import Study
from pipeline.study.targets import config_of
from pipeline.study.untyped import Json
from pipeline.workflow.config import read_experiment
from pipeline.workflow.own_experiments import products_of
from pipeline.workflow.studies import StoredStudy

if TYPE_CHECKING:  # loads SciPy
    from pipeline.analysis.claims import Claim

Fixed: TypeAlias = Mapping[str, Mapping[str, Any]]

LEVELS = "levels"
COMBINATIONS = "combinations of levels"
REPLICATIONS = "replications"
SEED = "seed"
TOLERANCE = "tolerance"
CLAIM = "claim"
METRICS = "metrics"
CODE = "code"
PARAMETERS = "parameters"
DATA = "data"
RULES = "stopping rule"
STUDY = "study"
KINDS = (
    LEVELS,
    COMBINATIONS,
    REPLICATIONS,
    SEED,
    METRICS,
    PARAMETERS,
    DATA,
    RULES,
    STUDY,
    CLAIM,
    TOLERANCE,
    CODE,
)


def requested(stored: StoredStudy) -> Study:
    """The study as its config asks for it, without the levels and replications that its own rules
    added on the way.
    """
    study = stored.study
    if study.refine or study.until:
        return read_experiment(stored.raw, others=True).study
    return study


def fixed_by(study: Study, claims: Sequence["Claim"]) -> Fixed:
    """What a protocol of a study with some claims fixes, as JSON has it."""
    constants = {}
    files = {}
    for name, value in study.parameters.items():
        if isinstance(value, DataFile):
            files[name] = str(value)
        else:
            constants[name] = value
    with at_one_moment():  # many parts need the same modules
        code = {name: fingerprint(part) for name, part in parts(study).items()}
        described = {claim.id: _description(claim) for claim in claims}
    fixed = {
        LEVELS: {axis: list(levels) for axis, levels in study.grid.axes.items()},
        COMBINATIONS: {"grid": _combinations(study)},
        REPLICATIONS: {"of a cell": study.replications},
        SEED: {"seed": study.seed},
        METRICS: {name: _meaning(study, name) for name in study.metrics},
        PARAMETERS: constants,
        DATA: files,
        RULES: _rules(study),
        STUDY: _rest(study),
        CLAIM: described,
        TOLERANCE: {claim.id: claim.claimed for claim in claims},
        CODE: code,
    }
    as_json: dict[str, dict[str, Any]] = json.loads(json.dumps(fixed))
    return as_json


def _combinations(study: Study) -> Json:
    """Which axes are combined with which; levels that all products share are no matter of it."""
    products = products_of(study.grid)
    return "all" if isinstance(products, dict) else products


def _meaning(study: Study, name: str) -> str:
    """What a metric measures, in its unit."""
    metric = study.metric(name)
    return f"{metric.long_name} [{metric.units}]"


def _rules(study: Study) -> dict[str, Any]:
    """What ends a study, or adds levels to it."""
    rules = {
        "precision": config_of(study.precision),
        "refine": refinement.config_of(study.refine),
        "until": until.config_of(study.until),
    }
    return {name: rule for name, rule in rules.items() if rule}


def _rest(study: Study) -> dict[str, Any]:
    """What else is part of a study's identity, or of what it shows."""
    rest = {
        "problem": study.problem,
        "block": study.block,
        "derive": dict(study.derive),
        "paired": sorted(study.paired),
        "coordinates": list(study.coordinates),
    }
    if study.statistics:
        rest["statistics"] = statistics.config_of(study.statistics)
    return rest


def _description(claim: "Claim") -> dict[str, str]:
    """What a claim says, on which cells, and what makes it wrong."""
    return {
        "statement": claim.statement,
        "estimand": claim.estimand,
        "conditions": claim.conditions,
        "control": claim.control.description,
        "code": fingerprint(claim.measure.compute),
    }
