"""What a training will take, before anything is trained: memory, disk and hours, measured on this machine.

sample     some of the text is read, as training would read it
growth     how many words all of it has
likeness   the words of the sample, spread over as many rows as the model will have
calibrate  the training kernel at work on these
trial      a small run of the real command, and a small model saved
needs      what follows from all that for the whole
"""

from mumon.estimate.estimator import Estimate, TrainingPlan, estimate

__all__ = ["Estimate", "TrainingPlan", "estimate"]
