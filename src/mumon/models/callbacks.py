"""gensim.models.callbacks: what is called while a model trains."""

from mumon.training.callbacks import CallbackAny2Vec

__all__ = ["CallbackAny2Vec"]
