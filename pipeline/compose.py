"""Command line -> composed config, by Hydra; its complaints in one line each."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.parameters import InvalidInput, nearest, shorten

GROUPS = ("experiment", "suite", "size", "cluster")
PATHS = ("data.path", "data.items", "data.truth", "outputs", "store.url", "cluster.directives")
OPEN = ("grid", "parameters", "derive", "cluster")  # mappings to which a command may add names


def folder() -> Path:
    """Folder of the configs: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    return package / "conf" if (package / "conf").is_dir() else package.parent / "conf"


def options(group: str) -> list[str]:
    """Names that a config group offers, such as the experiments."""
    root = folder() / group
    return sorted(str(p.relative_to(root).with_suffix("")) for p in root.rglob("*.yaml"))


def compose(overrides: Sequence[str]) -> list[dict[str, Any]]:
    """One plain mapping per experiment asked for: one, or all those of a suite.

    Raises InvalidInput for an override that cannot be read, an unknown key or an unknown name.
    """
    from hydra import initialize_config_dir

    for override in overrides:
        _refuse_secrets(override)
    overrides = [*map(_quoted, overrides)]
    given = dict(override.partition("=")[::2] for override in overrides)
    for override in overrides:
        _check_override(override)
    if "experiment" in given and (given.get("suite", "none") != "none" or "experiments" in given):
        raise InvalidInput("experiment", given["experiment"], "a suite names its own; give only one of them")
    with initialize_config_dir(str(folder()), version_base="1.3"):
        first = _compose(overrides)
        names = first.get("experiments")
        if names is None or names == []:
            return [first]
        if not isinstance(names, list) or not set(map(str, names)) <= set(options("experiment")):
            one = names[0] if isinstance(names, list) else names
            raise InvalidInput("experiments", names,
                               f"must be a list of experiments; {nearest(one, options('experiment'))}")
        if len(set(names)) < len(names):
            raise InvalidInput("experiments", names, "names one experiment twice")
        return [_compose([*overrides, f"experiment={name}"]) for name in names]


def pairs(words: Sequence[str]) -> dict[str, Any]:
    """Key -> value of words key=value, for a task that composes no config. Raises InvalidInput for any other word."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import OverrideType
    from hydra.errors import HydraException

    found: dict[str, Any] = {}
    for word in words:
        try:
            read = OverridesParser.create().parse_override(_quoted(word))
        except HydraException:
            raise InvalidInput("command line", word, "cannot be read; write key=value") from None
        key, value = read.key_or_group, word.partition("=")[2]
        if read.type is not OverrideType.CHANGE or read.package is not None:
            raise InvalidInput("command line", word, "nothing is added or removed here; write key=value")
        if read.is_sweep_override():
            raise InvalidInput(key, value, "must be one value")
        if key in found:
            raise InvalidInput(key, value, "is given twice")
        found[key] = read.value()
    return found


def _refuse_secrets(override: str) -> None:
    """Before anything repeats it: a credential given as a key, also within {…}, or within a URL."""
    key, _, value = override.partition("=")
    names = " ".join([key, *re.findall(r"[\w.'\"]+(?=\s*:)", value)])
    if re.search(r"secret|passw|credential|access_?key|session_?token", names, re.I) or re.search("://.*@", value):
        raise InvalidInput(key.lstrip("+~"), "…", "must not hold credentials: export AWS_ACCESS_KEY_ID and "
                           "AWS_SECRET_ACCESS_KEY instead")


def _quoted(override: str) -> str:
    """Paths as they are typed: their blanks, brackets and commas are not Hydra's."""
    key, sign, path = override.partition("=")
    if key not in PATHS or path in ("", "null") or path[0] in "'\"":
        return override
    escaped = path.replace("\\", "\\\\").replace("'", "\\'")
    return f"{key}{sign}'{escaped}'"


def _check_override(override: str) -> None:
    """Refuse what Hydra would take, but this program has no use for; groups offer their own files only."""
    key, sign, value = override.partition("=")
    bare = key.lstrip("+~")
    group, root = re.split("[@:]", bare)[0], re.split(r"[./@:]", bare)[0]
    if root in ("hydra", "sized"):
        raise InvalidInput(bare, value, "no such key; --help lists those that there are")
    if group in GROUPS and (key != group or not sign):
        raise InvalidInput(bare, value, f"write {group}=NAME; {nearest(value, options(group))}")
    if group in GROUPS and value.strip("'\"") not in options(group):
        raise InvalidInput(group, value, f"no such {group}; {nearest(value, options(group))}")


def _compose(overrides: Sequence[str]) -> dict[str, Any]:
    import hydra
    from hydra import errors
    from omegaconf import OmegaConf

    try:
        # Unresolved: an interpolation could read the environment.
        config = OmegaConf.to_container(hydra.compose("config", overrides=list(overrides)), resolve=False)
    except errors.OverrideParseException as error:
        raise InvalidInput("command line", error.override,
                           "cannot be read; write key=value, such as grid.m=[10,20]") from None
    except Exception as error:  # whatever Hydra raises here is about what a person wrote
        spread = _over_products(overrides)
        if spread != list(overrides):
            return _compose(spread)
        raise _translate(str(error), overrides) from None
    for key, text in _texts(config, ""):
        if "${" in text:
            raise InvalidInput(key, text, "must be written out; ${…} is not looked up")
    return config


def _over_products(overrides: Sequence[str]) -> list[str]:
    """grid.AXIS=… for every product, where the grid is a list of products."""
    axes = [o for o in overrides if re.match(r"grid\.[A-Za-z_]", o)]
    grid = _compose([o for o in overrides if o not in axes])["grid"] if axes else {}
    if not isinstance(grid, list):
        return list(overrides)
    return [spread for o in overrides for spread in (
        [o.replace("grid.", f"grid.{k}.", 1) for k in range(len(grid))] if o in axes else [o])]


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Every text in a config, with its dotted key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, (dict, list)):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(part, f"{key}.{name}" if key else str(name))


def _translate(message: str, overrides: Sequence[str]) -> InvalidInput:
    found = re.search(r"[Cc]ould not (override|delete|append)[^']*'([^'@]+)", message)
    if found:
        key = found[2].split("=")[0]
        given = next((o for o in overrides if o.lstrip("+~").startswith(key)), key)
        value = given.partition("=")[2] or None
        if found[1] == "append":
            return InvalidInput(key, value, f"is there already; write {key}=… without +")
        known = _keys(overrides)
        parent, _, last = key.rpartition(".")
        if parent not in known:
            parent, last = "", key.partition(".")[0]
        near = nearest(last, [k.rpartition(".")[2] for k in known if k.rpartition(".")[0] == parent])
        adds = f"; +{key}=… adds one" if parent in OPEN and found[1] == "override" else ""
        return InvalidInput(key, value, f"no such key; {near}{adds}")
    named = (o for o in overrides if "=" in o and o.lstrip("+~") in message)
    guilty = next(named, None) or _culprit(overrides)
    key, _, value = guilty.partition("=")
    key = key.lstrip("+~") or "command line"
    if "merging override" in message:
        return InvalidInput(key, value, "a mapping and a value cannot replace each other; set single fields")
    if "Ambiguous value" in message or "Sweep parameters" in message:
        return InvalidInput(key, value, f"must be one value; write a list as {key}=[a,b]")
    return InvalidInput(key, value, f"write key=value, as grid.m=[10,20]; it says: {shorten(message, 99)}")


def _culprit(overrides: Sequence[str]) -> str:
    """The override that spoils the config by itself, or all of them."""
    import hydra

    for override in overrides:
        try:
            hydra.compose("config", overrides=[override])
        except Exception:
            return override
    return " ".join(overrides)


def _keys(overrides: Sequence[str]) -> list[str]:
    """Dotted keys of the config that is changed, two levels deep."""
    config = _compose([o for o in overrides if o.partition("=")[0] in GROUPS])
    return [*config, *(f"{k}.{n}" for k, v in config.items() if isinstance(v, dict) for n in v)]
