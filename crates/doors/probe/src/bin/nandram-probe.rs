//! The probe as a program of its own, for machines without Python such as the guests of `nandram guest`. It needs no
//! libraries if it is linked statically (`make plugin`).

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use probe::block::{Block, Options as Opening, Roots};
use probe::{Finding, Method, Options, Report, Subject, Test, Verdict, probe_as_far_as_possible};

const USAGE: &str = "usage: nandram-probe TARGET [--test NAME]... [--allow-write --confirm SERIAL|PATH] [--keep-hmb] \
                     [--method search|paper] [--every N] [--confidence P] [--seed N] [--json FILE]";

struct Request {
    target: String,
    options: Options,
    confirm: Option<String>,
    allow_write: bool,
    json: Option<String>,
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut request = Request {
        target: String::new(),
        options: Options { tests: Vec::new(), ..Options::default() },
        confirm: None,
        allow_write: false,
        json: None,
    };
    let (mut paper, mut every) = (false, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word}: found no value; {USAGE}"));
        match word.as_str() {
            "--test" => request.options.tests.push(test(&value()?)?),
            "--allow-write" => request.allow_write = true,
            "--confirm" => request.confirm = Some(value()?),
            "--keep-hmb" => request.options.hmb = false,
            "--confidence" => request.options.confidence = confidence(&value()?)?,
            "--method" => paper = is_paper(&value()?)?,
            "--every" => every = Some(distance(&value()?)?),
            "--seed" => request.options.seed = seed(&value()?)?,
            "--json" => request.json = Some(value()?),
            _ if word.starts_with('-') || !request.target.is_empty() => {
                return Err(format!("found `{word}`; {USAGE}"));
            }
            _ => request.target = word,
        }
    }
    match (paper, every) {
        (true, every) => request.options.method = Method::Paper { every: every.unwrap_or(1) },
        (false, Some(_)) => return Err("--every: found without --method paper, expected it with that".to_owned()),
        (false, None) => {}
    }
    if let Some(test) = request.options.tests.iter().find(|test| !request.options.method.has(**test)) {
        return Err(format!("--test: found `{}`, which the paper does not have", test.name()));
    }
    match (request.target.is_empty(), request.options.tests.is_empty()) {
        (true, _) => return Err(USAGE.to_owned()),
        (false, true) => request.options.tests = Test::ALL.to_vec(),
        (false, false) => request.options.tests.sort_unstable(),
    }
    if request.allow_write != request.confirm.is_some() {
        return Err("--allow-write, --confirm: found one of the two, expected both or neither".to_owned());
    }
    Ok(request)
}

fn test(name: &str) -> Result<Test, String> {
    let names = || Test::ALL.map(Test::name).join(", ");
    let found = Test::ALL.into_iter().find(|test| test.name() == name);
    found.ok_or_else(|| format!("--test: found `{name}`, expected one of {}", names()))
}

fn confidence(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.5 && *number < 1.0);
    number.ok_or_else(|| format!("--confidence: found `{text}`, expected a number above 0.5 and below 1"))
}

/// Returns true for the paper's method.
fn is_paper(text: &str) -> Result<bool, String> {
    match text {
        "search" => Ok(false),
        "paper" => Ok(true),
        _ => Err(format!("--method: found `{text}`, expected search or paper")),
    }
}

fn distance(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=64).contains(number));
    number.ok_or_else(|| format!("--every: found `{text}`, expected a whole number from 1 to 64"))
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("--seed: found `{text}`, expected a whole number"))
}

/// Probes the target. Returns the report, and how the probe ended.
fn run(request: &Request) -> Result<(Report, Result<(), String>), String> {
    let subject = Subject::find(&request.target, &[], &Roots::default()).map_err(|e| e.to_string())?;
    let plan = subject.plan(&request.options, request.allow_write).map_err(|e| e.to_string())?;
    let Subject::Real(found) = subject else {
        return Err(format!("{}: found a simulated drive, expected a file or a block device", request.target));
    };
    let confirmed = request.confirm.as_deref().map(|typed| found.confirm(typed));
    let write = confirmed.transpose().map_err(|e| e.to_string())?;
    let mut options = request.options.clone();
    (options.read_bytes_max, options.write_bytes_max) = (plan.read_bytes_max, plan.write_bytes_max);
    let stop = Arc::new(AtomicBool::new(false));
    let opening = Opening { write, switch_hmb: options.hmb, seed: options.seed, stop };
    let mut block = Block::open(&found, opening).map_err(|e| e.to_string())?;
    plan.notes.iter().for_each(|note| eprintln!("{note}"));
    let (report, ended) = probe_as_far_as_possible(&mut block, &options, &mut |_| true);
    let closed = block.close();
    Ok((report, ended.and(closed).map_err(|e| e.to_string())))
}

fn line(finding: &Finding) -> String {
    let memory = match finding.hmb {
        None => "",
        Some(true) => " with host memory",
        Some(false) => " without host memory",
    };
    let verdict = match finding.verdict {
        Verdict::Supported => "supported",
        Verdict::Refuted => "refuted",
        Verdict::Inconclusive => "inconclusive",
    };
    let size = finding.size.map_or_else(String::new, |size| {
        format!(", {:.6} {} ({:.6} to {:.6})", size.value, size.unit, size.low, size.high)
    });
    format!("{}{memory}: {verdict}{size}: {}", finding.about.replace('_', " "), finding.evidence)
}

fn main() -> ExitCode {
    let fail = |message: String, status: u8| {
        eprintln!("error: {message}");
        ExitCode::from(status)
    };
    let request = match parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(message) => return fail(message, 2),
    };
    let (report, ended) = match run(&request) {
        Ok(done) => done,
        Err(message) => return fail(message, 2),
    };
    report.findings.iter().for_each(|finding| println!("{}", line(finding)));
    if let Some(path) = &request.json
        && let Err(error) = std::fs::write(path, report.to_json())
    {
        return fail(format!("--json: {path}: {error}"), 1);
    }
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => fail(message, 1),
    }
}
