//! Tables of one shape each.
