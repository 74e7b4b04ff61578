"""From token ids to two matrices.

What happens when a model is trained, and where:

    session.py        the steps of `Word2Vec.train`: read, choose the vocabulary, resume, choose the rate, run, finish
    settings.py       what decides the result, checked; schedule.py: the rates of the epochs; model_options.py: the rest
    objectives.py     one record per objective: its kernels, equation, rates, limits and memory
    rates.py          the first learning rate, by the objective's rule, made safe for the text
    model_state.py    the vocabulary and the two matrices; weights.py: their layout and first values;
                      mmap_matrix.py: matrices on disk; memory.py: whether all of it fits
    run_state.py      the history, and the position inside a run
    backend.py        where a training runs: this machine here, a cluster in `distributed`
    trainer.py        epoch after epoch; thread_runner.py: an epoch on the threads of this machine
    engine.py         one block of the corpus: its windows (`kernels/windows.py`), then one call of a kernel;
                      sampling.py: seeds, noise and subsampling probabilities, rates of rows
    checkpoints.py    when the state of a run is written, and what is kept; resume.py: what must be the same to resume
    callbacks.py      the user's code between epochs
    gradcheck.py      whether a kernel's step is the gradient of its objective's loss

An epoch is a list of blocks of whole sentences, about 16 k tokens each. Threads take blocks from a shared counter and
call two kernels without the GIL: `sample_block` looks up rows, subsamples and draws each window, and a training
kernel updates the two matrices in place, without locks (Hogwild). The random draws of a block are a pure function of
seed, epoch and block, and its rate of its place in the epoch. So it does not matter which thread trains it, and with
one thread a run is repeatable to the bit.

Each row has a rate of its own: alpha times a power of the word's share of the text (`sampling.compute_row_rates`), so
that rare words, which have few updates, take larger steps. Rows still move along their true gradient.
`rate_exponent=0`, the default with `exact`, is plain SGD. The loss is the mean negative-sampling loss per trained
token, taken on one target in 16 or one batch in 64 and summed in float64.
"""
