"""Files that are never seen in part."""

import pytest

from pipeline.study.files import write_whole


def test_a_file_is_replaced_as_a_whole_and_its_folder_made(tmp_path):
    path = tmp_path / "new/folder/x"
    write_whole(path, b"old")
    write_whole(str(path), b"new")
    assert path.read_bytes() == b"new" and list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "x"
    write_whole(path, b"old")
    with pytest.raises(TypeError):
        write_whole(path, "text")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
