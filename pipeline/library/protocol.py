"""`protocol` in Python: what is decided before a study runs, kept with it."""

import dataclasses
import os
from typing import Unpack

from pipeline.library import requests
from pipeline.library.requests import Changes, ExperimentLike
from pipeline.workflow import protocol as workflow
from pipeline.workflow.protocol import WrittenProtocol
from pipeline.workflow.settings import Registration


def protocol(
    experiment: ExperimentLike,
    *,
    save: str | os.PathLike[str] | None = None,
    url: str | None = None,
    date: str | None = None,
    **changes: Unpack[Changes],
) -> WrittenProtocol:
    """Write down what is decided before a study runs; its report then lists every deviation.

    save: a file of Markdown, with the 20 questions of ADEMP-PreReg, those filled in that the
    experiment answers. url, date: where and when it was published, which may be given later by the
    same call. Other arguments as in `pipeline.run`. Raises InvalidInput for a mistake, and where
    another protocol of the study is kept.

    >>> import pipeline as pl
    >>> written = pl.protocol("xu/lemmas", size="quick", outputs="planned")
    >>> written.answered, len(written.questions)
    (17, 20)
    """
    job = requests.read(experiment, changes, task="protocol")
    settings = dataclasses.replace(
        job.settings,
        save=None if save is None else os.fspath(save),
        protocol=Registration(url, date),
    )
    (written,) = workflow.write(dataclasses.replace(job, settings=settings))
    return written
