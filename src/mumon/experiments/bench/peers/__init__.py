"""One program per peer, each run in its own process: a `Job` as JSON in, a file of vectors out."""
