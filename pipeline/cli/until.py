"""Stopping when all claims are decided: how many replications follow from what is sealed.

At every look the study with as many replications is sealed, and its claims are judged on it. Nothing else is kept: an
interrupted study goes through its looks again, on the replications that are there. So its results are those of the
same study with this number of replications, fixed in advance.
"""

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from pipeline.cli.sealed import reduced_by
from pipeline.cli.studies import StoredStudy
from pipeline.storage import results
from pipeline.storage.replications import Store
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study

if TYPE_CHECKING:  # loaded where a study stops by its claims
    import xarray as xr

Judged: TypeAlias = dict[tuple[str, str, int], bool]  # study, claim, replications at a look -> whether it is decided


def reached(stored: StoredStudy, judged: Judged) -> StoredStudy:
    """The study with the replications of the look at which all claims are decided, or of the next that is not sealed.

    judged: verdicts of this command, used and added to. Raises InvalidInput where no claim is judged.
    """
    import dask

    from pipeline.analysis.looks import judge_at
    from pipeline.cli.assess import claims_of

    study = stored.study
    claims = claims_of(stored.experiment)
    assert study.until
    if not claims:
        raise InvalidInput("until", "claims", f"{study.name} has no claims to decide, or claims=false; leave it out, "
                           "or give precision")
    looks = study.until.looks(study.block)
    name, known = _sealed(stored.store)
    data: xr.Dataset | None = None
    undecided = [*claims]
    for look in looks:
        if look.replications > known:
            break
        for claim in [*undecided]:
            key = study.name, claim.id, look.replications
            if key not in judged:
                data = results.load(stored.store, name) if data is None else data
                with dask.config.set(scheduler="synchronous"):
                    judged[key] = judge_at(claim, data, look) is not None
            if judged[key]:
                undecided.remove(claim)
        if not undecided:
            break
    return stored.grown(dataclasses.replace(study, replications=look.replications))


def _sealed(store: Store) -> tuple[str, int]:
    """Name and replications of the largest sealed results of the same cells, by the code here; "" and 0 without any.

    Without damaged ones, which are made again.
    """
    study, backend, found = store.study, store.backend, ("", 0)
    for where in results.places(backend):
        said = results.root_attributes(backend, where)
        number = said.get("replications", 0)
        if number > found[1] and said.get("reduced_by") == reduced_by(study) and said["request"] in _requests(
                study, number) and not results.problems_of(backend, where + results.SEALED):
            found = where + results.SEALED, number
    return found


def _requests(study: Study, replications: int) -> list[str]:
    """What results of so many replications of the study's cells may be: of a number fixed in advance, or of looks."""
    assert study.until and study.until.most
    variants = [None] if replications > study.until.most else [None, study.until]
    return [results.request(dataclasses.replace(study, replications=replications, until=one)) for one in variants]
