"""Command line -> composed config, by Hydra; its errors become one line each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pipeline.cli import offers
from pipeline.cli.arguments import check_override, quoted
from pipeline.cli.long_lists import restored, shortened
from pipeline.study.checks import mapping
from pipeline.study.parameters import InvalidInput, nearest, shorten
from pipeline.workflow import own_experiments
from pipeline.workflow.config_files import GROUPS, check_one, folder, folders, options
from pipeline.workflow.invocation import own_path
from pipeline.workflow.words import as_text, refuse_secrets

if TYPE_CHECKING:
    from omegaconf import DictConfig

SIZES = ("paper", "quick")
OPEN = ("grid", "parameters", "derive", "cluster")  # mappings to which a command may add names


def compose(overrides: Sequence[str], own: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """One plain mapping per experiment asked for: one, or all those of a suite. own: an experiment
    by its content.

    Raises InvalidInput for an override that cannot be read, an unknown key or an unknown name.
    """
    from hydra import initialize_config_dir

    overrides = _checked(overrides, own)
    with initialize_config_dir(str(folder()), version_base="1.3"):
        config = _compose(overrides)
        names = config.get("experiments")
        if names is None or names == []:
            return [_sized(config, overrides)]
        _check_experiments(names)
        each = ([*overrides, f"experiment={name}"] for name in names)
        return [_sized(_compose(words), words) for words in each]


def _checked(overrides: Sequence[str], own: Mapping[str, Any] | None) -> list[str]:
    """The overrides, quoted, an experiment of a person's own by a name that Hydra knows.

    Raises InvalidInput for what this program has no use for.
    """
    offers.forget_offers()
    for override in overrides:
        refuse_secrets(override)
    overrides = [*map(quoted, overrides)]
    for override in overrides:
        check_override(override)
        if re.fullmatch(r"claims=\[\s*\]", override):
            raise InvalidInput("claims", "[]", "write claims=false to judge none")
    values = dict(override.partition("=")[::2] for override in overrides)
    overrides = [
        f"experiment={offers.offer(own_experiments.read(path))}"
        if (path := own_path(override)) is not None
        else override
        for override in overrides
    ]
    if "experiment" in values and (
        values.get("suite", "none") != "none" or "experiments" in values
    ):
        raise InvalidInput(
            "experiment", values["experiment"], "a suite names its own; give only one of them"
        )
    if own is not None:
        overrides = [
            f"experiment={offers.offer(own_experiments.checked(own))}",
            *overrides,
        ]
    return overrides


def _check_experiments(names: Any) -> None:
    """Check that the experiments of a suite are a list of names, each once."""
    known = options("experiment")
    if not isinstance(names, list) or not set(map(str, names)) <= set(known):
        one = names[0] if isinstance(names, list) else names
        raise InvalidInput(
            "experiments", names, f"must be a list of experiments; {nearest(one, known)}"
        )
    if len(set(names)) < len(names):
        raise InvalidInput("experiments", names, "names one experiment twice")
    for name in names:
        check_one("experiment", str(name))


def _sized(config: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """The config of an experiment at the size asked for: the user's overrides win over its `quick`
    settings.
    """
    size = config.get("size")
    quick = mapping({} if config.get("quick") is None else config["quick"], "quick")
    if size not in SIZES:
        raise InvalidInput("size", size, nearest(size, SIZES))
    changes = [*_changes(quick)] if size == "quick" else []
    if not _replaced(config, changes, overrides):
        config = _compose(
            [*(quoted(f"{'.'.join(key)}={as_text(value)}") for key, value in changes), *overrides]
        )
    config.pop("quick", None)
    return config


def _changes(quick: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each key with its value; a mapping becomes one change per name."""
    for key, value in quick.items():
        for name, one in (
            mapping(value, f"quick.{key}").items() if isinstance(value, dict) else [(None, value)]
        ):
            yield (key,) if name is None else (key, name), one


def _replaced(
    config: dict[str, Any], changes: Sequence[tuple[tuple[str, ...], Any]], overrides: Sequence[str]
) -> bool:
    """Whether the changes were made in the config itself, which is sooner than composing it again.

    Not where an override may be about the same key, or where one value is a mapping: Hydra then
    knows what to do.
    """
    asked = {re.split(r"[.=]", override.lstrip("+~"))[0] for override in overrides}
    sections = [config if len(key) == 1 else config.get(key[0]) for key, _ in changes]
    if not all(
        isinstance(section, dict)
        and key[0] not in asked
        and key[-1] in section
        and not isinstance(value, dict)
        and not isinstance(section[key[-1]], dict)
        for section, (key, value) in zip(sections, changes, strict=True)
    ):
        return False
    for section, (key, value) in zip(sections, changes, strict=True):
        cast(dict[str, Any], section)[key[-1]] = value
    return True


def _hydra_compose(overrides: Sequence[str]) -> "DictConfig":
    """Hydra's config for the overrides, from the configs of all problems."""
    import hydra

    if any(override.startswith("cluster=") for override in overrides):
        offers.offer_systems()
    path = as_text([f"file://{conf}" for conf in folders()[1:]])
    words = [*map(shortened, overrides), f"hydra.searchpath={path}"]
    return cast("DictConfig", hydra.compose("config", overrides=words))


def _compose(overrides: Sequence[str]) -> dict[str, Any]:
    from hydra import errors
    from omegaconf import OmegaConf

    try:
        # Unresolved: an interpolation could read the environment.
        short = OmegaConf.to_container(_hydra_compose(overrides), resolve=False)
        config = cast(dict[str, Any], restored(short))
    except InvalidInput:
        raise
    except errors.OverrideParseException as error:
        of_targets = error.override.startswith("++precision.")
        example = "'precision={A across B: {relative: 0.01}}'" if of_targets else "grid.m=[10,20]"
        raise InvalidInput(
            "command line",
            error.override.removeprefix("++" * of_targets),
            f"cannot be read; write key=value, such as {example}",
        ) from None
    except Exception as error:  # whatever Hydra raises here is about the arguments
        spread = _over_products(overrides)
        if spread != list(overrides):
            return _compose(spread)
        raise _translate(str(error), overrides) from None
    for key, text in _texts(config, ""):
        if "${" in text:
            raise InvalidInput(key, text, "must be written out; ${…} is not replaced")
    return config


def _over_products(overrides: Sequence[str]) -> list[str]:
    """grid.AXIS=… for every product, where the grid is a list of products."""
    axes = [o for o in overrides if re.match(r"[+~]?grid\.[A-Za-z_]", o)]
    grid = _compose([o for o in overrides if o not in axes]).get("grid") if axes else {}
    if not isinstance(grid, list):
        return list(overrides)
    return [
        spread
        for o in overrides
        for spread in (
            [o.replace("grid.", f"grid.{k}.", 1) for k in range(len(grid))] if o in axes else [o]
        )
    ]


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Every text in a config, with its dotted key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, (dict, list)):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(part, f"{key}.{name}" if key else str(name))


def _translate(message: str, overrides: Sequence[str]) -> InvalidInput:
    """A message of Hydra as key, value and what is allowed."""
    unknown = re.search(r"[Cc]ould not (override|delete|append)[^']*'([^'@]+)", message)
    if unknown:
        return _unknown_key(unknown[1], unknown[2].split("=")[0], overrides)
    named = (o for o in overrides if "=" in o and o.lstrip("+~") in message)
    key, _, value = (next(named, None) or _culprit(overrides)).partition("=")
    key = key.lstrip("+~") or "command line"
    if "merging override" in message:
        return InvalidInput(
            key, value, "a mapping and a value cannot replace each other; set single fields"
        )
    if "Ambiguous value" in message or "Sweep parameters" in message:
        return InvalidInput(key, value, f"must be one value; write a list as {key}=[a,b]")
    return InvalidInput(
        key, value, f"write key=value, as grid.m=[10,20]; it says: {shorten(message, 99)}"
    )


def _unknown_key(action: str, key: str, overrides: Sequence[str]) -> InvalidInput:
    """An unknown key that is changed or removed, or one that is added but exists.

    With the nearest key beside it.
    """
    override = next((o for o in overrides if o.lstrip("+~").startswith(key)), key)
    value = override.partition("=")[2] or None
    if action == "append":
        return InvalidInput(key, value, f"is there already; write {key}=… without +")
    config = _compose([o for o in overrides if o.partition("=")[0] in GROUPS])
    if (advice := _elsewhere(key, config)) or (key in OPEN and (value or "").startswith("{")):
        return InvalidInput(
            key,
            value,
            advice
            or f"write each by itself: {key}.NAME=… changes one, +{key}.NAME=… "
            f"adds one, ~{key}.NAME removes one",
        )
    known = [*config, *(f"{k}.{n}" for k, v in config.items() if isinstance(v, dict) for n in v)]
    parent, _, last = key.rpartition(".")
    if parent not in known:
        parent = ""
        last = key.partition(".")[0]
    near = nearest(last, [k.rpartition(".")[2] for k in known if k.rpartition(".")[0] == parent])
    adds = f"; +{key}=… adds one" if parent in OPEN and action == "override" else ""
    return InvalidInput(key, value, f"no such key; {near}{adds}")


def _culprit(overrides: Sequence[str]) -> str:
    """The override that spoils the config by itself, or all of them."""
    for override in overrides:
        try:
            _hydra_compose([override])
        except Exception:
            return override
    return " ".join(overrides)


def _elsewhere(key: str, config: Mapping[str, Any]) -> str:
    """Advice on a parameter that is an axis of the grid, or on an axis that is a parameter.

    Empty if it is neither.
    """
    section, _, name = key.rpartition(".")
    grid = config.get("grid")
    axes = grid[0] if isinstance(grid, list) and grid else grid
    if section in ("parameters", "") and isinstance(axes, dict) and name in axes:
        return f"is an axis of this study; write grid.{name}=[…] with one level or more"
    if section in ("grid", "") and name in (config.get("parameters") or {}):
        return (
            f"is a constant of this study; write parameters.{name}=…, or ~parameters.{name} "
            f"'+grid.{name}=[…]'"
        )
    return ""
