//! Tests the header and the library from C: compiles `calls.c` with `cc`, links it to the static and the shared
//! library, and runs it.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{stderr}", output.status);
    output
}

/// Builds both libraries and returns their directory.
fn libraries() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--offline", "--lib", "--manifest-path"]).arg(manifest);
    // The libraries are next to this test, whose path is `target/PROFILE/deps/c-HASH`.
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

/// A directory that is deleted at the end of the test.
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

/// Returns the arguments that link a program to the shared library in `folder`.
fn shared(folder: &Path) -> Vec<String> {
    let at = folder.display();
    vec![format!("-L{at}"), "-lnandram".to_owned(), format!("-Wl,-rpath,{at}")]
}

/// Compiles `tests/NAME.c`, runs it, optionally under `checker`, and returns its output.
fn output_of(name: &str, linked: &str, how: &[String], checker: &str) -> String {
    let folder = Folder::new(&format!("{name}-{linked}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}.c"));
    let how: Vec<&str> = how.iter().map(String::as_str).collect();
    let program = compile(&source, linked, &folder.0, &how);
    let mut words: Vec<&std::ffi::OsStr> = checker.split_whitespace().map(AsRef::as_ref).collect();
    words.push(program.as_os_str());
    let output = run(Command::new(words[0]).args(&words[1..]).arg(&folder.0));
    String::from_utf8(output.stdout).expect("text")
}

/// Set `MEMCHECK` to a command to run the program under it.
#[test]
fn every_call_works_from_c() {
    let at = libraries();
    // Printed by `rustc --print native-static-libs`.
    let fixed = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"].map(str::to_owned);
    let archive = at.join("libnandram.a").display().to_string();
    let checker = std::env::var("MEMCHECK").unwrap_or_default();
    for (linked, how) in [("static", [vec![archive], fixed.to_vec()].concat()), ("shared", shared(&at))] {
        assert_eq!(output_of("calls", linked, &how, &checker), "all calls work as documented\n");
    }
}

/// Set `MEMCHECK` like for the other calls.
#[test]
fn every_call_to_a_simulation_works_from_c() {
    let checker = std::env::var("MEMCHECK").unwrap_or_default();
    let output = output_of("sim", "shared", &shared(&libraries()), &checker);
    assert_eq!(output, "all calls of a simulation work as documented\n");
}

#[test]
fn loads_and_stores_work_from_c() {
    let output = output_of("mapped", "shared", &shared(&libraries()), "");
    if output == "the kernel does not allow this process to use userfaultfd\n" {
        eprintln!("not tested: {output}");
        return;
    }
    assert_eq!(output, "loads and stores work as documented\n");
}

/// The examples of the guide compile and run when joined into one program.
#[test]
fn the_examples_of_the_guide_work() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/memory.md");
    let guide = std::fs::read_to_string(guide).expect("readable");
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
    let output = Command::new(program).current_dir(&folder.0).output().expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() || stderr.contains("does not allow this process to use userfaultfd"),
        "{}: {stderr}",
        output.status
    );
    assert!(folder.0.join("field.memory").exists());
}

/// The C example of the guide to simulations compiles and completes a read.
#[test]
fn the_example_of_the_guide_to_simulations_works() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/stepping.md");
    let guide = std::fs::read_to_string(guide).expect("readable");
    let example = guide.split_once("```c\n").and_then(|(_, rest)| rest.split_once("```")).expect("an example").0;
    let folder = Folder::new("stepping");
    let source = folder.0.join("stepping.c");
    let program = format!("{example}\nint main(void) {{\n    return read_once() < 20 || read_once() > 1000;\n}}\n");
    std::fs::write(&source, program).expect("written");
    let how = shared(&libraries());
    run(&mut Command::new(compile(
        &source,
        "stepping",
        &folder.0,
        &how.iter().map(String::as_str).collect::<Vec<_>>(),
    )));
}

/// The header and the library must define the same codes.
#[test]
fn the_header_has_every_code() {
    let read =
        |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("readable");
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
    assert_eq!(found.len(), 29);
    assert_eq!(found, codes(&source, ""));
}
