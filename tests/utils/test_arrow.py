"""Arrow arrays of numbers and bytes are what pyarrow itself would make, without pandas."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon.utils.arrow import unwrap_numbers, wrap_bytes, wrap_numbers


@settings(deadline=None)  # pyarrow loads pandas
@given(st.lists(st.binary(max_size=20)))
def test_bytes_are_those_of_pyarrow(strings):
    assert wrap_bytes(strings).equals(pa.array(strings, pa.large_binary()))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64, np.float64])
@pytest.mark.parametrize("length", [0, 1, 9])
def test_numbers_are_those_of_pyarrow_and_come_back(dtype, length):
    numbers = np.arange(2 * length).astype(dtype)[::2]
    wrapped = wrap_numbers(numbers)
    assert wrapped.equals(pa.array(numbers))
    for column in (wrapped, wrapped[1:], pa.chunked_array([wrapped, wrapped[2:]]), pa.chunked_array([], wrapped.type)):
        back = unwrap_numbers(column)
        assert back.dtype == dtype and back.tolist() == column.to_pylist() and not back.flags.writeable


def test_missing_numbers_are_refused():
    with pytest.raises(ValueError, match="1 of 2"):
        unwrap_numbers(pa.array([1, None]))
