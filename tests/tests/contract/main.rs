//! What every module must hold, whoever wrote it: tried on its example and on each of its samples. A module that is
//! added to the list is tried without a line here.
mod apply;
mod coverage;
mod documented;
mod honest;
mod look;
mod reference;
mod trial;
