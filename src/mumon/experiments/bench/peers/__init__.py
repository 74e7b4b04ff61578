"""One program per peer, each run in a process of its own: a `Job` as JSON in, a file of vectors out."""
