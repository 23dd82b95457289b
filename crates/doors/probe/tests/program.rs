//! The command line of `nandram-probe`.
#![cfg(target_os = "linux")]

use std::process::Command;

fn message(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_nandram-probe")).args(words).output().expect("the program");
    assert_eq!(output.status.code(), Some(2), "{words:?}");
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(text.lines().count(), 1, "{text}");
    text.trim_end().to_owned()
}

#[test]
fn a_mistake_is_one_line() {
    let cases: [(&[&str], &str); 13] = [
        (&[], "error: usage: nandram-probe TARGET"),
        (&["/dev/null", "/dev/zero"], "error: found `/dev/zero`; usage: nandram-probe TARGET"),
        (&["--test"], "error: --test: found no value; usage: nandram-probe TARGET"),
        (&["--test", "cache"], "error: --test: found `cache`, expected one of read-cache, mapping-cache, stripe"),
        (&["--confidence", "2"], "error: --confidence: found `2`, expected a number above 0.5 and below 1"),
        (&["--method", "papr"], "error: --method: found `papr`, expected search or paper"),
        (&["--every", "0"], "error: --every: found `0`, expected a whole number from 1 to 64"),
        (&["x", "--every", "2"], "error: --every: found without --method paper, expected it with that"),
        (
            &["x", "--method", "paper", "--test", "stripe"],
            "error: --test: found `stripe`, which the paper does not have",
        ),
        (&["--seed", "-1"], "error: --seed: found `-1`, expected a whole number"),
        (&["x", "--allow-write"], "error: --allow-write, --confirm: found one of the two, expected both or neither"),
        (&["hmb-a"], "error: hmb-a: found a simulated drive, expected a file or a block device"),
        (&["/nonexistent"], "error: /nonexistent: found no such file, expected a file or a block device"),
    ];
    for (words, expected) in cases {
        let found = message(words);
        assert!(found.starts_with(expected), "{words:?}: {found}");
    }
}
