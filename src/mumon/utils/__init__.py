"""What every package may use and none is about: files, locks, JSON, progress, signals, threads, memory, checks."""
