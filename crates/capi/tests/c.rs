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

/// `MEMCHECK`: what runs the program.
#[test]
fn every_call_from_c() {
    let at = libraries().display().to_string();
    let archive = format!("{at}/libnandram.a");
    // What `rustc --print native-static-libs` says.
    let fixed = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];
    let shared = [format!("-L{at}"), "-lnandram".to_owned(), format!("-Wl,-rpath,{at}")];
    let folder = Folder::new("calls");
    let linked: [(&str, Vec<&str>); 2] = [
        ("static", std::iter::once(archive.as_str()).chain(fixed).collect()),
        ("shared", shared.iter().map(String::as_str).collect()),
    ];
    for (name, how) in linked {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calls.c");
        let program = compile(&source, name, &folder.0, &how);
        let scratch = Folder::new(name);
        let checker = std::env::var("MEMCHECK").unwrap_or_default();
        let words: Vec<&str> = checker.split_whitespace().collect();
        let mut command = match words.split_first() {
            None => Command::new(&program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&program);
                command
            }
        };
        let output = run(command.arg(&scratch.0));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "all calls are as nandram.h says\n");
    }
}

/// The guide's example compiles and does what it says.
#[test]
fn the_guide_s_example() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/memory.md");
    let guide = std::fs::read_to_string(guide).expect("there");
    let (_, rest) = guide.split_once("```c\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let folder = Folder::new("guide");
    let source = folder.0.join("guide.c");
    let program = format!(
        "#include <err.h>\n#include <nandram.h>\nstatic double field[1000000];\nint main(void) {{\n{example}\n\
         return token != 2 || nandram_close(memory);\n}}\n"
    );
    std::fs::write(&source, program).expect("written");
    let at = libraries().display().to_string();
    let how = [format!("-L{at}"), "-lnandram".to_owned(), format!("-Wl,-rpath,{at}")];
    let program = compile(&source, "guide", &folder.0, &how.each_ref().map(String::as_str));
    run(Command::new(program).current_dir(&folder.0));
    assert!(folder.0.join("field.memory").exists());
}

/// The codes of the header are those of the library.
#[test]
fn the_header_has_every_code() {
    let read = |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("there");
    let (header, source) = (read("include/nandram.h"), read("src/code.rs"));
    let codes = |text: &str, prefix: &str| -> Vec<(String, u32)> {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix(prefix)?.split_once(" = "));
        let parsed = lines.filter_map(|(name, rest)| {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Some((name.replace('_', "").to_lowercase(), number.parse().ok()?))
        });
        parsed.collect()
    };
    let found = codes(&header, "NANDRAM_");
    assert_eq!(found.len(), 26);
    assert_eq!(found, codes(&source, ""));
}
