//! Each mistake in a file has one line that names the line, the key, the value found and the expected one.

mod support;

use serving::Config;
use storage::run::RunOptions;
use support::{SMALL, drive, with};

#[test]
fn each_mistake_is_one_line_that_names_it() {
    let cases = [
        ("drive", "cuont", "1", "drive.cuont: found an unknown key, the nearest is `drive.count`"),
        ("drive", "count", "-1", "drive.count: found -1, expected a whole number from 0 to 64"),
        ("drive", "request", "\"5000B\"", "drive.request: expected a multiple of 4KiB, at most 64MiB"),
        (
            "drive",
            "eviction",
            "\"lfu\"",
            "drive.eviction: found \"lfu\", expected one of lru, fifo; the nearest is \"lru\"",
        ),
        ("drive", "placement", "1", "drive.placement: found 1, expected one of stripe, block"),
        ("drive", "used", "0", "drive.used: found 0, expected a number from 0.0001 to 1"),
        ("tiers", "host", "\"32\"", "tiers.host: found \"32\" without a unit, expected a size such as \"8KiB\""),
        (
            "tiers",
            "link",
            "\"0B/s\"",
            "tiers.link: found \"0B/s\", expected a bandwidth such as \"64GB/s\", of more than zero",
        ),
        ("tiers", "reuse", "\"never\"", "tiers.reuse: found \"never\", expected one of fetch, recompute, cheaper"),
        ("gpu", "flops", "\"10TFLOPS\"", "gpu.flops: found \"10TFLOPS\", expected a rate such as \"989TFLOP/s\""),
        ("gpu", "power", "\"100\"", "gpu.power: found \"100\" without a unit"),
        (
            "gpu",
            "name",
            "\"h100-sxn\"",
            "gpu.name: found \"h100-sxn\", expected one of a100-80gb, h100-sxm, b200; the nearest is \"h100-sxm\"",
        ),
        ("gpu", "compute_share", "2", "gpu.compute_share: found 2, expected a number from 0.001 to 1"),
        ("gpu", "pool", "\"4KiB\"", "gpu.pool: found 4KiB, expected at least one KV block of 256KiB"),
        ("model", "name", "\"llama-2\"", "model.name: found \"llama-2\", expected one of llama-3-8b"),
        ("model", "layers", "0", "model.layers: found 0, expected a whole number from 1 to 4096"),
        ("scheduler", "block", "1.5", "scheduler.block: found 1.5, expected a whole number from 1 to 4096"),
        ("load", "rate", "\"2\"", "load.rate: found \"2\", expected sessions per time, such as \"2/s\""),
        ("load", "turns", "0.5", "load.turns: found 0.5, expected a number from 1 to 10000"),
        ("load", "duration", "\"20\"", "load.duration: found \"20\" without a unit"),
        ("load", "warm_up", "\"20s\"", "load.warm_up: expected less than load.duration"),
        ("load", "prompt", "{ tokens = 0 }", "load.prompt.tokens: found 0, expected a number from 1 to 10000000"),
        ("load", "prompt", "{ tokens = 5, distribution = \"pareto\" }", "load.prompt.distribution: found \"pareto\""),
        ("load", "output", "{}", "load.output.tokens: found nothing, expected a number from 1 to 10000000"),
    ];
    for (table, key, value, expected) in cases {
        let text = with(SMALL, table, key, value);
        let error = Config::parse("chat.toml", &text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{table}.{key} = {value}:\n  {error}\n  {expected}");
        assert!(error.starts_with("chat.toml:") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn mistakes_of_form_name_their_line() {
    let of = |text: &str| Config::parse("chat.toml", text).expect_err("a mistake").to_string();
    assert_eq!(
        of("kind = \"kvcach\""),
        "chat.toml:1: kind: found \"kvcach\", expected one of kvcache; the nearest is \"kvcache\""
    );
    assert!(of("kind = kvcache").starts_with("chat.toml:1: "), "{}", of("kind = kvcache"));
    let basis = |line: &str| of(&format!("{SMALL}[basis]\n{line}\n"));
    let at = SMALL.lines().count() + 2;
    let expected = "expected a table of one key: { given = \"…\" }, assumed or calibrated";
    assert_eq!(basis("\"tiers.link\" = \"PCIe\""), format!("chat.toml:{at}: basis.tiers.link: {expected}"));
    assert_eq!(
        basis("\"tiers.lnk\" = { given = \"PCIe\" }"),
        format!("chat.toml:{at}: basis.tiers.lnk: found an unknown key, the nearest is `tiers.link`")
    );
    let weights = of(&with(&SMALL.replace("[gpu]\n", "[weights]\nstreamed = 0.5\n[gpu]\n"), "drive", "count", "0"));
    assert!(weights.contains("weights.source: found \"drive\", expected \"host\" where drive.count is 0"), "{weights}");
    let memory = of(&SMALL.replace("pool = \"96MiB\"\n", "").replace("memory = \"1GB\"", "memory = \"0.2GB\""));
    assert!(memory.contains("gpu.count: found 0.2 GB of usable memory"), "{memory}");
}

fn refusal(text: &str) -> String {
    let config = Config::parse("chat.toml", text).expect("a valid file");
    match serving::play(&drive(), "chat.toml", config, &RunOptions::default(), &mut |_| true) {
        Ok(_) => panic!("a mistake is refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_the_drives_cannot_do_is_refused() {
    let sample = refusal(&with(SMALL, "drive", "sample", "3"));
    assert_eq!(sample, "drive.sample: found 3, expected a divisor of the drive's flash.channels (8)");
    let room = refusal(&with(SMALL, "drive", "used", "0.0001"));
    assert_eq!(room, "chat.toml: drive.used: found drives with room for no KV block, expected room for one of 256KiB");
}

#[test]
fn each_mistake_in_an_arrival_trace_names_its_line() {
    let folder = std::env::temp_dir().join(format!("nandram-arrivals-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let header = "time,prompt_tokens,output_tokens\n";
    let cases = [
        ("times,prompt_tokens,output_tokens\n".to_owned(), ":1: found the column \"times\""),
        ("time,prompt_tokens\n".to_owned(), ":1: found no column \"output_tokens\" in the first line"),
        (header.to_owned(), ":1: found no request"),
        (format!("{header}0,10,x\n"), ":2: output_tokens: found \"x\", expected a whole number of at least 1"),
        (format!("{header}0,10\n"), ":2: output_tokens: found no field"),
        (format!("{header}-1,10,5\n"), ":2: time: found \"-1\", expected seconds"),
        (format!("{header}2,10,5\n1,10,5\n"), ":3: time: found a time before that of the previous row"),
        (format!("{header}0,9000,5\n"), ":2: found 9005 tokens, expected at most load.context_max (2048)"),
    ];
    let path = folder.join("arrivals.csv");
    let text = with(SMALL, "load", "trace", &format!("\"{}\"", path.display()));
    let text: String = text
        .lines()
        .filter(|line| {
            !["rate", "turns", "think", "prompt", "output"].contains(&line.split(' ').next().unwrap_or_default())
        })
        .map(|line| format!("{line}\n"))
        .collect();
    // The count of shared prefixes is only for drawn sessions.
    let text = text.replace("prefix = { tokens = 64, count = 4 }", "prefix = { tokens = 64 }");
    for (csv, expected) in cases {
        std::fs::write(&path, &csv).expect("a file");
        let error = refusal(&text);
        assert!(error.contains(expected) && !error.contains('\n'), "{csv}: {error}");
    }
    std::fs::write(&path, format!("{}session\n0,100,5,7\n1.5,200,5,7\n", header.replace('\n', ","))).expect("a file");
    let config = Config::parse("chat.toml", &text).expect("a valid file");
    let outcome = serving::play(&drive(), "chat.toml", config, &RunOptions::default(), &mut |_| true).expect("a run");
    assert_eq!(outcome.tally.finished, 2);
    // The second request of a session finds the full blocks of the first.
    assert_eq!(outcome.tally.hits[0], 96);
    for (csv, expected) in [
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n",
            ":2: TIMESTAMP: found \"yesterday\", expected a date",
        ),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1,1\n2023-11-16 18:17:02.9,1,1\n",
            ":3: time: found a time before that of the previous row",
        ),
        ("{\"timestamp\": 0}\n", ":1: found no request of Mooncake: missing field `input_length`"),
        ("{\"timestamp\": 0, \"input_length\": 0, \"output_length\": 1}\n", ":1: expected a timestamp of less than"),
        (
            "{\"timestamp\": 0, \"input_length\": 9000, \"output_length\": 1}\n",
            ":1: found 9001 tokens, expected at most",
        ),
    ] {
        std::fs::write(&path, csv).expect("a file");
        let error = refusal(&text);
        assert!(error.contains(expected) && !error.contains('\n'), "{csv}: {error}");
    }
    let missing = refusal(&text.replace("arrivals.csv", "missing.csv"));
    assert!(missing.contains("missing.csv"), "{missing}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// Plays a trace on the small server; returns arrivals, and tokens of prompts found in GPU memory.
fn traced(name: &str, content: &str) -> (u64, u64) {
    let folder = std::env::temp_dir().join(format!("nandram-public-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, content).expect("a file");
    let drawn = ["rate", "turns", "think", "prompt", "output"];
    let text = with(SMALL, "load", "trace", &format!("\"{}\"", path.display()));
    let kept = |line: &&str| !drawn.contains(&line.split(' ').next().unwrap_or_default());
    let text = text.lines().filter(kept).collect::<Vec<_>>().join("\n");
    let text = text.replace("prefix = { tokens = 64, count = 4 }", "");
    let config = Config::parse("chat.toml", &text).expect("a valid file");
    let outcome = serving::play(&drive(), "chat.toml", config, &RunOptions::default(), &mut |_| true).expect("a run");
    std::fs::remove_dir_all(&folder).expect("the folder");
    assert_eq!(outcome.tally.finished, outcome.tally.arrived);
    (outcome.tally.arrived, outcome.tally.hits[0])
}

#[test]
fn public_arrival_traces_are_read_unchanged() {
    let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,480,10\n\
                 2023-11-16 18:17:04.0319690,318,8\n2023-11-16 18:17:04.0781160+00:00,110,27\n";
    assert_eq!(traced("azure.csv", azure), (3, 0));
    // Both prompts begin with the 512 tokens of block 0; the third has them in another place, which is other content.
    let mooncake = "{\"timestamp\": 0, \"input_length\": 700, \"output_length\": 5, \"hash_ids\": [0, 1]}\n\
                    {\"timestamp\": 900, \"input_length\": 900, \"output_length\": 4, \"hash_ids\": [0, 3]}\n\
                    {\"timestamp\": 1500, \"input_length\": 1030, \"output_length\": 4, \"hash_ids\": [4, 0, 5]}\n";
    assert_eq!(traced("mooncake.jsonl", mooncake), (3, 512));
}
