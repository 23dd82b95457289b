//! Effects of an error on its job and on other jobs.

use std::collections::VecDeque;

use media::Op;
use sim::{Streams, Time};
use workload::{ContinueOnError, Io, Next, Options, Player, Workload};

const MIB: u64 = 1 << 20;

/// Plays on a drive that serves one request at a time and fails those selected by `fails`. Returns the issued requests.
fn play(workload: &Workload, options: &Options, fails: impl Fn(&Io) -> bool) -> Vec<Io> {
    let mut player = Player::new(workload, options, &Streams::new(1)).expect("a workload that fits the drive");
    let (mut now, mut issued, mut waiting) = (Time::ZERO, Vec::new(), VecDeque::new());
    loop {
        match player.next(now).expect("a workload that can be read") {
            Next::Issue(io) => {
                issued.push(io);
                waiting.push_back(io);
                continue;
            }
            Next::Finished => return issued,
            Next::At(at) if waiting.is_empty() => now = at,
            Next::At(_) | Next::Blocked => {
                now += Time::from_us(100);
                let io = waiting.pop_front().expect("an outstanding request");
                player.complete(now, io.id);
                if fails(&io) {
                    player.failed(io.job, io.request.op);
                }
            }
        }
    }
}

fn jobs(text: &str, fails: impl Fn(&Io) -> bool) -> Vec<Io> {
    let workload = Workload::parse_fio("test.fio", text).expect("a valid job file");
    play(&workload, &Options::new(MIB), fails)
}

fn of(issued: &[Io], job: u16) -> usize {
    issued.iter().filter(|io| io.job == job).count()
}

#[test]
fn an_error_ends_its_job_and_no_other() {
    let text = "[global]\nnumber_ios=50\nnorandommap\n[a]\nrw=randread\niodepth=4\n[b]\nrw=randwrite\n";
    let issued = jobs(text, |io| io.job == 0);
    assert_eq!((of(&issued, 0), of(&issued, 1)), (4, 50), "outstanding requests complete");
    // A job with a rate is waiting for its next request when it is stopped.
    let issued = jobs("[a]\nrw=randread\nrate_iops=1000\nnumber_ios=50\n", |io| io.due >= Time::from_ms(9));
    assert_eq!(issued.len(), 10);
}

#[test]
fn continue_on_error_keeps_a_job_running() {
    let count = |key: &str, op: Op| {
        let text = format!("[a]\nrw=randrw\nnumber_ios=60\nnorandommap\n{key}");
        jobs(&text, |io| io.request.op == op).len()
    };
    for (key, reads, writes) in
        [("", 0, 0), ("none", 0, 0), ("read", 60, 0), ("write", 0, 60), ("io", 60, 60), ("all", 60, 60), ("1", 60, 60)]
    {
        let line = if key.is_empty() { String::new() } else { format!("continue_on_error={key}\n") };
        for (op, all) in [(Op::Read, reads), (Op::Write, writes)] {
            let count = count(&line, op);
            assert!(if all == 60 { count == 60 } else { count < 20 }, "{key}: {count} after errors of {op:?}");
        }
    }
    // A flush counts as a write.
    let text = "[a]\nrw=write\nnumber_ios=20\nfsync=5\ncontinue_on_error=";
    let flushes = |io: &Io| io.request.op == Op::Flush;
    assert!(jobs(&format!("{text}read\n"), flushes).len() < 10);
    assert!(jobs(&format!("{text}write\n"), flushes).len() > 20);
}

#[test]
fn exitall_on_error_ends_other_jobs() {
    let text = "[global]\nrw=randread\nnumber_ios=50\nexitall_on_error\n[a]\n[b]\n[c]\nstonewall\n";
    let issued = jobs(text, |io| io.job == 0);
    assert!(of(&issued, 0) == 1 && of(&issued, 1) < 5 && of(&issued, 2) == 50);
    let issued = jobs(&text.replace("[a]", "exit_what=all\n[a]"), |io| io.job == 0);
    assert_eq!(of(&issued, 2), 0);
    assert_eq!(jobs(text, |_| false).len(), 150, "without an error no job ends early");
}

#[test]
fn player_options_are_defaults_for_jobs() {
    let all = ContinueOnError::NAMES.iter().find(|(name, _)| *name == "all").expect("one of fio's names").1;
    let options = Options { continue_on_error: all, ..Options::new(MIB) };
    let text = "[global]\nrw=randread\nnumber_ios=30\n[a]\n[b]\ncontinue_on_error=none\n";
    let workload = Workload::parse_fio("test.fio", text).expect("a valid job file");
    let issued = play(&workload, &options, |_| true);
    assert_eq!((of(&issued, 0), of(&issued, 1)), (30, 1));
}
