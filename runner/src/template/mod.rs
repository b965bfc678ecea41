//! Expressions and templates over variables, with Ansible's meaning.
