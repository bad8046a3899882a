"""What is said where this process makes other numbers than those stored: what differs, of which
kind it is, and what to do.
"""

import re
import socket
from collections.abc import Mapping, Sequence

from pipeline.storage import agreement
from pipeline.storage.agreement import Writer, change, some, unlike
from pipeline.storage.replications import Store
from pipeline.study.parameters import InvalidInput

ARITHMETIC = ("machine", "C library", "BLAS", "CPU features")  # of a writer's environment
DIGEST = re.compile(r"[0-9a-f]{8,}( [0-9a-f]{8,})*")  # in place of a version
LIBRARY = ".so"
REPLACED = " replaced"  # how the names of such end
VERBS = {
    "code": "differs",
    "kernels": "differ",
    "package versions": "differ",
    "arithmetic": "differs",
}
TO_DO = {
    "code": "take the code that the study was begun with",
    "kernels": "compile again from the code that it was begun with (make setup)",
    "package versions": "install the versions that it was begun with",
    "arithmetic": (
        "use machines of the kind that it was begun on, and PIPELINE_ARITHMETIC as it was then"
    ),
}


def refusal(store: Store, me: Writer, different: Sequence[str]) -> InvalidInput:
    """The error of a process that makes other numbers than those stored.

    me: its writer. different: names of such numbers.
    """
    numbers = different[0]
    if len(different) > 1:
        numbers += f", and {len(different) - 1:,} more"
    return store.invalid(
        f"numbers come out differently on {socket.gethostname()}: {numbers}; "
        f"{_reasons(store, me)}; or start anew in another folder with outputs=…, or mix the two "
        "with accept_code=yes"
    )


def _reasons(store: Store, me: Writer) -> str:
    """What differs, kind by kind, and what to do about it."""
    before = agreement.nearest(store, me)
    if before is None:
        return (
            "no record is left of what computed the stored numbers; restore the folder's "
            "replications/agreed"
        )
    differences = kinds(before, me)
    if not differences:
        return (
            "code, package versions and arithmetic are the same: a part may not be deterministic; "
            "look for random numbers without the seed that it is given, for the time, or for what "
            "it reads"
        )
    reasons = [f"{kind} {VERBS[kind]}: {text}" for kind, text in differences.items()]
    to_do = ", and ".join(TO_DO[kind] for kind in differences)
    return f"{'; '.join(reasons)}; {to_do}"


def kinds(before: Writer, after: Writer) -> dict[str, str]:
    """Kind of what differs between two writers -> the differences in words, without digests.

    In the order of `TO_DO`.

    >>> before = Writer({"metric kendall": "0f"}, {"numpy": "2.3.1", "BLAS": "openblas SkylakeX"})
    >>> after = Writer({"metric kendall": "a3"}, {"numpy": "2.4.6", "BLAS": "openblas Haswell"})
    >>> kinds(before, after)["code"], kinds(before, after)["package versions"]
    ('metric kendall', 'numpy 2.3.1 → 2.4.6')
    """
    texts: dict[str, list[str]] = {kind: [] for kind in TO_DO}
    texts["code"] = _code(before, after)
    for name in unlike(before.environment, after.environment):
        kind = _kind(name, before.environment, after.environment)
        texts[kind].append(_in_words(name, before.environment, after.environment))
    return {kind: some(of_kind) for kind, of_kind in texts.items() if of_kind}


def _code(before: Writer, after: Writer) -> list[str]:
    """Parts whose code differs, and the modules that do."""
    parts = unlike(after.code, before.code)
    modules = unlike(after.modules, before.modules)
    if not parts or not modules:
        return parts
    if len(parts) == 1:
        return [f"{parts[0]} in {some(modules)}"]
    return [*parts, f"in {some(modules)}"]


def _kind(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    if name in ARITHMETIC:
        return "arithmetic"
    if name.endswith(LIBRARY):
        return "kernels"
    if _is_digest(name, before, after):
        return "code"
    return "package versions"


def _is_digest(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether what is recorded under a name is no version, as of a file given with --with."""
    if name.endswith(REPLACED):
        return True
    return any(DIGEST.fullmatch(values.get(name, "")) for values in (before, after))


def _in_words(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    if not name.endswith(LIBRARY) and not _is_digest(name, before, after):
        return change(name, before.get(name, "none"), after.get(name, "none"))
    if name not in before:
        return f"{name}, new"
    if name not in after:
        return f"{name}, gone"
    return name
