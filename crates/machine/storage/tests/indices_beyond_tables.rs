//! Numbers beyond a recorder's jobs: each call panics, in release builds too.

use media::{Op, Status};
use sim::Time;
use storage::run::record::{Direction, Ended, Recorder};
use testkit::refused;

const NOW: Time = Time::from_us(1);

fn ended(job: u16) -> Ended {
    let at = NOW;
    Ended { job, op: Op::Read, bytes: 512, status: Status::Ok, due: at, issued: at, submitted: at, at }
}

#[test]
fn a_recorder_refuses_jobs() {
    refused!(recorder = Recorder::new(1);
        recorder.runtime(100, Time::ZERO),
        recorder.runtime(1, Time::ZERO),
        recorder.extent(usize::MAX),
        recorder.first_error(1),
        recorder.bytes(1, Direction::Read, NOW),
        recorder.totals(1, Direction::Read, NOW),
        recorder.add_totals(1, Direction::Read, NOW, &mut Default::default()),
        recorder.job_points(1, Direction::Read),
        recorder.ended(&ended(1)),
        recorder.ended(&Ended { status: Status::Uncorrectable, ..ended(1) }),
    );
}
