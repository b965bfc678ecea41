//! Every level of variables against Ansible's order.
