//! The data plane: listeners, workers, the exchange, upstream pools.
