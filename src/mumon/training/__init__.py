"""From token ids to two matrices: settings, rates, objectives, the engine, epochs, checkpoints."""
