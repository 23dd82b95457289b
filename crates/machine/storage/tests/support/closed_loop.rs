//! A minimal closed-loop driver that keeps a fixed number of requests outstanding.

use media::{Request, Status};
use sim::Time;
use storage::{Completion, Machine};

/// Measurements of a closed loop.
#[derive(Clone, Debug, Default)]
pub struct Flown {
    /// End of the last request.
    pub end: Time,
    /// Sum of the response times.
    pub responses: Time,
    /// Outstanding requests, integrated over time, in request-picoseconds.
    pub area: u128,
    /// Response times, in the order in which requests ended.
    pub each: Vec<(u32, Time)>,
    /// Bytes of the requests that ended.
    pub bytes: u64,
    /// The longest time between the ends of two requests.
    pub silence: Time,
}

/// Runs `count` requests with `depth` outstanding, each returned by `draw`.
///
/// # Panics
/// Panics if a request ends twice, never, or with an error.
pub fn fly(machine: &mut Machine, depth: u32, count: u32, mut draw: impl FnMut() -> Request) -> Flown {
    let mut flown = Flown::default();
    let mut under: Vec<Option<(Time, Request, u32)>> = vec![None; depth as usize];
    let (mut asked, mut ended) = (0, 0);
    let mut completions: Vec<Completion> = Vec::new();
    let mut now = machine.now();
    let mut last = now;
    for io in 0..depth.min(count) {
        let request = draw();
        under[io as usize] = Some((now, request, asked));
        machine.submit(now, io, (io % 4) as u16, request);
        asked += 1;
    }
    while ended < count {
        assert!(machine.advance(Time::MAX, &mut completions), "requests are outstanding but no event is pending");
        let at = machine.now();
        let outstanding = under.iter().flatten().count() as u128;
        flown.area += outstanding * u128::from((at - now).ps());
        if !completions.is_empty() {
            flown.silence = flown.silence.max(at - last);
            last = at;
        }
        now = at;
        for Completion { io, status, submitted, at } in completions.drain(..) {
            let (begun, request, number) = under[io as usize].take().expect("a request ends once");
            assert_eq!(status, Status::Ok);
            assert!(begun <= submitted && submitted <= at && at == now, "{begun} {submitted} {at}");
            ended += 1;
            flown.responses += at - begun;
            flown.bytes += request.bytes;
            flown.each.push((number, at - begun));
            if asked < count {
                let request = draw();
                under[io as usize] = Some((now, request, asked));
                machine.submit(now, io, (io % 4) as u16, request);
                asked += 1;
            }
        }
    }
    assert!(under.iter().all(Option::is_none));
    flown.end = now;
    flown
}
