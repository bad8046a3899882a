"""Studies handed over, from Python: archived, checked, merged, compared with another part, shelved."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Literal, TypeAlias, TypedDict, Unpack

import threadpoolctl

from pipeline.execution.clusters import Cluster
from pipeline.library import requests
from pipeline.library.requests import Changes, ClusterLike, ExperimentLike
from pipeline.library.runs import BLAS_THREADS
from pipeline.study.parameters import path_of
from pipeline.study.untyped import ParameterValues
from pipeline.workflow import archive as archiving
from pipeline.workflow import kept_audit, site, standing
from pipeline.workflow import merge as merging
from pipeline.workflow import reproduce as reproducing
from pipeline.workflow.archive import ArchiveRequest
from pipeline.workflow.events import Archived, Event, Merged, Reproduced, SiteWritten
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.plain_requests import files_of, storage_of
from pipeline.workflow.reproduce import ReproduceRequest
from pipeline.workflow.rounds import continued
from pipeline.workflow.settings import Storage
from pipeline.workflow.standing import Standing, StandingRequest

PathLike: TypeAlias = str | os.PathLike[str]
SHARE = 0.01  # of all units, that are simulated again, 60 at least


class Places(TypedDict, total=False):
    """Where studies are, and files of people's data of which they were
    made.

    outputs: the folder of all studies. store: `url` and `timeout` of a
    bucket, where arrays are in one. data: `path`, `items` and `truth`.
    """

    outputs: PathLike
    store: Mapping[str, str | float | None]
    data: Mapping[str, PathLike]


def archive(
    *studies: str,
    save: PathLike,
    licence: str = "",
    cluster: ClusterLike = "local",
    **places: Unpack[Places],
) -> Archived:
    """Write finished studies to one zip file, which a stranger can check.

    studies: names as `list_studies` gives them; that of a suite stands for
    all of its studies. save: the file. licence: of the results, in words or
    by its address. places: see `Places`. People's data never go into it.
    Raises InvalidInput for a mistake, OSError for a full disk: the same
    call goes on.

    >>> import pipeline as pl
    >>> small = dict(size="quick", grid={"m": [2], "L": [50]}, cluster="synchronous", outputs="of")
    >>> results = pl.run("xu/lemmas", progress=False, **small)
    >>> page = pl.report("xu/lemmas", progress=False, **small)
    >>> (study,) = pl.list_studies("of")
    >>> archived = pl.archive(study.name, save="of.zip", outputs="of", cluster="synchronous")
    >>> archived.studies
    1
    >>> pl.reproduce("of.zip", cluster="synchronous").is_sound
    True
    >>> pl.shelf("of.zip", save="site").archives
    1
    """
    request = ArchiveRequest(
        outputs=path_of(os.fspath(places.get("outputs", "outputs")), "outputs"),
        names=",".join(studies) or None,
        save=os.fspath(save),
        cluster=_cluster(cluster),
        storage=_storage(places),
        files=_files(places),
        licence=licence,
    )
    with threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        return archiving.archive(request, _silent)


def reproduce(
    archive: PathLike,
    *,
    share: float = SHARE,
    data: Mapping[str, PathLike] | None = None,
    cluster: ClusterLike = "local",
) -> Reproduced:
    """Check an archive: some of its units are simulated again, all else is
    made again from these.

    share: of all units, 60 at least; they are drawn by a number that is
    made here. data: files of people's data, for studies that were made of
    such. `is_sound` says whether nothing is false, `most_false` what share
    of the units could be. Raises InvalidInput for what is no archive. See
    `archive` for an example.

    >>> import pipeline as pl
    >>> try:
    ...     pl.reproduce("nowhere.zip")
    ... except pl.InvalidInput as error:
    ...     print(error.key, "is refused")
    archive is refused
    """
    request = ReproduceRequest(
        archive=os.fspath(archive),
        cluster=_cluster(cluster),
        share=reproducing.checked_share(share),
        files=_files({"data": data or {}}),
    )
    with threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        return reproducing.reproduce(request, _silent)


def merge(
    experiment: ExperimentLike,
    origin: PathLike,
    *,
    contributor: str | None = None,
    recompute: int = 20,
    cluster: ClusterLike = "local",
    **changes: Unpack[Changes],
) -> Merged:
    """Take in units of the same study that another person simulated, after
    a check.

    origin: the other person's folder of outputs, the study's folder in it,
    or s3://BUCKET/PREFIX. contributor: name of that person, as results have
    it ever after. recompute: units of each writer there that are simulated
    here again. Other arguments as in `pipeline.run`, which then seals.
    Raises InvalidInput where something is false: nothing is merged.

    >>> import pipeline as pl
    >>> small = dict(size="quick", grid={"m": [2], "L": [50]}, cluster="synchronous")
    >>> results = pl.run("xu/lemmas", progress=False, outputs="ada", **small)
    >>> merged = pl.merge("xu/lemmas", "ada", contributor="Ada", outputs="mine", **small)
    >>> merged.contributor, merged.units == merged.writers[0].recomputed > 0
    ('Ada', True)
    """
    job = requests.read(experiment, changes, cluster, "merge")
    settings = dataclasses.replace(
        job.settings, origin=os.fspath(origin), contributor=contributor, recompute=recompute
    )
    (stored,) = job.studies
    stored.store.backend.check()
    stored.store.exists()
    checked = dataclasses.replace(job, settings=settings, studies=(continued(stored),))
    with threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        (merged,) = merging.merge(checked)
    return merged


def compare_against(
    study: str,
    *,
    mechanism: str | None = None,
    estimator: str | None = None,
    parameters: ParameterValues | None = None,
    metric: str | None = None,
    better: Literal["lower", "higher"] = "lower",
    cluster: ClusterLike = "local",
    **places: Unpack[Places],
) -> Standing:
    """Simulate another mechanism or estimator on all cells of a finished
    study, and compare.

    study: its name, as `list_studies` gives it. mechanism, estimator: the
    parts that take the place of all others; parameters: of them. metric: by
    which; None: the study's first. better: which of its values are. The
    same data, so that differences are paired. places: see `Places`. Raises
    InvalidInput for a mistake, and what `pipeline.run` raises.

    >>> import pipeline as pl
    >>> small = dict(size="quick", grid={"m": [2], "L": [50]}, cluster="synchronous", outputs="old")
    >>> results = pl.run("xu/lemmas", progress=False, **small)
    >>> page = pl.report("xu/lemmas", progress=False, **small)
    >>> (study,) = pl.list_studies("old")
    >>> standing = pl.compare_against(study.name, mechanism="randomized_response", outputs="old",
    ...                               cluster="synchronous")
    >>> [opponent.count(0) for opponent in standing.opponents]
    [4]
    """
    parts = {"mechanism": mechanism, "estimator": estimator}
    request = StandingRequest(
        outputs=path_of(os.fspath(places.get("outputs", "outputs")), "outputs"),
        against=study,
        parts={role: name for role, name in parts.items() if name is not None},
        cluster=_cluster(cluster),
        invocation=Invocation(("compare", f"against={study}")),
        parameters=parameters or {},
        metric=metric,
        better=better,
        storage=_storage(places),
        files=_files(places),
    )
    with threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        return standing.stand(request)


def shelf(*archives: PathLike, save: PathLike) -> SiteWritten:
    """Write a static site of archives: an index with a search field, pages,
    downloads.

    archives: files, or folders of them. save: the folder of the site.
    Raises InvalidInput for what is no archive, and for a folder with files
    of somebody else. See `archive` for an example.

    >>> import pipeline as pl
    >>> try:
    ...     pl.shelf("nowhere.zip", save="empty")
    ... except pl.InvalidInput as error:
    ...     print(error.key, "is refused")
    archives is refused
    """
    names = ",".join([os.fspath(path) for path in archives])
    return site.shelf(names or None, os.fspath(save), _silent)


def _silent(event: Event) -> None:
    """Nobody listens: a call returns what was done."""


def _cluster(cluster: ClusterLike) -> Cluster:
    return kept_audit.cluster_of(cluster)


def _storage(places: Places) -> Storage:
    """Where arrays are, if not in the folders of studies."""
    store = places.get("store", {})
    return storage_of({f"store.{key}": value for key, value in store.items()})


def _files(places: Places) -> dict[str, str]:
    """Files of people's data, by path, items and truth."""
    data = places.get("data", {})
    return files_of({f"data.{name}": os.fspath(path) for name, path in data.items()})
