//! Ansible Vault values: read and written.
