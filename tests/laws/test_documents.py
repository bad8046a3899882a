"""What the documents promise: programs run, commands are accepted, modules, files and experiments are there.

Every block of code is a program (run), a config (composed), an entry point (loaded) or lines for a shell, of which
those for `pipeline` are composed and checked, or run if that is cheap, and those for make looked up. `EXCEPTIONS` holds
what cannot be tried here, with the reason; a reason that is not needed is an error.
"""

import itertools
import pkgutil
import re
import shlex
import tomllib
from importlib.metadata import entry_points

import pytest

from pipeline.__main__ import _pairs, main
from pipeline.cli import archive, export, reproduce, site, skill, standing
from pipeline.cli.compose import compose
from pipeline.cli.task_words import spelled_out
from pipeline.identity import registry
from pipeline.workflow.config import read_cluster, read_experiments, read_settings
from pipeline.workflow.plain_requests import check_words
from tests.helpers.engine import ROOT

DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/reference").glob("*.md")),
    *sorted((ROOT / "docs/examples").glob("*/*.md")),
]
NAMES = [str(path.relative_to(ROOT).with_suffix("")) for path in DOCUMENTS]
TEXTS = {name: path.read_text() for name, path in zip(NAMES, DOCUMENTS, strict=True)}

EXCEPTIONS = {  # a part of a command or of a block -> why it is not tried here
    "…": "stands for more words",
    "PATH": "stands for a path",
    "replay NAME": "stands for a unit",
    "replay UNIT": "stands for a unit",
    "TASK": "stands for a task, in the form of all commands",
    "parts.py": "docs/extending.md is run word for word by test_extending.py",
    "survey.yaml": "docs/extending.md is run word for word by test_extending.py",
    "class Discretised": "docs/extending.md is run word for word by test_extending.py",
    "parameters: {model: btl, mechanism: discretised": "docs/extending.md is run word for word by test_extending.py",
    "experiment=products.yaml": "test_own_experiments.py writes and runs such a file",
    "experiment=t_test.py": "test_plain.py runs such a file as an experiment",
    '"in_r": "fit.R"': "needs R: test_programs.py runs it where R is there",
    "# fit.py": "test_programs.py runs it as a method",
    "class Lab": "test_batch_systems.py submits studies to it",
    "class OneFile": "test_backends.py runs a study on it",
    "one_file": "test_backends.py makes that package",
    "sqlite://": "test_backends.py runs a study there",
    "survey_parts": "test_packages.py makes that package, with these files",
    "=frequency": "needs the package in docs/examples/frequency: test_fifth_paper.py installs it",
    "lsat6.csv": "LSAT-6 is no part of the project; test_response_files.py makes files of its counts",
    "AWS_ACCESS_KEY_ID=": "needs a bucket: test_object_storage.py does so with one",
    "S3Store(": "needs a bucket: test_object_storage.py does so with one",
    "lfs setstripe": "needs Lustre",
    "podman": "needs an engine of containers: test_images.py tries what can be tried without",
    "pip install": "needs packages from elsewhere; test_extending.py installs the wheel",
    "--shell-completion": "the shell evaluates what is printed: tests of the command do that",
}


def blocks():
    """(document, number, language, text) of every fenced or indented block of code."""
    for name, text in TEXTS.items():
        fenced = re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S)
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        indented = re.findall(r"(?:^|\n\n)((?:    [^\n]+(?:\n|$))+)", outside)
        for number, (language, code) in enumerate([*fenced, *(("", one) for one in indented)]):
            yield name, number, language, code


BLOCKS = list(blocks())
SHELL = re.compile(
    r"^(?:\$ )?(?:\.venv/bin/|python -m )?(pipeline|make|pip|export|lfs|git|eval) ", re.M
)


def exception(text):
    """The part of a command or block that cannot be tried here, if there is one."""
    return next((part for part in EXCEPTIONS if part in text), None)


def of_language(language):
    return [
        pytest.param(text, id=f"{name}-{number}")
        for name, number, kind, text in BLOCKS
        if kind == language and not exception(text)
    ]


def shell_lines():
    """Commands of blocks for a shell and of the running text, each once."""
    for _, _, language, text in BLOCKS:
        if not language and SHELL.search(text) and "$ pipeline" not in text:
            yield from (line for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines())
    for text in TEXTS.values():
        yield from (one for one in re.findall(r"`([^`\n]+)`", text) if SHELL.match(one))


LINES = sorted(
    {re.sub(r"\s+# .*", "", line).strip().removeprefix(".venv/bin/") for line in shell_lines()}
    - {""}
)
TRIED = [line for line in LINES if not exception(line)]
MISTAKES = sorted(
    set(re.findall(r"\$ pipeline ([^\n]+)\n(error: [^\n]+)\n", "".join(TEXTS.values())))
)
CHEAP = (
    "--",
    "task=new",
    "task=release",
    "task=advise",
    "task=audit",
)  # commands that are run, not composed

# In commands that are run: sizes for the words as shown. Answers at their full sizes have tests of their own.
SMALLER = {
    "m=25": "m=3",
    "m=10": "m=3",
    "target=kendall<=0.1": "target=kendall<=0.25",
    "grid=2.0e-6": "grid=1.0e-3",
    "samples=60000": "samples=3000",
}

# Commands whose words are checked: tests of the tasks run them.
CHECKED = {
    "task=archive": archive.WORDS,
    "task=export": export.WORDS,
    "task=reproduce": reproduce.WORDS,
    "task=compare": standing.WORDS,
    "task=shelf": site.WORDS,
    "task=skill": skill.WORDS,
}


def is_checked(words):
    """Whether the words of a command are checked, and nothing is composed of them."""
    against = any(word.startswith("against=") for word in words)
    return any(word in CHECKED and (word != "task=compare" or against) for word in words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small files of the names that the documents use."""
    where = tmp_path_factory.mktemp("documents")
    items = [f"item {i}" for i in range(12)]
    pairs = list(enumerate(itertools.combinations(items, 2)))
    wins = "".join(
        f"u{user},{','.join(pair if (user * 7 + k) % 3 else pair[::-1])}\n"
        for user in range(100)
        for k, pair in pairs
    )
    for name in ("comparisons.csv", "my file.csv"):
        (where / name).write_text("user,winner,loser\n" + wins)
    answers = (
        ",".join(str(int((p * 3 + i * 5 + p // 7) % 4 < 3 - i // 2)) for i in range(5))
        for p in range(1200)
    )
    (where / "responses.csv").write_text("\n".join(["a,b,c,d,e", *answers]))
    labels = [
        (t, w, "yes" if (t + (w * t) % 5 // 4) % 2 else "no") for t in range(40) for w in range(25)
    ]
    (where / "labels.csv").write_text(
        "task,worker,label\n" + "".join(f"t{t},w{w},{label}\n" for t, w, label in labels)
    )
    (where / "truth.csv").write_text(
        "task,truth\n" + "".join(f"t{t},{'yes' if t % 2 else 'no'}\n" for t in range(40))
    )
    ratings = [
        f"u{u},{item},{(u + 3 * k) % 5 + 1}" for u in range(40) for k, item in enumerate(items)
    ]
    (where / "ratings.csv").write_text("\n".join(["user,item,rating", *ratings]))
    (where / "items.txt").write_text("\n".join(items))
    (where / "tasks.txt").write_text("\n".join(f"t{t}" for t in range(40)))
    (mine,) = (text for _, _, kind, text in BLOCKS if kind == "yaml" and not exception(text))
    (where / "mine.yaml").write_text(mine)
    return where


def test_all_blocks_are_of_a_kind_that_is_tried():
    kinds = {kind.split("}")[0] + "}" if kind.startswith("{") else kind for *_, kind, _ in BLOCKS}
    assert kinds <= {
        "",
        "text",
        "python",
        "yaml",
        "toml",
        "r",
        "{eval-rst}",
        "{toctree}",
        "{include}",
    }, kinds
    assert [text for *_, kind, text in BLOCKS if kind == "text" and SHELL.search(text)] == []
    assert len(TRIED) > 40 and MISTAKES and len(of_language("python")) > 8


def test_what_is_not_tried_has_a_reason():
    pieces = [*LINES, *(text for *_, text in BLOCKS)]
    for part, reason in EXCEPTIONS.items():
        where = [piece for piece in pieces if part in piece]
        print(f"{part}: {reason} ({len(where)} times)")
        assert where, f"no document has {part}: take it out of EXCEPTIONS"


@pytest.mark.parametrize("line", TRIED)
def test_commands_are_accepted(line, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    program, *words = shlex.split(
        re.sub("^([A-Z_]+=[^ ]+ )+", "", line)
    )  # without variables of the environment
    if program != "make":
        words = spelled_out(words)
    if is_checked(words):
        words = [word for word in words if not word.startswith("--") and word != "mine.py"]
    if program == "make":
        targets = re.findall(r"^([a-z][a-z0-9 ]*):", (ROOT / "Makefile").read_text(), re.M)
        assert words[0] in " ".join(targets).split()
    elif any(word.startswith(CHEAP) for word in words):
        words = [
            re.sub(
                "^(outputs=|experiment=(?=.*yaml))", rf"\g<1>{tmp_path}/", SMALLER.get(word, word)
            )
            for word in words
        ]
        assert main(words) == 0 and capsys.readouterr().out
    elif is_checked(words):
        (task,) = [word for word in words if word in CHECKED]
        check_words(_pairs(words), CHECKED[task], task)
    else:
        assert program.endswith("pipeline")
        mappings = compose(words)
        read_settings(mappings[0]), read_cluster(mappings[0]), read_experiments(mappings)


@pytest.mark.parametrize("command, error", MISTAKES)
def test_mistakes_are_answered_as_shown(command, error, capsys):
    assert main(shlex.split(command)) == 2 and capsys.readouterr().err == f"{error}\n"


@pytest.mark.parametrize("program", of_language("python"))
def test_programs_run(program, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with registry.registered(alone=True):
        exec(compile(program, "document", "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("config", of_language("yaml"))
def test_configs_are_accepted(config, tmp_path):
    (tmp_path / "one.yaml").write_text(config)
    read_experiments(compose([f"experiment={tmp_path / 'one.yaml'}"]))


@pytest.mark.parametrize("config", of_language("toml"))
def test_entry_points_are_those_of_the_package(config):
    for group, named in tomllib.loads(config)["project"]["entry-points"].items():
        for name, target in named.items():
            assert [one.value for one in entry_points(group=group, name=name)] == [target]


@pytest.mark.parametrize("name", NAMES)
def test_names_in_the_package_are_there(name):
    for one in re.findall(r"`(pipeline(?:\.\w+)+)`", TEXTS[name]):
        if one not in (
            "pipeline.problems",
            "pipeline.parts",
            "pipeline.systems",
            "pipeline.backends",
        ):  # groups of entry points
            assert pkgutil.resolve_name(one), one


@pytest.mark.parametrize("name", NAMES)
def test_files_that_are_named_are_there(name):
    text, here = TEXTS[name], (ROOT / name).parent
    named = [
        ROOT / one
        for one in re.findall(r"`((?:pipeline|tests|docs|jobs|conf|benchmarks)/[\w./-]+)`", text)
    ]
    links = re.findall(r"\]\((?!https?:)([\w./-]+)(?:#[\w-]+)?\)", text)
    named += [
        here / link for link in links if not link.startswith("questions/")
    ]  # made by make docs, as _build is
    assert [str(path) for path in named if not path.exists() and "_build" not in path.parts] == []


@pytest.mark.parametrize("name", NAMES)
def test_experiments_that_are_named_are_there(name):
    conf = [ROOT / "conf", *(ROOT / name).parent.glob("*/conf")]
    named = re.findall(r"experiment=(\w+/\w+)", TEXTS[name])
    assert [
        one
        for one in named
        if not any((folder / f"experiment/{one}.yaml").exists() for folder in conf)
    ] == []


def test_the_readme_is_one_screen_with_a_picture():
    text = TEXTS["README"]
    assert len(text.splitlines()) <= 65
    (picture,) = re.findall(r"!\[[^]]+\]\(([\w./]+)\)", text)
    assert (ROOT / picture).stat().st_size < 60_000
