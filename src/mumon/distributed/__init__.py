"""Training on a Ray cluster.

A `ClusterRunner` runs the epochs of a `Trainer` on nodes, the machines of the cluster. Schedule, history,
signals, checkpoints and callbacks are the same as on one machine. Ray does the rest:

- Tasks encode shards of the text into parts (`corpus`, `parts`). If a node is lost with its parts, Ray runs them again.
- Actors train, one on each node (`node_pool`, `node_trainer`). Each has a `replica` of both matrices.
- Ray's object store moves the changes that nodes exchange; the driver sees only references to them.

The driver cuts the text into *stretches*, which are blocks of one part, and dispatches them in rounds (`rounds`,
`epoch`). A position counts stretches here, where it counts blocks on one machine. docs/scale.md says what nodes
exchange, and why that is enough; `epoch` says what happens when a node is lost. `simulation` runs the same replicas,
rounds and exchanges in one process: that is how the constants were chosen, and how tests can look inside.
"""

from mumon.distributed.cluster import Cluster

__all__ = ["Cluster"]
