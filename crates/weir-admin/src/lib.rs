//! The actuator and route API.
