"""gensim.models.callbacks: the base class of callbacks, which are called while a model trains."""

from mumon.training.callbacks import CallbackAny2Vec

__all__ = ["CallbackAny2Vec"]
