//! Packages: what is installed, by apt or dnf.
mod apt;
mod dnf;
mod family;
mod package;
mod package_facts;
mod wish;

pub use apt::Apt;
pub use dnf::Dnf;
pub use package::Package;
pub use package_facts::PackageFacts;
