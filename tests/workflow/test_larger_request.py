"""A smaller request never hides a larger finished one: neither its results nor its report, of a study or of a suite."""

import shutil

import pytest
import xarray as xr

from pipeline.__main__ import main
from pipeline.workflow import assess

SMALL = [
    "experiment=xu/lemmas",
    "figures=[]",
    "cluster=synchronous",
    "grid.m=[3]",
    "grid.L=[20,30]",
    "claims=false",
    "block=20",
]


def files(folder):
    """Bytes of all files that a person reads."""
    deep = (
        path
        for name in ("results.zarr", "summary.zarr", "figures")
        for path in (folder / name).rglob("*")
    )
    return {
        path.relative_to(folder): path.read_bytes()
        for path in (*deep, *folder.glob("*.*"))
        if path.is_file()
    }


def run(outputs, *words, code=0):
    assert main([*SMALL, f"outputs={outputs}", *words]) == code
    (study,) = (outputs / "xu").iterdir()
    return study


@pytest.fixture
def study(tmp_path):
    return run(tmp_path, "replications=60")


def test_the_larger_stays_and_both_can_be_had(study, tmp_path, capsys):
    larger = files(study)
    for smaller in (
        ["replications=40"],
        ["replications=60", "grid.L=[30]"],
        ["replications=40", "grid.L=[30,40]"],
    ):
        run(tmp_path, *smaller)
        assert files(study) == larger
    shelved = sorted((study / "requests").iterdir())
    asked = [xr.open_zarr(folder / "results.zarr").load() for folder in shelved]
    assert {(*one["L"].values.tolist(), one.sizes["replication"]) for one in asked} == {
        (20, 30, 40),
        (30, 60),
        (30, 40, 40),
    }
    assert all((folder / "report.html").exists() for folder in shelved)
    before = {folder: files(folder) for folder in shelved}
    capsys.readouterr()
    for words in (
        ["replications=60"],
        ["replications=40"],
    ):  # again: nothing is simulated, sealed or drawn
        run(tmp_path, *words)
        out = capsys.readouterr().out
        assert "nothing to do" in out and "written" not in out
    assert files(study) == larger and {folder: files(folder) for folder in shelved} == before


def test_the_smaller_has_the_bytes_that_it_has_alone(study, tmp_path):
    run(tmp_path, "replications=40")
    alone = run(tmp_path / "alone", "replications=40")
    (beside,) = (study / "requests").iterdir()
    for name in ("results.zarr", "summary.zarr"):
        one, other = (
            {
                path.relative_to(where / name): path.read_bytes()
                for path in (where / name).rglob("*")
                if path.is_file()
            }
            for where in (beside, alone)
        )
        assert one == other


def test_a_larger_one_takes_the_first_place(study, tmp_path):
    run(tmp_path, "replications=80")
    assert (
        xr.open_zarr(study / "results.zarr").sizes["replication"] == 80
        and not (study / "requests").exists()
    )


def test_all_are_checked_listed_and_removed(study, tmp_path, capsys):
    run(tmp_path, "replications=40")
    (beside,) = (study / "requests").iterdir()
    name = beside.relative_to(tmp_path).as_posix()
    capsys.readouterr()
    assert main(["task=list", f"outputs={tmp_path}"]) == 0
    out = capsys.readouterr().out
    assert f"{name}  sealed" in out and "40 replications" in out and "60 replications" in out
    assert "units " in out and "results " in out and "may be deleted" in out
    (chunk, *_) = (path for path in (beside / "results.zarr").rglob("*/c/**/*") if path.is_file())
    chunk.write_bytes(b"not this")
    run(tmp_path, "task=verify", "replications=60", code=1)
    assert f"requests/{beside.name}/results.zarr" in capsys.readouterr().out
    assert main(["task=remove", f"studies={name}", "sure=true", f"outputs={tmp_path}"]) == 0
    assert not beside.exists() and (study / "results.zarr").exists()
    run(tmp_path, "task=verify", "replications=60")
    for folder in ("replications", "efforts"):  # as the list says that one may
        shutil.rmtree(study / folder)
    (study / "report.yaml").unlink()
    capsys.readouterr()
    assert main(["task=list", f"outputs={tmp_path}"]) == 0
    out = capsys.readouterr().out
    assert f"{study.relative_to(tmp_path)}  sealed" in out and "units " not in out


def test_what_is_asked_for_before_the_end_goes_beside_too(study, tmp_path):
    larger = files(study)
    run(tmp_path, "replications=20", "grid.L=[40,50]", "shard=1/2")
    run(tmp_path, "replications=20", "grid.L=[40,50]", "task=report")
    assert files(study) == larger and len(list((study / "requests").glob("*/interim.zarr"))) == 1


def test_of_a_suite_the_larger_report_stays(tmp_path):
    words = [*SMALL[1:], f"outputs={tmp_path}", "suite=demo", "experiments=[xu/lemmas]"]
    assert main([*words, "replications=60"]) == 0
    page = (tmp_path / "suite-demo" / "report.html").read_bytes()
    assert main([*words, "replications=40"]) == 0
    assert (tmp_path / "suite-demo" / "report.html").read_bytes() == page
    (beside,) = (tmp_path / "suite-demo" / "requests").iterdir()
    assert (beside / "report.html").read_bytes() != page


@pytest.mark.parametrize("suite", [[], ["suite=demo", "experiments=[xu/lemmas]"]])
def test_an_interim_page_goes_beside_a_finished_one_until_its_request_is_finished(
    tmp_path, suite, capsys
):
    words = [*(SMALL[1:] if suite else SMALL), *suite, f"outputs={tmp_path}"]
    assert main([*words, "replications=20"]) == 0
    (page,) = tmp_path.glob("suite-demo/report.html" if suite else "xu/*/report.html")
    finished = page.read_bytes()
    assert (
        main([*words, "replications=60", "shard=1/2"]) == 0
        and main([*words, "replications=60", "task=report"]) == 0
    )
    assert page.read_bytes() == finished
    (interim,) = page.parent.glob("requests/*/report.html")
    assert str(interim) in capsys.readouterr().out and b"Interim" in interim.read_bytes()
    assert main([f"outputs={tmp_path}", "task=list"]) == 0
    assert suite or " interim " in capsys.readouterr().out
    assert main([*words, "replications=60"]) == 0
    assert page.read_bytes() != finished and not interim.exists()


def test_interim_pages_of_two_requests_lie_beside_each_other(tmp_path):
    words = [*SMALL, f"outputs={tmp_path}"]
    assert main([*words, "replications=40", "shard=1/2"]) == 0
    assert main([*words, "replications=40", "task=report"]) == 0
    (page,) = tmp_path.glob("xu/*/report.html")
    first = page.read_bytes()
    assert main([*words, "replications=60", "task=report"]) == 0
    (beside,) = page.parent.glob("requests/*/report.html")
    assert page.read_bytes() == first != beside.read_bytes() and b"Interim" in beside.read_bytes()
    assert (
        main([*words, "replications=40", "shard=2/2"]) == 0
    )  # again: it takes the place of its own page
    assert main([*words, "replications=40", "task=report"]) == 0
    assert page.read_bytes() != first and beside.exists()
    assert main([*words, "replications=60"]) == 0
    assert b"Interim" not in page.read_bytes() and not beside.exists()


@pytest.mark.parametrize("suite", [[], ["suite=demo", "experiments=[xu/lemmas]"]])
def test_a_larger_one_that_ends_while_a_smaller_writes_its_page_keeps_its_place(
    tmp_path, monkeypatch, suite
):
    """The page of the larger is never replaced; that of the smaller is written beside it, in the same command."""
    words = [*(SMALL[1:] if suite else SMALL), *suite, f"outputs={tmp_path}"]
    original, larger = assess.assess, {}

    def overtaken(*rest):
        monkeypatch.undo()
        answers = original(*rest)
        assert main([*words, "replications=60"]) == 0
        larger.update(
            (path, path.read_bytes())
            for path in tmp_path.glob("*" if suite else "xu/*")
            for path in (path / "report.html", path / "report.yaml")
            if path.exists()
        )
        return answers

    monkeypatch.setattr(assess, "assess", overtaken)
    assert main([*words, "replications=20"]) == 0
    assert len(larger) == 2 and all(
        path.read_bytes() == content for path, content in larger.items()
    )
    (beside,) = next(iter(larger)).parent.glob("requests/*/report.html")
    assert b"160 replications in 8 cells" in beside.read_bytes()
