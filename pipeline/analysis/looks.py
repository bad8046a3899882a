"""Claims judged at looks, until each is decided; see `pipeline.study.until` for what a look may err."""

import json
from dataclasses import replace

import xarray as xr

from pipeline.analysis import claims
from pipeline.analysis.claims import INCONCLUSIVE, NOT_TESTED, Check, Claim, Judgement, check_of, with_control
from pipeline.analysis.measures import spending
from pipeline.analysis.summary import REPLICATION
from pipeline.study.until import Look, Until

UNTIL = "until"  # attribute of results that stop when claims are decided


def judge(claim: Claim, results: xr.Dataset) -> Judgement:
    """Decide a claim on results: once or, where their study stops when claims are decided, at its looks.

    Then the judgement is that of the first look at which it is decided, else of the last one that the results reach,
    on its replications alone: those that were simulated later for other claims do not change it.
    """
    if UNTIL not in results.attrs:
        return claims.judge(claim, results)
    asked, block = json.loads(results.attrs[UNTIL]), json.loads(results.attrs["study"])["block"]
    until, whole = Until(**asked), complete(results)
    looks = until.looks(block)
    reached = [look for look in looks if look.replications <= whole]
    if not reached:
        check = Check(INCONCLUSIVE, None, f"a cell has {whole} replications, the first look is after "
                                          f"{looks[0].replications:,}")
        return Judgement(claim, check, check)
    found = ((number, judge_at(claim, results, look, look == reached[-1])) for number, look in enumerate(reached, 1))
    number, judgement = next((number, one) for number, one in found if one)
    check, look = judgement.check, reached[number - 1]
    if check.estimate is None:
        return judgement
    text = (f"after {look.replications:,} replications (look {number} of {len(looks)}, error probability "
            f"{1 - check.confidence:.2g}): {check.text}")
    return replace(judgement, check=replace(check, text=text))


def judge_at(claim: Claim, results: xr.Dataset, look: Look, always: bool = False) -> Judgement | None:
    """Decide a claim on the replications up to a look, at the look's share of the error; None unless it is certain.

    It is once the verdict is decided, and so is that on the control; and where a claim is not tested, as data or levels
    are not there, since further replications would not bring them. always: give the judgement all the same.
    """
    part = results.isel({REPLICATION: slice(look.replications)})
    with spending(look.share):
        check = check_of(claim, part)
        if check.verdict == INCONCLUSIVE and not always:
            return None
        judgement = with_control(claim, check, part)
    certain = check.verdict == NOT_TESTED or check.verdict != INCONCLUSIVE and judgement.sound
    return judgement if certain or always else None


def complete(results: xr.Dataset) -> int:
    """From the first on, replications that were run in all cells of the study."""
    run = (results["status"] > 0).compute()
    cells = run.any(REPLICATION)
    if int(cells.sum()) < results.attrs.get("cells", 0):
        return 0
    whole = (run | ~cells).all([axis for axis in run.dims if axis != REPLICATION])
    return int(whole.cumprod(REPLICATION).sum())
