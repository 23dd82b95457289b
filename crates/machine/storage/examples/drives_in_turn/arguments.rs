//! Arguments of the command.

use sim::Time;

use crate::arrangement::Arrangement;
use crate::history::Run;

/// Help, printed if an argument is wrong.
const HELP: &str = "\
drives_in_turn SYSTEM [OPTION VALUE]...

  --set KEY=VALUE       change a key of the system; may be repeated
  --writers N,N,...     numbers of writers of measured runs, each of which is simulated, in order (1,2,8)
  --drives N            number of drives (8)
  --part N              simulate drives of 1/N of their size (64)
  --depth N             requests that a writer keeps outstanding (128)
  --core-time NS        time of a writer's core for each request, in ns (3214)
  --addresses common    addresses of the writers: common, or own ones for each
  --lag SHARE           share of the first writer's requests by which the last one is behind (0.02)
  --warm-up SECONDS     simulated time that is not measured (0.5)
  --seconds SECONDS     simulated time that is measured after that (2)
  --seeds N,N,...       seeds of addresses and drives, whose figures are pooled (1)";

/// The arguments.
pub struct Arguments {
    /// A system file or preset.
    pub system: String,
    /// Changes of its keys.
    pub sets: Vec<String>,
    /// Numbers of writers, each of which is simulated.
    pub writers: Vec<u64>,
    /// Drives are simulated at 1/`part` of their size.
    pub part: u64,
    /// Share of the first writer's requests by which the last one is behind.
    pub lag: f64,
    /// True if each writer has addresses of its own.
    pub own_addresses: bool,
    /// Seeds of addresses and drives, whose figures are pooled.
    pub seeds: Vec<u64>,
    /// The rest.
    pub arrangement: Arrangement,
}

impl Arguments {
    /// Parses the arguments of the process.
    ///
    /// # Errors
    /// If one is wrong; the message ends with the help.
    pub fn parse() -> Result<Arguments, String> {
        let mut found = Arguments {
            system: String::new(),
            sets: Vec::new(),
            writers: vec![1, 2, 8],
            part: 64,
            lag: 0.02,
            own_addresses: false,
            seeds: vec![1],
            arrangement: Arrangement {
                drives: 8,
                depth: 128,
                core_time: Time::from_ns(3214),
                warm_up: Time::from_ms(500),
                measured: Time::from_ms(2000),
                seed: 1,
            },
        };
        let mut rest = std::env::args().skip(1);
        while let Some(name) = rest.next() {
            if !name.starts_with("--") {
                found.system = name;
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("{name}: expected a value\n\n{HELP}"))?;
            if found.set(&name, &value).is_none() {
                return Err(format!("{name} {value}: unknown option or wrong value\n\n{HELP}"));
            }
        }
        if found.system.is_empty() { Err(HELP.to_owned()) } else { Ok(found) }
    }

    /// Sets an option. Returns `None` if it does not exist or does not take the value.
    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let positive = || value.parse().ok().filter(|number| *number > 0);
        let seconds = || value.parse().ok().filter(|number| (0.0..1e6).contains(number)).map(Time::from_secs_f64);
        let arrangement = &mut self.arrangement;
        match name {
            "--set" => self.sets.push(value.to_owned()),
            "--writers" => {
                let numbers = value.split(',').map(|each| each.parse().ok().filter(|number| Run::exists(*number)));
                self.writers = numbers.collect::<Option<_>>()?;
            }
            "--drives" => arrangement.drives = positive()? as usize,
            "--part" => self.part = positive()?,
            "--depth" => arrangement.depth = positive()?.try_into().ok()?,
            "--core-time" => arrangement.core_time = Time::from_ns(positive()?),
            "--addresses" => {
                self.own_addresses = match value {
                    "common" => false,
                    "own" => true,
                    _ => return None,
                }
            }
            "--lag" => self.lag = value.parse().ok().filter(|share| (0.0..1.0).contains(share))?,
            "--warm-up" => arrangement.warm_up = seconds()?,
            "--seconds" => arrangement.measured = seconds()?,
            "--seeds" => self.seeds = value.split(',').map(|seed| seed.parse().ok()).collect::<Option<_>>()?,
            _ => return None,
        }
        Some(())
    }
}
