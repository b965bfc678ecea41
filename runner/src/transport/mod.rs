//! The only seam to a host: SSH, a local shell, the lab.
