"""The gallery: a question and a program on each page. `make docs` runs all of them in full.

Here a page of each section is run, with few replications; of the others every name that they use is looked up.
"""

import ast
import pkgutil
import re

import matplotlib.pyplot as plt
import pytest
import yaml

import pipeline as pl
from pipeline.identity import registry
from tests.helpers.engine import ROOT

SECTIONS = {
    header.parent: sorted(header.parent.glob("*.py"))
    for header in sorted((ROOT / "docs/gallery").glob("*/GALLERY_HEADER.rst"))
}
PAGES = [page for pages in SECTIONS.values() for page in pages]
RUN = (
    "ranking/breakdown",
    "response/hardest_items",
    "clustering/several_questions",
    "crowd/abilities",
    "privacy/integer_noise",
    "studies/verdicts",
)  # cheap ones
FEW = 4  # replications


def page_id(page):
    return f"{page.parent.name}/{page.stem}"


def test_there_are_enough_pages_and_all_are_shown():
    assert len(PAGES) >= 20 and sorted(PAGES) == sorted((ROOT / "docs/gallery").rglob("*.py"))
    order = re.search(
        r'f"gallery/{name}"\s+for name in \((.*?)\)', (ROOT / "docs/conf.py").read_text(), re.S
    )[1]
    assert sorted(ast.literal_eval(f"({order})")) == [folder.name for folder in SECTIONS]
    assert sorted(name.partition("/")[0] for name in RUN) == [folder.name for folder in SECTIONS]


@pytest.mark.parametrize("name", RUN)
def test_a_page_of_each_section_runs(name, capsys, monkeypatch):
    page, simulate, shown = ROOT / f"docs/gallery/{name}.py", pl.simulate, []
    monkeypatch.setattr(
        pl,
        "simulate",
        lambda *words, **changes: simulate(*words, **changes | {"replications": FEW, "block": FEW}),
    )
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    with registry.registered(alone=True):
        exec(compile(page.read_text(), page.name, "exec"), {"__name__": "__main__"})
    assert shown and re.search(r"[±\[]|between", capsys.readouterr().out), (
        "a figure, and a number with its error bar"
    )
    plt.close("all")


@pytest.mark.parametrize(
    ("package", "samples"), [("opendp", 2_000), ("diffprivlib", 5_000), ("pure_ldp", 2_000)]
)
def test_pages_that_audit_other_packages_run(package, samples, capsys, monkeypatch):
    """Their wrappers have ten lines at most; the second mechanism, which is wrong, is refuted.

    They draw from the operating system, so the result differs from run to run. With so many
    samples, the wrong ones are not refuted only if counts lie 4.9 standard errors off: α < 1e-6.
    """
    page, audit = ROOT / f"docs/gallery/privacy/audit_{package}.py", pl.audit
    monkeypatch.setattr(
        pl, "audit", lambda *words, **options: audit(*words, **options | {"samples": samples})
    )
    monkeypatch.setattr(plt, "show", lambda: None)
    exec(compile(page.read_text(), page.name, "exec"), {"__name__": "__main__"})
    verdicts = re.findall(r": ([a-z ]+), ε between", capsys.readouterr().out)
    assert verdicts == ["not refuted", "violates"]
    wrapper = re.search(r"^def .*?\n\n", page.read_text(), re.M | re.S)[0]
    assert len(wrapper.strip().splitlines()) <= 10
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_pages_ask_one_question_with_names_that_exist(page):
    text = page.read_text()
    assert re.match(r'"""\n[^\n]+\?\n=+\n\n', text), "the first line is a question"
    assert unknown_names(ast.parse(text)) == []


def test_a_name_that_does_not_exist_is_found():
    """The negative control."""
    page = ROOT / "docs/gallery/ranking/breakdown.py"
    for right, wrong in (
        ("crossing", "crosing"),
        ('"error_l2"', '"error_12"'),
        ("cells.error_l2_m", "cells.l2_m"),
        ("xu/phase_transition", "xu/phase"),
        ("pl.summarise", "pl.summary"),
        ('"m"', '"items"'),
    ):
        text = page.read_text()
        assert right in text and unknown_names(ast.parse(text)) == []
        assert unknown_names(ast.parse(text.replace(right, wrong))), wrong


def unknown_names(tree):
    """Names of the package, of experiments, parts, metrics and axes that a program uses and that are not there."""
    nodes, unknown = list(ast.walk(tree)), []
    metrics = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("pipeline"):
            unknown += [
                one.name
                for one in node.names
                if not hasattr(pkgutil.resolve_name(node.module), one.name)
            ]
        if isinstance(node, ast.Attribute) and not known(ast.unparse(node)):
            unknown.append(ast.unparse(node))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("pl.simulate", "pl.Study"):
            metrics |= set(literals(node, "metrics"))
            unknown += unknown_in_study(node)
    if metrics:
        unknown += [
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute)
            and node.attr.endswith("_mcse")
            and node.attr.removesuffix("_mcse") not in metrics
        ]
    return unknown


def known(dotted):
    """Whether a name of the library is there; true of all that is none."""
    if not re.fullmatch(r"pl(\.\w+)+", dotted):
        return True
    value = pl
    for name in dotted.split(".")[1:]:
        if not hasattr(value, name):
            return False
        value = getattr(value, name)
    return True


def literals(call, keyword):
    """Texts in the argument of that name: its items, or its keys if it is a mapping or a list of mappings."""
    for argument in (one.value for one in call.keywords if one.arg == keyword):
        mappings = [one for one in ast.walk(argument) if isinstance(one, ast.Dict)]
        items = [key for one in mappings for key in one.keys] or getattr(argument, "elts", [])
        yield from (one.value for one in items if isinstance(one, ast.Constant))


def unknown_in_study(call):
    """Of a study: its experiment or problem, its metrics, and the axes of its grid."""
    first = call.args[0]
    if not isinstance(first, ast.Constant):
        return []  # a study that is made in place, and so looked at by itself
    if ast.unparse(call.func) == "pl.simulate":
        path = ROOT / f"conf/experiment/{first.value}.yaml"
        if not path.exists():
            return [first.value]
        config = yaml.safe_load(path.read_text())
        grids = config["grid"] if isinstance(config["grid"], list) else [config["grid"]]
        problem, axes = config["problem"], {axis for grid in grids for axis in grid}
    else:
        problem, axes = call.args[1].value, None
    parts = registry.problem(problem)
    if axes is None:
        kinds = [
            parts.part(kind, name)
            for kind in ("model", "mechanism", "estimator")
            for name in parts.names(kind)
        ]
        axes = {"mechanism", "estimator"}.union(
            *(getattr(one, "__dataclass_fields__", {}) for one in kinds)
        )
    wanted = {"metric": literals(call, "metrics"), "axis": literals(call, "grid")}
    there = {"metric": set(parts.names("metric")), "axis": axes}
    return [name for kind, names in wanted.items() for name in names if name not in there[kind]]
