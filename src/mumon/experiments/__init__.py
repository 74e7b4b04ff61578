"""The research apparatus: sweeps, benchmarks, extrinsic evaluation and the paper. Nothing else imports it."""
