//! What every forwarded head goes through: hop-by-hop fields, Host, Forwarded and X-Forwarded-*.
