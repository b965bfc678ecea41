//! The language: from YAML with places to plays, blocks, tasks and roles.
