//! Load generation with honest latency.
