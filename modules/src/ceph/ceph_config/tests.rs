//! Options as people write them, clusters as they were recorded.
mod files;
mod stored;
