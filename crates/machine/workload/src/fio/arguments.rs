//! fio's command line in place of a job file.

use super::JobFileError;
use super::ini::{Entry, Section};

/// Name in messages and results.
pub(super) const FILE: &str = "command line";

/// Options of the program fio rather than of a job, and whether a value follows them.
const PROGRAM: [(&str, bool); 27] = [
    ("output", true),
    ("output-format", true),
    ("minimal", false),
    ("terse-version", true),
    ("append-terse", false),
    ("bandwidth-log", false),
    ("eta", true),
    ("eta-newline", true),
    ("eta-interval", true),
    ("status-interval", true),
    ("readonly", false),
    ("section", true),
    ("showcmd", false),
    ("parse-only", false),
    ("merge-blktrace-only", false),
    ("debug", true),
    ("max-jobs", true),
    ("alloc-size", true),
    ("warnings-fatal", false),
    ("server", false),
    ("client", true),
    ("daemonize", true),
    ("idle-prof", true),
    ("inflate-log", true),
    ("trigger-file", true),
    ("trigger", true),
    ("aux-path", true),
];

/// Splits the arguments into sections. Each argument counts as a line. `is_flag` returns whether a key may lack a value.
pub(super) fn sections(arguments: &[String], is_flag: impl Fn(&str) -> bool) -> Result<Vec<Section>, JobFileError> {
    let mut sections = vec![Section { name: "global".to_owned(), line: 1, entries: Vec::new() }];
    let mut rest = (1..).zip(arguments.iter().map(String::as_str)).peekable();
    while let Some((line, argument)) = rest.next() {
        let error = |message: String| JobFileError { file: FILE.to_owned(), line, message };
        let Some(option) = argument.strip_prefix("--").filter(|option| !option.is_empty()) else {
            let message = format!("found \"{argument}\", expected fio's options, such as --name=job --rw=randread");
            return Err(error(message));
        };
        let (key, value) = option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value)));
        let program = PROGRAM.iter().find(|(name, _)| *name == key);
        let takes_value = program.map_or_else(|| !is_flag(key), |(_, takes)| *takes);
        // As in fio, the value may be the next argument.
        let value = match value {
            None if takes_value => rest.next_if(|(_, next)| !next.starts_with("--")).map(|(_, next)| next),
            value => value,
        };
        if program.is_some() {
            // Options of output concern fio's own output; `nandram run` has its own.
            let harmless = !matches!(key, "server" | "client" | "section" | "daemonize" | "trigger" | "trigger-file");
            if harmless {
                continue;
            }
            return Err(error(format!("--{key}: not supported: it belongs to the program fio and not to a job")));
        }
        let text = value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"));
        if key == "name" {
            let name = value.filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| error("--name: found no value, expected a job's name".to_owned()))?;
            sections.push(Section { name: name.to_owned(), line, entries: Vec::new() });
            continue;
        }
        let entry = Entry::new(&text, line).map_err(error)?;
        sections.last_mut().expect("the global section").entries.push(entry);
    }
    if sections.len() == 1 {
        let message = "found no job, expected --name=JOB before its options".to_owned();
        return Err(JobFileError { file: FILE.to_owned(), line: 1, message });
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section's name, and its keys and values.
    type Plain = (String, Vec<(String, Option<String>)>);

    fn split(arguments: &[&str]) -> Result<Vec<Plain>, String> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let sections = sections(&arguments, |key| key == "time_based").map_err(|error| error.to_string())?;
        let plain = |section: Section| {
            (section.name, section.entries.into_iter().map(|entry| (entry.key, entry.value)).collect())
        };
        Ok(sections.into_iter().map(plain).collect())
    }

    #[test]
    fn options_before_the_first_name_belong_to_all_jobs() {
        let some = |text: &str| Some(text.to_owned());
        let found = split(&[
            "--bs=4k",
            "--output-format",
            "json",
            "--name=a",
            "--rw",
            "randread",
            "--time_based",
            "--name",
            "b",
            "--rw=write",
        ]);
        let expected = vec![
            ("global".to_owned(), vec![("bs".to_owned(), some("4k"))]),
            ("a".to_owned(), vec![("rw".to_owned(), some("randread")), ("time_based".to_owned(), None)]),
            ("b".to_owned(), vec![("rw".to_owned(), some("write"))]),
        ];
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn mistakes_name_the_argument() {
        for (arguments, message) in [
            (&["--rw=read"][..], "command line:1: found no job, expected --name=JOB before its options"),
            (
                &["--name=a", "job.fio"],
                "command line:2: found \"job.fio\", expected fio's options, such as --name=job --rw=randread",
            ),
            (&["--name"], "command line:1: --name: found no value, expected a job's name"),
            (
                &["--name=a", "--client=host"],
                "command line:2: --client: not supported: it belongs to the program fio and not to a job",
            ),
        ] {
            assert_eq!(split(arguments), Err(message.to_owned()));
        }
    }
}
