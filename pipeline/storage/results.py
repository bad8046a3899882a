"""The sealed results of a study: a labelled dataset, `results.zarr`, for `xarray.open_zarr`.

Dimensions: the axes of the grid, then replication. Cells outside of a non-rectangular
grid hold NaN and status 0. Written region by region, in shards of checksummed chunks,
one writer a shard; the root document comes last. It holds a digest of every file and of
itself, so that a copy can be checked without the study.
"""

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pipeline.identity.fingerprints import fingerprint
from pipeline.storage.backend import ROOT, Files, Hierarchies, Unreachable
from pipeline.storage.datasets import ZarrLocation, file_digest
from pipeline.storage.replications import Store
from pipeline.study.files import PARTIAL
from pipeline.study.parameters import InvalidInput
from pipeline.study.streams import canonical, digest
from pipeline.study.study import Study
from pipeline.study.untyped import JsonObject

if TYPE_CHECKING:  # imported where it is used: asking for the status must not wait for it
    import xarray as xr

PACKAGES = ("numpy", "scipy", "xarray", "zarr", "dask", "distributed", "hydra-core")
IN_MEMORY = 2**28  # bytes of a dataset that a process may read at once
SEALED = "results.zarr"
SUMMARY = "summary.zarr"
INTERIM = "interim.zarr", "interim-summary.zarr"
PAIRS = (SEALED, SUMMARY), INTERIM  # of replications and their moments
REPAIR = "task=verify repair=true removes it, and the same command makes it again"
REPORT_AGAIN = "task=report makes it again"
# Has a folder for every request whose results lie beside those of a larger one.
REQUESTS = "requests"


@lru_cache(maxsize=1)  # each is a file that is read and parsed
def versions() -> Mapping[str, str]:
    """Versions that numbers may depend on."""
    import platform

    return {
        "python": platform.python_version(),
        "pipeline": version("private-learning-pipeline"),
        **{name: version(name) for name in PACKAGES},
    }


def request(study: Study) -> str:
    """Digest of all that a sealed dataset shows.

    Identity, levels, replications, statistics, and what ends a run or adds levels. The
    code of coordinates, too: no unit is made with it, so no reference unit shows that it
    changed.
    """
    content: dict[str, Any] = {
        **study.description,
        "grid": [_levels(product) for product in study.grid.products],
        "replications": study.replications,
        "coordinates": [
            [name, fingerprint(study.derivations[name][0])] for name in study.coordinates
        ],
    }
    if study.precision:
        content["precision"] = [repr(target) for target in study.precision]
    if study.refine:
        content["refine"] = repr(study.refine)
    if study.until:
        content["until"] = repr(study.until)
    if study.statistics:
        content["statistics"] = [statistic.variable for statistic in study.statistics]
    return digest(canonical(content), 8).hex()


def _levels(product: Iterable[tuple[str, Iterable[Any]]]) -> list[list[Any]]:
    """A product of the grid as JSON has it."""
    return [[axis, list(levels)] for axis, levels in product]


def size(study: Study) -> int:
    """Replications that a study asks for, in all cells together.

    The most that there may be, with targets.
    """
    return len(study.grid) * study.replications


def place(store: Store) -> str:
    """What the keys of a study's sealed datasets start with: nothing, or a folder and a "/".

    The folder is that of its request, where a larger request is sealed already, whose
    results and report a smaller one must not replace.
    """
    return _place(store, root_attributes(store.backend))


def _place(store: Store, there: Mapping[str, Any]) -> str:
    """The place, from the attributes of the results in the study's folder itself."""
    wanted = request(store.study)
    is_larger = there.get("cells", 0) * there.get("replications", 0) > size(store.study)
    is_beside = is_larger and there["request"] != wanted
    return f"{REQUESTS}/{wanted}/" if is_beside else ""


def places(backend: Files) -> list[str]:
    """What the keys of sealed datasets may start with: of all requests."""
    requests = {key.partition("/")[0] for key in backend.keys(REQUESTS)}
    return ["", *(f"{REQUESTS}/{name}/" for name in sorted(requests))]


def is_sealed(store: Store) -> bool:
    """Whether results.zarr holds exactly what the study asks for."""
    return attributes(store).get("request") == request(store.study)


def attributes(store: Store) -> JsonObject:
    """Attributes of the results.zarr at the study's `place`, see `root_attributes`."""
    there = root_attributes(store.backend)
    where = _place(store, there)
    return root_attributes(store.backend, where) if where else there


def root_attributes(backend: Files, where: str = "") -> JsonObject:
    """Attributes of results.zarr, see `sealed_attributes`. where: see `place`."""
    return sealed_attributes(backend, f"{where}{SEALED}")


def sealed_attributes(backend: Files, name: str) -> JsonObject:
    """Attributes of a sealed dataset; none where its root document is missing or damaged."""
    try:
        document = _document(backend.read(f"{name}/{ROOT}") or b"")
    except Unreachable:
        raise
    except (OSError, ValueError):
        return {}
    attributes: dict[str, Any] = document["attributes"]
    return attributes


def is_large(study: Study) -> bool:
    """Whether the results of a study are read in parts, as they do not fit in memory."""
    combinations = math.prod(map(len, study.grid.axes.values()))
    bytes_each = 8 * len(study.metrics) + 1
    return combinations * study.replications * bytes_each > IN_MEMORY


def stamp(store: Store) -> str | None:
    """A text that changes whenever results.zarr is made again; None if there is none."""
    return store.backend.stamp(f"{place(store)}{SEALED}/{ROOT}")


def unseal(store: Store, every: bool = True) -> None:
    """Remove the sealed results, of `every` request before units are taken back.

    The caller holds the lock.
    """
    where_from = places(store.backend) if every else [place(store)]
    for where in where_from:
        for name in (SEALED, SUMMARY):
            store.backend.remove(where + name)


def finish(
    backend: Hierarchies,
    staged: str,
    name: str,
    attributes: Mapping[str, Any],
    digests: Mapping[str, str],
) -> None:
    """Publish a dataset whose regions are all written.

    digests: of the files that the tasks wrote.
    """
    document = json.loads(backend.read(f"{staged}/{ROOT}") or b"{}")
    document["attributes"] = {**document.get("attributes", {}), **attributes}
    location = ZarrLocation(backend, staged)
    present = [
        key for key in sorted(backend.keys(staged)) if key != ROOT and not key.endswith(PARTIAL)
    ]
    lost = digests.keys() - set(present)
    if lost:  # also where the folder that it leaves is empty, which would be listed
        raise OSError(f"{name}: {min(lost)} was lost while it was written")
    files = {key: digests.get(key) or location.file_digest(key) for key in present}
    document["attributes"] |= {"files": files}
    document["attributes"]["digest"] = _digest(document)
    backend.publish(staged, name, _serialise(document))


def problems_of(
    backend: Files,
    name: str = SEALED,
    thorough: bool = True,
    digests_of: Callable[[ZarrLocation, list[str]], Iterable[str]] | None = None,
) -> list[str]:
    """What is wrong with a sealed dataset, file by file; empty if nothing is.

    thorough: read every byte. Else only the root document, the metadata, and whether all files
        are there.
    digests_of: the digests of many files, in their order; by default this process reads them.
    """
    return _problems(backend, name, backend.read(f"{name}/{ROOT}"), thorough, digests_of)


def _problems(
    backend: Files,
    name: str,
    content: bytes | None,
    thorough: bool,
    digests_of: Callable[[ZarrLocation, list[str]], Iterable[str]] | None = None,
) -> list[str]:
    """`problems_of` a dataset whose root document has been read."""
    if content is None:
        return [f"{ROOT}: is missing"]
    try:
        files = _document(content)["attributes"]["files"]
    except ValueError as error:
        return [f"{ROOT}: {error}"]
    location = ZarrLocation(backend, name)
    present = set(backend.keys(name)) - {ROOT}
    wrong = [f"{key}: is missing" for key in files if key not in present]
    wrong += [f"{key}: does not belong here" for key in sorted(present - files.keys())]
    checked = [key for key in files if key in present and (thorough or key.endswith(ROOT))]
    digests: Iterable[str]
    if digests_of is None:
        digests = backend.map(location.file_digest, checked)
    else:
        digests = digests_of(location, checked)
    for key, digest_of_file in zip(checked, digests, strict=True):
        if digest_of_file != files[key]:
            wrong.append(f"{key}: is not what was written")
    return wrong + _of_other_results(backend, name, content)


def _of_other_results(backend: Files, name: str, content: bytes) -> list[str]:
    """Whether moments were made from other replications than those stored beside them."""
    moments_of = {summary: results for results, summary in PAIRS}
    where, slash, last = name.rpartition("/")
    if last not in moments_of:
        return []
    beside = _without_files(backend.read(f"{where}{slash}{moments_of[last]}/{ROOT}"))
    if beside is None or beside == _without_files(content):
        return []
    return [f"{ROOT}: is not of the {moments_of[last]} beside it"]


def _without_files(content: bytes | None) -> dict[str, Any] | None:
    """What a root document says of a study, which is the same for replications and moments.

    None without one.
    """
    try:
        attributes = _document(content or b"")["attributes"]
    except ValueError:
        return None
    of_files = ("files", "digest")
    return {name: value for name, value in attributes.items() if name not in of_files}


def load(store: Store, name: str = SEALED) -> "xr.Dataset":
    """What a dataset holds: in memory or, if it is large, in chunks that are read when needed.

    Raises InvalidInput, at once or when a chunk is read, where a file is not what was
    written.
    """
    cure = REPORT_AGAIN if name.rpartition("/")[2] in INTERIM else REPAIR
    return load_from(store.backend, name, store.backend.setting, str(store.backend), cure)


def load_sound(store: Store, name: str) -> "xr.Dataset | None":
    """Like `load`; None where a file is damaged, so that it can be made again.

    A large dataset is read twice.
    """
    try:
        dataset = load(store, name)
    except InvalidInput:
        return None
    in_parts = bool(dataset.chunks)
    return None if in_parts and problems_of(store.backend, name) else dataset


def load_from(backend: Files, name: str, key: str, value: str, cure: str = REPAIR) -> "xr.Dataset":
    """Like `load`, wherever the dataset is. key, value: of the error where it is damaged.

    cure: what to do then.
    """
    import xarray as xr

    from pipeline.storage.sealed_files import Complaint, SealedFiles  # Zarr

    complaint = Complaint(key, value, name, cure)
    content = backend.read(f"{name}/{ROOT}")
    wrong = _problems(backend, name, content, thorough=False)
    if wrong or content is None:
        raise complaint.error(wrong[0])
    digests = _document(content)["attributes"]["files"]
    files = SealedFiles(backend, name, content, digests, complaint)
    dataset: xr.Dataset = xr.open_zarr(files, consolidated=True, chunks=None)
    if dataset.nbytes <= IN_MEMORY:
        return dataset.load()
    status = dataset["status"]
    shards = status.encoding.get("shards") or status.encoding["chunks"]
    return in_chunks(dataset, dict(zip(status.dims, shards, strict=True)))


def in_chunks(dataset: "xr.Dataset", sizes: Mapping[Hashable, int]) -> "xr.Dataset":
    """A dataset whose variables are in chunks, read when they are needed.

    Coordinates, which are small, are read.
    """
    coordinates = {name: variable.load() for name, variable in dataset.coords.items()}
    return dataset.chunk(sizes).assign_coords(coordinates)


@lru_cache(maxsize=64)  # needed a dozen times in a run, for each study
def _document(content: bytes) -> JsonObject:
    """The root document of a sealed dataset, to be read only.

    ValueError unless it is one that `finish` wrote.
    """
    try:
        document: JsonObject = json.loads(content)
        sound = (
            document["attributes"]["digest"] == _digest(document)
            and _serialise(document) == content
            and isinstance(document["attributes"]["files"], dict)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise ValueError("is not what this program wrote")
    return document


def _serialise(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def _digest(document: Mapping[str, Any]) -> str:
    attributes = dict(document["attributes"])
    attributes.pop("digest", None)
    return file_digest(_serialise({**document, "attributes": attributes}))
