"""Training on a cluster: Ray schedules, moves data and restarts; what is trained is what one machine trains."""

from mumon.distributed.cluster import Cluster

__all__ = ["Cluster"]
