"""Command line -> composed config, by Hydra; its complaints in one line each."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.parameters import InvalidInput, nearest, shorten


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

    with initialize_config_dir(str(folder()), version_base="1.3"):
        first = _compose(overrides)
        if not first.get("experiments"):
            return [first]
        rest = [o for o in overrides if not o.startswith("suite=")]
        chosen = [o for o in rest if o.startswith("experiment=")]
        if chosen:
            raise InvalidInput("experiment", chosen[0].partition("=")[2], "a suite names its own; give one or the other")
        return [_compose([*rest, f"experiment={name}"]) for name in first["experiments"]]


def _compose(overrides: Sequence[str]) -> dict[str, Any]:
    import hydra
    from hydra import errors
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        return OmegaConf.to_container(hydra.compose("config", overrides=list(overrides)), resolve=True)
    except errors.MissingConfigException as error:
        group, name = _missing(str(error))
        raise InvalidInput(group, name, f"no such {group}; {nearest(name, options(group))}") from None
    except errors.OverrideParseException as error:
        raise InvalidInput("command line", error.override, "cannot be read; write key=value, such as grid.m=[10,20]") from None
    except (errors.ConfigCompositionException, OmegaConfBaseException) as error:
        raise _translate(str(error), overrides) from None
    except errors.HydraException as error:
        raise InvalidInput("command line", " ".join(overrides), shorten(error, 200)) from None


def _missing(message: str) -> tuple[str, str]:
    found = re.search(r"Could not find '([^/']+)/([^']+)'", message)
    return (found[1], found[2]) if found else ("experiment", shorten(message))


def _translate(message: str, overrides: Sequence[str]) -> InvalidInput:
    found = re.search(r"[Cc]ould not (?:override|delete|append)[^']*'([^'@]+)", message)
    key = found[1].split("=")[0] if found else "command line"
    given = next((o for o in overrides if o.lstrip("+~").startswith(key)), " ".join(overrides))
    if found:
        known = _keys()
        parent, _, last = key.rpartition(".")
        if parent not in known:
            parent, last = "", key.partition(".")[0]
        near = nearest(last, [k.rpartition(".")[2] for k in known if k.rpartition(".")[0] == parent])
        return InvalidInput(key, given.partition("=")[2], f"no such key; {near}; +{key}=… adds one")
    if found := re.search(r"Error merging override (\S+?)=", message):
        return InvalidInput(found[1], given.partition("=")[2], "cannot take the place of a mapping; set its fields")
    return InvalidInput("command line", given, shorten(message, 200))


def _keys() -> list[str]:
    """Dotted keys of the default config, two levels deep."""
    config = _compose([])
    return [*config, *(f"{k}.{n}" for k, v in config.items() if isinstance(v, dict) for n in v)]
