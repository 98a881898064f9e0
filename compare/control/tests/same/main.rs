//! Our controls decide as the programs they are taken from: the same random sequences go to
//! both, and every answer must be the same.

mod aws;
mod governor;
mod ours;
mod tower;
