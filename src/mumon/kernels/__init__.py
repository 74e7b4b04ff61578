"""Numba kernels: arrays and scalars in, counters out. Nothing outside this package imports numba."""
