//! Everything that runs one trial.
