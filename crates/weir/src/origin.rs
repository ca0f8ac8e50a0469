//! `weir origin`: an upstream for tests, demonstrations and experiments.
