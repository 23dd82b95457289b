//! Tests of the player on a drive with a fixed or random latency per request.

mod control;
mod errors;
mod fixed;
mod harness;
mod jobs;
mod random;
mod replay;
mod zoned;
