//! The player against what its jobs and traces say, on a drive that takes a given time for each request.

mod course;
mod errors;
mod fixed;
mod harness;
mod jobs;
mod random;
mod replay;
