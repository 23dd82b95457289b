//! Synthetic programs: their accesses, and errors in program files.

use media::{Act, Step, Steps};
use sim::Streams;
use workload::program::{Backing, InitialState, Programs};

fn parse(text: &str) -> Programs {
    Programs::parse("program.toml", text, &Streams::new(1)).unwrap_or_else(|error| panic!("{error}"))
}

fn all(programs: &mut Programs, thread: u16) -> Vec<Step> {
    let (mut all, mut some) = (Vec::new(), Vec::new());
    loop {
        programs.next(thread, &mut some);
        if some.is_empty() {
            return all;
        }
        all.append(&mut some);
    }
}

fn accesses(steps: &[Step], act: Act) -> Vec<u64> {
    steps.iter().filter(|step| step.act == act).map(|step| step.address).collect()
}

#[test]
fn updates_are_divided_among_threads_and_load_before_they_store() {
    let mut programs = parse("kind = \"gups\"\ntable = \"1MiB\"\nupdates = 1001\nthreads = 4\n");
    let threads: Vec<_> = (0..4).map(|thread| all(&mut programs, thread)).collect();
    let counts: Vec<_> = threads.iter().map(|steps| accesses(steps, Act::Store).len()).collect();
    assert_eq!(counts, [251, 250, 250, 250]);
    for steps in &threads {
        assert_eq!(accesses(steps, Act::OrderedLoad), accesses(steps, Act::Store));
        assert!(steps.iter().all(|step| step.address < 1 << 20 && step.address % 8 == 0));
    }
    assert_ne!(accesses(&threads[0], Act::Store)[..100], accesses(&threads[1], Act::Store)[..100]);
}

#[test]
fn create_writes_the_whole_table_before_measurement() {
    let mut programs = parse("kind = \"gups\"\ntable = \"1MiB\"\nupdates = 10\nthreads = 2\ncreate = true\n");
    let mut written = vec![false; 1 << 14];
    for thread in 0..2 {
        let steps = all(&mut programs, thread);
        let begin = steps.iter().position(|step| step.act == Act::Begin).expect("a start of measurement");
        steps[..begin].iter().for_each(|step| written[step.address as usize / 64] = true);
        assert_eq!(accesses(&steps[begin..], Act::OrderedLoad).len(), 5);
    }
    assert!(written.iter().all(|line| *line));
}

#[test]
fn created_marks_the_table_as_written_without_writing_it() {
    let mut programs = parse("kind = \"gups\"\ntable = \"1MiB\"\nupdates = 10\ncreated = true\n");
    assert_eq!(programs.regions()[0].initial, InitialState::Written);
    assert_eq!(all(&mut programs, 0).len(), 20);
    let found = parse("kind = \"gups\"\ntable = \"1MiB\"\nupdates = 10\n");
    assert_eq!(found.regions()[0].initial, InitialState::Existing);
}

#[test]
fn a_checkpoint_follows_every_interval_and_a_fault_repeats_half_of_one() {
    let text = "kind = \"checkpoint\"\ntable = \"256KiB\"\nupdates = 2500\ninterval = 1000\ndirty = \"16KiB\"\n";
    let steps = all(&mut parse(text), 0);
    let begin = steps.iter().position(|step| step.act == Act::Begin).expect("a start of measurement");
    assert_eq!(accesses(&steps[..begin], Act::Store), (0..4096).map(|line| 64 * line).collect::<Vec<_>>());
    let permanent: Vec<_> = steps.iter().filter(|step| step.act == Act::Permanent).collect();
    assert_eq!(permanent.iter().map(|step| (step.address, step.bytes)).collect::<Vec<_>>(), [(0, 256 << 10)]);
    let intervals = |steps: &[Step]| -> Vec<Vec<u64>> {
        steps
            .split(|step| matches!(step.act, Act::Sync | Act::Rollback))
            .map(|part| accesses(part, Act::Store))
            .collect()
    };
    let parts = intervals(&steps[begin..]);
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [1000, 1000, 500, 0]);
    let reach = |part: &[u64]| part.iter().max().unwrap() - part.iter().min().unwrap();
    assert!(parts[..3].iter().all(|part| (8 << 10..16 << 10).contains(&reach(part))));
    assert!(reach(&parts.concat()) > 16 << 10, "each interval updates another part of the table");
    // One fault, in the last interval.
    let steps = all(&mut parse(&format!("{text}faults = 1\n")), 0);
    let again = intervals(&steps[steps.iter().position(|step| step.act == Act::Begin).unwrap()..]);
    assert_eq!(again.iter().map(Vec::len).collect::<Vec<_>>(), [1000, 1000, 250, 500, 0]);
    assert_eq!((&again[..2], &again[3]), (&parts[..2], &parts[2]));
    assert_eq!(again[2], parts[2][..250], "the repeated updates are the same");
}

#[test]
fn copies_alternate_between_two_files_and_the_last_is_restored() {
    let text =
        "kind = \"checkpoint\"\ntable = \"128KiB\"\nupdates = 30\ninterval = 10\nmethod = \"copy\"\nfaults = 1\n";
    let mut programs = parse(text);
    let files: Vec<u64> = programs.regions()[1..].iter().map(|region| region.base).collect();
    let steps = all(&mut programs, 0);
    let of = |act| accesses(&steps, act).iter().map(|at| at & !0x1ffff).collect::<Vec<_>>();
    let (a, b) = (files[0], files[1]);
    assert_eq!(of(Act::Write), [a, a, b, b, a, a, b, b]);
    assert_eq!(of(Act::Sync), [a, b, a, b]);
    assert_eq!(of(Act::Read), [a, a], "the fault comes in the third interval");
    let mut none = parse(&text.replace("copy", "none").replace("faults = 1", ""));
    assert!(!all(&mut none, 0).iter().any(|step| matches!(step.act, Act::Sync | Act::Write)));
    for (wrong, message) in [
        (
            text.replace("copy", "none"),
            "faults: found faults without checkpoints, expected method \"sync\" or \"copy\"",
        ),
        (text.replace("faults = 1", "faults = 4"), "faults: found 4, expected at most 3, one for each interval"),
        (format!("{text}dirty = \"1MiB\"\n"), "dirty: found more than the table, expected at most that"),
    ] {
        let error = Programs::parse("program.toml", &wrong, &Streams::new(1)).err().expect("an error").to_string();
        assert!(error.ends_with(message), "{error}");
    }
}

#[test]
fn a_token_reads_its_experts_and_the_context_and_appends_to_it() {
    let text = "kind = \"inference\"\nweights = \"1MiB\"\nlayers = 4\nexperts = 8\nactive = 2\nkv = \"1KiB\"\ncontext = 10\n\
                tokens = 3\nthreads = 2\n";
    let mut programs = parse(text);
    let (weights, context) = (programs.regions()[0].clone(), programs.regions()[1].clone());
    assert_eq!((weights.backing, weights.bytes, weights.initial), (Backing::Mapped, 1 << 20, InitialState::Existing));
    assert_eq!(
        (context.backing, context.bytes, context.initial),
        (Backing::Anonymous, 4 * 256 * 13, InitialState::Written)
    );
    let threads = [all(&mut programs, 0), all(&mut programs, 1)];
    let of = |region: &workload::program::Region, at: &u64| (region.base..region.base + region.bytes).contains(at);
    let mut matrices = std::collections::BTreeMap::new();
    let mut lines = std::collections::BTreeMap::new();
    for steps in &threads {
        for at in accesses(steps, Act::Load) {
            if of(&weights, &at) {
                *matrices.entry((at - weights.base) / (32 << 10)).or_insert(0) += 1;
            } else {
                assert!(of(&context, &at), "{at:#x} is outside all regions");
                *lines.entry(at).or_insert(0) += 1;
            }
        }
    }
    // Three tokens, four layers, two experts of 512 lines each, divided evenly between the threads.
    assert_eq!(matrices.values().sum::<u64>(), 3 * 4 * 2 * 512);
    assert!(matrices.values().all(|count| count % 512 == 0) && matrices.len() > 8, "{matrices:?}");
    // In each layer, 10 tokens of four lines are read three times, one twice, and one once.
    let counted = |times: u64| lines.values().filter(|count| **count == times).count();
    assert_eq!([counted(3), counted(2), counted(1)], [4 * 40, 4 * 4, 4 * 4]);
    let stores = accesses(&threads[0], Act::Store);
    assert!(
        stores.len() == 3 * 4 * 4
            && stores.iter().all(|at| of(&context, at))
            && accesses(&threads[1], Act::Store).is_empty()
    );
}

#[test]
fn mix_has_the_given_fraction_of_random_accesses() {
    for (random, least, most) in [(0.0, 9999, 9999), (0.3, 6800, 7200), (1.0, 0, 20)] {
        let text = format!("kind = \"mix\"\ntable = \"64MiB\"\naccesses = 10000\nrandom = {random}\n");
        let at = accesses(&all(&mut parse(&text), 0), Act::OrderedLoad);
        let next = at.windows(2).filter(|two| two[1] == (two[0] + 4096) % (64 << 20)).count();
        assert!((least..=most).contains(&next), "{next} of 10000 accesses are sequential at random = {random}");
    }
}

#[test]
fn mix_stores_to_the_words_that_it_loads_if_asked_to() {
    let text = "kind = \"mix\"\ntable = \"1MiB\"\naccesses = 100\nrandom = 0.5\nstore = true\n";
    let steps = all(&mut parse(text), 0);
    assert_eq!(accesses(&steps, Act::Store), accesses(&steps, Act::OrderedLoad));
    let without = all(&mut parse(&text.replace("true", "false")), 0);
    assert_eq!(accesses(&without, Act::OrderedLoad), accesses(&steps, Act::OrderedLoad));
    assert!(accesses(&without, Act::Store).is_empty());
}

#[test]
fn dd_accesses_each_byte_of_the_file_once() {
    for (kind, file_act) in [("dd-read", Act::Load), ("dd-write", Act::Store)] {
        let mut programs = parse(&format!("kind = \"{kind}\"\nfile = \"1MiB\"\nblock = \"100KiB\"\nthreads = 2\n"));
        let file = programs.regions()[0].clone();
        assert_eq!((file.backing, file.bytes), (Backing::File, 1 << 20));
        let mut lines: Vec<u64> = Vec::new();
        for thread in 0..2 {
            let steps = all(&mut programs, thread);
            lines.extend(accesses(&steps, file_act).iter().filter(|at| **at < file.bytes));
            let calls: u64 = steps
                .iter()
                .filter(|step| matches!(step.act, Act::Read | Act::Write))
                .map(|step| u64::from(step.bytes))
                .sum();
            assert_eq!(calls, 1 << 19);
        }
        assert_eq!(lines, (0..1 << 14).map(|line| line * 64).collect::<Vec<_>>());
    }
}

#[test]
fn personalities_stay_in_their_regions_and_follow_their_flows() {
    for kind in ["fileserver", "webproxy", "webserver", "varmail", "oltp", "videoserver"] {
        let text = format!("kind = \"{kind}\"\nfiles = 20\nsize = \"320KiB\"\nthreads = 3\noperations = 60\n");
        let mut programs = parse(&text);
        let regions = programs.regions().to_vec();
        let (mut syncs, mut written, mut read) = (0, 0, 0);
        for thread in 0..3 {
            for step in all(&mut programs, thread) {
                let of =
                    regions.iter().find(|region| (region.base..region.base + region.bytes).contains(&step.address));
                let of = of.unwrap_or_else(|| panic!("{kind}: {step:?} is outside of {regions:?}"));
                assert!(step.address + u64::from(step.bytes) <= of.base + of.bytes, "{kind}: {step:?} leaves {of:?}");
                assert!(step.bytes <= 64 || step.act > Act::Store, "{step:?} is longer than a line");
                syncs += u32::from(step.act == Act::Sync);
                written += if step.act == Act::Write { step.bytes } else { 0 };
                read += if step.act == Act::Read { step.bytes } else { 0 };
            }
        }
        let expected = match kind {
            "varmail" => 120,
            // Every tenth of 20 turns, for each thread.
            "oltp" => 6,
            _ => 0,
        };
        assert_eq!(syncs, expected, "{kind}");
        assert_eq!(written > 0, kind != "videoserver", "{kind}");
        assert!(read > 0, "{kind}");
    }
}

#[test]
fn concurrent_programs_have_separate_memory() {
    let text = "[[program]]\nkind = \"gups\"\ntable = \"100KiB\"\nupdates = 5\n\n[[program]]\nkind = \"mmap\"\nfile = \"1MiB\"\nreads = 7\n";
    let programs = parse(text);
    assert_eq!(programs.threads(), 2);
    let bases: Vec<_> = programs.regions().iter().map(|region| (region.base, region.bytes)).collect();
    assert_eq!(bases, [(0, 100 << 10), (128 << 10, 1 << 20)]);
    assert_eq!(programs.bytes(), (128 << 10) + (1 << 20));
}

#[test]
fn errors_are_one_line() {
    let gups = "kind = \"gups\"\ntable = \"1MiB\"\nupdates = 5\n";
    let message = |text: &str| match Programs::parse("p.toml", text, &Streams::new(1)) {
        Ok(_) => panic!("{text} is valid"),
        Err(error) => error.to_string(),
    };
    let found = [
        message("kind = \"gups\"\ntable = \"1MiB\"\n"),
        message("kind = \"gup\"\n"),
        message("table = \"1MiB\"\n"),
        message("kind = \"gups\"\ntable = 5\nupdates = 5\n"),
        message("kind = \"gups\"\ntable = \"1MB \"\nupdates = 0\n"),
        message(&format!("{gups}thread = 4\n")),
        message(&format!("{gups}threads = 65\n")),
        message(&format!("{gups}ordered = 1\n")),
        message("kind = \"mix\"\ntable = \"1MiB\"\naccesses = 1\nrandom = 1.5\n"),
        message("kind = \"trace\"\nfile = \"nowhere.memory\"\n"),
        message("kind = gups\n"),
        message("threads = 1\n[[program]]\nkind = \"gups\"\n"),
        message("program = 3\n"),
        message(&format!("[[program]]\n{gups}threads = 40\n[[program]]\n{gups}threads = 40\n")),
    ];
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn servers_append_to_one_log_without_initial_data() {
    let mut programs = parse("kind = \"webserver\"\noperations = 60\nthreads = 4\n");
    let log = programs.regions().iter().find(|region| region.name == "log").expect("a log").clone();
    assert_eq!((log.backing, log.initial), (Backing::File, InitialState::Allocated));
    let buffers = programs.regions().iter().find(|region| region.name == "buffers").expect("buffers");
    assert_eq!(buffers.initial, InitialState::Allocated);
    let mut end = log.base;
    for thread in 0..4 {
        for step in all(&mut programs, thread).iter().filter(|step| step.act == Act::Write) {
            assert_eq!(step.address, end, "right after the previous append");
            end += u64::from(step.bytes);
        }
    }
    assert!(end > log.base + 60 * 1024 && end <= log.base + log.bytes);
}

#[test]
fn warm_tokens_are_not_measured() {
    let text = "kind = \"inference\"\nweights = \"1MiB\"\nkv = \"1KiB\"\nlayers = 4\nthreads = 2\ntokens = 2\n";
    let (mut cold, mut warm) = (parse(text), parse(&format!("{text}warm = 1\ncontext = 3\n")));
    let (cold, warm) = (all(&mut cold, 1), all(&mut warm, 1));
    let begin = warm.iter().position(|step| step.act == Act::Begin).expect("a start of measurement");
    // Half of the weights for each token, and the context of three to five tokens.
    let weights = (1 << 20) / 64 / 2;
    assert_eq!((begin, warm.len() - begin - 1), (weights + 3 * 8, 2 * weights + 4 * 8 + 5 * 8));
    assert!(cold.len() == 2 * weights + 8 && cold.iter().all(|step| step.act == Act::Load));
}
