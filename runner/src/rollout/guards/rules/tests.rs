//! What is decided on outputs of a real cluster.
