"""Numba kernels: arrays and scalars in, counters out. No other package imports numba.

Training: `windows` subsamples and draws windows; `cbow`, `positions` and `skipgram` update the matrices, `bags` where a
token has several rows; `reference` has their equations in plain Python. They are built from
`negative_sampling` (the step of a vector with its target and noise words), `products` (matrix products with noise
words), `row_ops` (operations on rows), `simd` (LLVM's vectors), `noise` (noise words), `numerics` (random bits, the
sigmoid) and `layout` (how rows are placed in memory). Text:
`characters` splits running text, `bytewise` and `tokens` split and number words, `strings` and `pairs` count phrases,
both over `hash_table`. Others: `exchange` (replicas on a cluster), `walks` (graphs), `analogies`, `transport` (the Word
Mover's Distance), and `roofline` (what the machine can do).

`jit` compiles them. Kernels know nothing of progress, validation, seeding or messages. With NUMBA_DISABLE_JIT=1 all of
them run as plain Python, which is how tests look inside.
"""
