//! The header and the library from C: `calls.c` is compiled with `cc`, linked to the static and to the shared library, and run.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{told}", output.status);
    output
}

/// The folder that both libraries are in.
fn libraries() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--offline", "--lib", "--manifest-path"]).arg(manifest);
    // Where this test is, its library is: `target/PROFILE/deps/c-HASH`.
    let folder =
        std::env::current_exe().expect("a test").parent().and_then(Path::parent).expect("a profile").to_owned();
    let target = folder.parent().expect("a target folder");
    if folder.ends_with("release") {
        build.arg("--release");
    }
    run(build.env("CARGO_TARGET_DIR", target));
    folder
}

fn compile(source: &Path, name: &str, folder: &Path, more: &[&str]) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(name);
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-o"]).arg(&program);
    cc.arg("-I").arg(here.join("include")).arg(source);
    run(cc.args(more));
    program
}

/// A folder that is gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("nandram-c-{}-{name}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// What links a program to the shared library in `folder`.
fn shared(folder: &Path) -> Vec<String> {
    let at = folder.display();
    vec![format!("-L{at}"), "-lnandram".to_owned(), format!("-Wl,-rpath,{at}")]
}

/// What `tests/NAME.c` says, linked so, by way of `checker` if there is one.
fn said_by(name: &str, linked: &str, how: &[String], checker: &str) -> String {
    let folder = Folder::new(&format!("{name}-{linked}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}.c"));
    let how: Vec<&str> = how.iter().map(String::as_str).collect();
    let program = compile(&source, linked, &folder.0, &how);
    let mut words: Vec<&std::ffi::OsStr> = checker.split_whitespace().map(AsRef::as_ref).collect();
    words.push(program.as_os_str());
    let output = run(Command::new(words[0]).args(&words[1..]).arg(&folder.0));
    String::from_utf8(output.stdout).expect("text")
}

/// `MEMCHECK`: what runs the program.
#[test]
fn every_call_from_c() {
    let at = libraries();
    // What `rustc --print native-static-libs` says.
    let fixed = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"].map(str::to_owned);
    let archive = at.join("libnandram.a").display().to_string();
    let checker = std::env::var("MEMCHECK").unwrap_or_default();
    for (linked, how) in [("static", [vec![archive], fixed.to_vec()].concat()), ("shared", shared(&at))] {
        assert_eq!(said_by("calls", linked, &how, &checker), "all calls are as nandram.h says\n");
    }
}

#[test]
fn loads_and_stores_from_c() {
    let said = said_by("mapped", "shared", &shared(&libraries()), "");
    if said == "the kernel gives this process no faults\n" {
        eprintln!("not tested: {said}");
        return;
    }
    assert_eq!(said, "loads and stores are as nandram.h says\n");
}

/// The guide's examples, one after the other, compile and do what they say.
#[test]
fn the_guide_s_examples() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/memory.md");
    let guide = std::fs::read_to_string(guide).expect("there");
    let examples: Vec<&str> =
        guide.split("```c\n").skip(1).map(|rest| rest.split_once("```").expect("its end").0).collect();
    assert_eq!(examples.len(), 2);
    let example = examples.concat();
    let folder = Folder::new("guide");
    let source = folder.0.join("guide.c");
    let program = format!(
        "#include <err.h>\n#include <nandram.h>\nstatic double field[1000000] = {{0.5}};\nint main(void) {{\n{example}\n\
         return token != 2 || values[0] != field[0] || nandram_close(memory);\n}}\n"
    );
    std::fs::write(&source, program).expect("written");
    let how = shared(&libraries());
    let program = compile(&source, "guide", &folder.0, &how.iter().map(String::as_str).collect::<Vec<_>>());
    let output = Command::new(program).current_dir(&folder.0).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || told.contains("gives this process no faults"), "{}: {told}", output.status);
    assert!(folder.0.join("field.memory").exists());
}

/// The codes of the header are those of the library.
#[test]
fn the_header_has_every_code() {
    let read = |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("there");
    let (header, source) = (read("include/nandram.h"), read("src/code.rs"));
    let header = header.split_once("enum nandram_code {").and_then(|(_, rest)| rest.split_once("};")).expect("codes").0;
    let codes = |text: &str, prefix: &str| -> Vec<(String, u32)> {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix(prefix)?.split_once(" = "));
        let parsed = lines.filter_map(|(name, rest)| {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Some((name.replace('_', "").to_lowercase(), number.parse().ok()?))
        });
        parsed.collect()
    };
    let found = codes(header, "NANDRAM_");
    assert_eq!(found.len(), 26);
    assert_eq!(found, codes(&source, ""));
}
