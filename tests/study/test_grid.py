"""Grid: cell numbers and labels are two names for the same thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.study.grid import Grid
from pipeline.study.parameters import InvalidInput
from pipeline.study.streams import canonical

LEVELS = st.one_of(
    st.lists(st.integers(-50, 50), min_size=1, max_size=4, unique=True),
    st.lists(st.floats(-5, 5).map(lambda x: x + 0.0), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True),
)
PRODUCT = st.dictionaries(st.sampled_from(["m", "L", "x", "scheme"]), LEVELS, min_size=1)


@given(PRODUCT)
def test_numbering_is_a_bijection_in_row_major_order(product):
    grid = Grid.of(product)
    cells = list(grid)
    assert len(cells) == len(grid) and len({canonical(c) for c in cells}) == len(grid)
    assert cells == [grid.labels(cell) for cell in range(len(grid))]
    assert all(list(cell) == list(product) for cell in cells)
    places = [tuple(product[axis].index(cell[axis]) for axis in product) for cell in cells]
    assert places == sorted(places)
    assert {axis: tuple(levels) for axis, levels in product.items()} == grid.axes


@given(st.data())
def test_union_numbers_one_product_after_the_other(data):
    product = data.draw(PRODUCT)
    axis = data.draw(st.sampled_from(list(product)))
    cut = data.draw(st.integers(1, max(1, len(product[axis]) - 1)))
    parts = [product | {axis: p} for p in (product[axis][:cut], product[axis][cut:]) if p]
    whole, union = Grid.of(product), Grid.of(*parts)
    assert len(union) == len(whole) and union.sizes == tuple(len(Grid.of(p)) for p in parts)
    assert list(union) == [cell for part in parts for cell in Grid.of(part)]
    assert {canonical(c) for c in union} == {canonical(c) for c in whole}
    assert union.axes == whole.axes


@given(PRODUCT, st.data())
def test_products_may_not_overlap(product, data):
    cell = data.draw(st.sampled_from(list(Grid.of(product))))
    with pytest.raises(InvalidInput, match="twice"):
        Grid.of(product, {axis: [level] for axis, level in cell.items()})


@given(PRODUCT, st.integers(0, 5))
def test_there_are_no_cells_outside(product, beyond):
    grid = Grid.of(product)
    for cell in (len(grid) + beyond, -1 - beyond):
        with pytest.raises(IndexError):
            grid.labels(cell)


def test_levels_of_another_type_are_another_cell():
    assert len(Grid.of({"x": [1]}, {"x": [1.0]})) == 2


def test_adding_levels_moves_no_label():
    small, large = Grid.of({"m": [10], "L": [1, 2]}), Grid.of({"m": [5, 10], "L": [2, 3, 1]})
    assert {canonical(c) for c in small} <= {canonical(c) for c in large}
