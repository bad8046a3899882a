"""`task=verify results=PATH`: a copy of sealed results is checked by the digests that it holds, without its study."""

import json
import shutil

import pytest

from pipeline.__main__ import main
from pipeline.storage.datasets import ZarrLocation
from pipeline.storage.folder import Folder
from tests.helpers.engine import arguments, sealed, study


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    sealed(study(replications=20), folder)
    return folder / "results.zarr"


@pytest.fixture
def copy(results, tmp_path):
    """A copy of results.zarr under another name, in a folder without its study."""
    return shutil.copytree(results, tmp_path / "my copy, sent.zarr")


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage, key",
    [
        (flip, "kendall/c/0/0/0/0/0"),
        (flip, "zarr.json"),
        (lambda path: path.unlink(), "status/zarr.json"),
        (lambda path: path.with_name("other").write_text(""), "epsilon/c/0"),
    ],
    ids=["bit", "root", "missing", "added"],
)
def test_a_copy_is_whole_or_its_damaged_file_is_named(damage, key, copy, capsys):
    assert main(["task=verify", f"results={copy}"]) == 0
    assert capsys.readouterr().out == f"{copy}: every byte is as it was written\n"
    damage(copy / key)
    assert main(["task=verify", f"results={copy}"]) == 1
    out = capsys.readouterr().out
    assert f"damaged: {key.rpartition('/')[0]}" in out and out.endswith("1 damaged files\n")


def test_a_digest_that_was_changed_is_damage_of_the_root_and_not_of_its_file(copy, capsys):
    """Also where a file was exchanged with its digest: the root has a digest of all digests."""
    root, path = copy / "zarr.json", copy / "kendall/c/0/0/0/0/0"
    text = root.read_text()
    digest = json.loads(text)["attributes"]["files"][str(path.relative_to(copy))]
    flip(path)
    root.write_text(
        text.replace(
            digest,
            ZarrLocation(Folder(copy.parent), copy.name).file_digest(str(path.relative_to(copy))),
        )
    )
    for exchanged in (True, False):
        if not exchanged:
            flip(path)
        assert main(["task=verify", f"results={copy}"]) == 1
        assert "damaged: zarr.json: is not what this program wrote\n" in capsys.readouterr().out
    root.write_text(text)
    assert main(["task=verify", f"results={copy}"]) == 0


@pytest.mark.parametrize(
    "words, says",
    [
        (
            ["task=verify", "results=/nowhere/results.zarr"],
            "results=/nowhere/results.zarr: must be a folder with a copy",
        ),
        (["task=report", "results=."], "results=.: goes with task=verify only"),
        (
            ["task=verify", "results=.", "repair=true"],
            "repair=true: cannot be combined with results=…",
        ),
    ],
)
def test_mistakes_are_one_line(words, says, tmp_path, capsys):
    assert main([*arguments(tmp_path), *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {says}") and error.count("\n") == 1
