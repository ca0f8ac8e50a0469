//! The route table: `lookup` through a decision index, `scan` as its oracle.
//!
//! The two give the same answer for every table and every request.
