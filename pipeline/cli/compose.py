"""Command line -> config: Hydra composes the files that are named, then each word changes a key.

Every word is read and checked before Hydra composes, which sees names of files that are there, and
nothing else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pipeline.cli import offers
from pipeline.cli.arguments import RULES, Action, Word, check_group, read_word
from pipeline.cli.changes import changed, merged
from pipeline.study.checks import mapping
from pipeline.study.parameters import InvalidInput, nearest, shorten
from pipeline.study.untyped import Config
from pipeline.workflow import own_experiments
from pipeline.workflow.config_files import GROUPS, check_offered, folder, folders, options
from pipeline.workflow.invocation import QUOTES, own_path
from pipeline.workflow.words import as_text, refuse_secrets

SIZES = ("paper", "quick")
AFTER_EXPERIMENT = ("suite", "experiments", "cluster")  # the last keys of a config, in this order


@dataclass
class ConfigParts:
    """What the words of a command ask for.

    files: group -> name of its file. content: of an experiment of a person's own. words:
    what changes single keys.
    """

    content: dict[str, Any] | None = None
    files: dict[str, str] = field(default_factory=dict)
    words: list[Word] = field(default_factory=list)


def compose(overrides: Sequence[str], content: Config | None = None) -> list[dict[str, Any]]:
    """One plain mapping per experiment asked for: one, or all those of a suite. content: of an
    experiment of a person's own, in place of a name.

    Raises InvalidInput for a word that cannot be read, an unknown key or an unknown name.
    """
    request = _read(overrides, content)
    config = _composed(request)
    of_suite = [word for word in request.words if word.path[0] == "experiments"]
    names = changed(config, of_suite).get("experiments")
    if names is None or names == []:
        return [_sized(config, request.words)]
    _check_experiments(names)
    configs = []
    for name in names:
        of_one = ConfigParts(None, {**request.files, "experiment": name}, request.words)
        configs.append(_sized(_composed(of_one), request.words))
    return configs


def _read(overrides: Sequence[str], content: Config | None) -> ConfigParts:
    """What the words ask for; InvalidInput for what this program has no use for."""
    request = ConfigParts()
    if content is not None:
        request.content = _checked_content(content)
    for override in overrides:
        refuse_secrets(override)
    for override in overrides:
        check_group(override)
        key, _, name = override.partition("=")
        if key in GROUPS:  # of several the last
            request.files[key] = name.strip(QUOTES)
    for override in overrides:
        if re.fullmatch(r"claims=\[\s*\]", override):
            raise InvalidInput("claims", "[]", "write claims=false to judge none")
        if override.partition("=")[0] not in GROUPS:
            request.words.append(read_word(override))
    _check_suite(request)
    path = own_path(f"experiment={request.files.get('experiment', '')}")
    if path is not None:
        request.content = own_experiments.read(path)
    elif "experiment" in request.files:
        request.content = None
    return request


def _checked_content(content: Config) -> dict[str, Any]:
    """An experiment by its content; InvalidInput for what no experiment holds."""
    try:
        own_experiments.refuse_odd_values(dict(content))
    except ValueError as error:
        raise InvalidInput("experiment", content.get("name"), f"must be plain: {error}") from None
    return own_experiments.checked(content)


def _check_suite(request: ConfigParts) -> None:
    """Raise InvalidInput where an experiment is named beside a suite, which names its own."""
    several = request.files.get("suite", "none") != "none"
    several = several or any(word.key == "experiments" for word in request.words)
    if several and "experiment" in request.files:
        raise InvalidInput(
            "experiment",
            request.files["experiment"],
            "a suite names its own; give only one of them",
        )


def _check_experiments(names: object) -> None:
    """Check that the experiments of a suite are a list of names, each once."""
    known = options("experiment")
    if not isinstance(names, list):
        raise InvalidInput(
            "experiments", names, f"must be a list of experiments; {nearest(names, known)}"
        )
    for name in names:
        if name not in known:
            raise InvalidInput(
                "experiments", names, f"must be a list of experiments; {nearest(name, known)}"
            )
    if len(set(names)) < len(names):
        raise InvalidInput("experiments", names, "names one experiment twice")
    for name in names:
        check_offered("experiment", name)


def _sized(config: dict[str, Any], words: Sequence[Word]) -> dict[str, Any]:
    """The config of an experiment at the size asked for: the words of a person win over what its
    `quick` says.
    """
    whole = changed(config, words)
    size = whole.get("size")
    quick = mapping({} if whole.get("quick") is None else whole["quick"], "quick")
    if size not in SIZES:
        raise InvalidInput("size", size, nearest(size, SIZES))
    if size == "quick":
        whole = changed(config, [*_changes_of_quick(quick), *words])
    whole.pop("quick", None)
    return _written_out(whole)


def _changes_of_quick(quick: Mapping[str, Any]) -> Iterator[Word]:
    """What `quick` changes: each key, of a mapping each name in it."""
    for key, value in quick.items():
        if not isinstance(value, dict):
            yield _change_of_quick(key, value)
            continue
        for name, part in mapping(value, f"quick.{key}").items():
            yield _change_of_quick(f"{key}.{name}", part)


def _change_of_quick(key: str, value: object) -> Word:
    in_a_rule = key.partition(".")[0] in RULES
    return Word(key, Action.SET if in_a_rule else Action.CHANGE, value, as_text(value))


def _composed(request: ConfigParts) -> dict[str, Any]:
    """The config of the files that are asked for, with an experiment of a person's own."""
    if request.content is None:
        return _hydra_composed(request.files)
    files = {group: name for group, name in request.files.items() if group != "experiment"}
    config = _hydra_composed({**files, "experiment": ""})
    whole = merged(config, request.content)
    for key in AFTER_EXPERIMENT:
        if key in whole:
            whole[key] = whole.pop(key)
    return whole


def _hydra_composed(files: Mapping[str, str]) -> dict[str, Any]:
    """What Hydra composes of the files of groups; of an empty name nothing."""
    import hydra
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    offers.offer_cluster(files.get("cluster", "local"))
    searched = as_text([f"file://{conf}" for conf in folders()[1:]])
    words = [f"hydra.searchpath={searched}"]
    for group, name in files.items():
        words.append(f"{group}={name}" if name else f"~{group}")
    try:
        with initialize_config_dir(str(folder()), version_base="1.3"):
            composed = hydra.compose("config", overrides=words)
            # Unresolved: an interpolation could read the environment.
            config = OmegaConf.to_container(composed, resolve=False)
    except Exception as error:  # names were checked, so it is about what a file holds
        group, name = next(iter(files.items()), ("config", ""))
        allowed = f"its file must be mended: {shorten(error, 120)}"
        raise InvalidInput(group, name, allowed) from None
    return cast(dict[str, Any], config)


def _written_out(config: dict[str, Any]) -> dict[str, Any]:
    """The config; InvalidInput for a text in it that Hydra would replace."""
    for key, text in _texts(config, ""):
        if "${" in text:
            raise InvalidInput(key, text, "must be written out; ${…} is not replaced")
    return config


def _texts(value: object, key: str) -> Iterator[tuple[str, str]]:
    """Every text in a config, with its dotted key."""
    if isinstance(value, str):
        yield key, value
        return
    parts: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(value, dict):
        parts = iter(value.items())
    if isinstance(value, list):
        parts = iter(enumerate(value))
    for name, part in parts:
        yield from _texts(part, f"{key}.{name}" if key else str(name))
