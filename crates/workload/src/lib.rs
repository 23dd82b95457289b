//! What a host asks of a drive: fio job files, address distributions, block traces, and the player that issues them.

pub mod trace;
