"""What a training will need, before anything is trained: memory, disk and hours, measured on this machine.

sample            reads some of the text, as training would read it
heaps_law         how many words the whole text has
vocab_projection  the words of the sample, spread over as many rows as the model will have
throughput        runs the training kernel on these
calibration       a small run of the real command, and a small model that is saved
text, estimator   put the figures together for the whole text and for the whole training
report            the estimate as lines of text, and as JSON
"""

from mumon.estimate.estimator import Estimate, TrainingPlan, estimate

__all__ = ["Estimate", "TrainingPlan", "estimate"]
