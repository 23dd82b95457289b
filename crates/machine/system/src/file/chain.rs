//! Loads a system and the systems that it extends.

use std::path::{Path, PathBuf};

use crate::error::SystemError;
use crate::file::layer::Layer;
use crate::file::presets::{preset, presets};
use crate::key::nearest::nearest;

/// Maximum file size in bytes; the largest preset has a few thousand.
const FILE_MAX: u64 = 1 << 20;

/// The files of a system, base first.
#[derive(Clone)]
pub(crate) struct Chain {
    pub layers: Vec<Layer>,
    /// File name without folder and `.toml`; the default title.
    pub stem: String,
}

/// A file of a chain.
struct Found {
    /// Unique identity: a preset's name, or a file's full path.
    identity: String,
    /// Name for messages.
    name: String,
    text: String,
    /// Folder for relative paths of extended files.
    folder: PathBuf,
}

/// Opens a preset or a path.
pub(crate) fn open(name: &str) -> Result<Chain, SystemError> {
    let found = find(name, Path::new(""))?;
    let path = found.name.clone();
    let chain = follow(found)?;
    match chain.layers.last() {
        Some(layer) if !layer.is_empty() => Ok(chain),
        _ => Err(SystemError::Empty { path }),
    }
}

/// Parses a text in place of a file.
pub(crate) fn parse(name: &str, text: &str) -> Result<Chain, SystemError> {
    let folder = Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
    follow(Found { identity: identity(Path::new(name)), name: name.to_owned(), text: text.to_owned(), folder })
}

fn follow(first: Found) -> Result<Chain, SystemError> {
    let stem = Path::new(&first.name).file_stem().map_or(first.name.clone(), |stem| stem.to_string_lossy().into());
    let mut seen = vec![(first.identity.clone(), first.name.clone())];
    let mut layers = vec![Layer::parse(&first.name, &first.text)?];
    let mut folder = first.folder;
    while let Some((name, Some(place))) = layers.last().and_then(|layer| layer.extends.clone()) {
        let fail = |why: String| SystemError::value(&place, "extends", why);
        let next = find(&name, &folder).map_err(|error| match error {
            SystemError::Unknown { name, nearest } => {
                fail(format!("\"{name}\" is neither a file nor a preset, the nearest preset is \"{nearest}\""))
            }
            SystemError::Unreadable { path, why } => fail(format!("{path} cannot be read: {why}")),
            other => other,
        })?;
        let again = seen.iter().any(|(identity, _)| *identity == next.identity);
        seen.push((next.identity, next.name.clone()));
        if again {
            let names: Vec<&str> = seen.iter().map(|(_, name)| name.as_str()).collect();
            return Err(fail(format!("the files extend each other in a cycle: {}", names.join(" -> "))));
        }
        layers.push(Layer::parse(&next.name, &next.text)?);
        folder = next.folder;
    }
    layers.reverse();
    Ok(Chain { layers, stem })
}

fn find(name: &str, folder: &Path) -> Result<Found, SystemError> {
    let is_path = name.ends_with(".toml") || name.contains(['/', '\\']);
    if let (false, Some(text)) = (is_path, preset(name)) {
        let folder = PathBuf::new();
        return Ok(Found {
            identity: format!("preset {name}"),
            name: format!("{name}.toml"),
            text: text.to_owned(),
            folder,
        });
    }
    let path = folder.join(name);
    if !is_path && !path.is_file() {
        let nearest = nearest(name, presets().iter().map(|(preset, _)| *preset)).to_owned();
        return Err(SystemError::Unknown { name: name.to_owned(), nearest });
    }
    let shown = path.display().to_string();
    let unreadable = |why: String| SystemError::Unreadable { path: shown.clone(), why };
    let told = |error: std::io::Error| {
        unreadable(match error.kind() {
            std::io::ErrorKind::NotFound => "the file does not exist".to_owned(),
            _ => error.to_string(),
        })
    };
    // Pipes and devices may never end, and a file may be read twice: once to check it.
    let about = std::fs::metadata(&path).map_err(told)?;
    if !about.is_file() {
        let found = if about.is_dir() { "a folder" } else { "a pipe or a device" };
        return Err(unreadable(format!("found {found}, expected a file")));
    }
    if about.len() > FILE_MAX {
        return Err(unreadable(format!("found {} bytes, expected at most {FILE_MAX}", about.len())));
    }
    let text = std::fs::read(&path).map_err(told)?;
    let text = String::from_utf8(text)
        .map_err(|_| SystemError::Unreadable { path: shown.clone(), why: "the text is not UTF-8".to_owned() })?;
    Ok(Found {
        identity: identity(&path),
        name: shown,
        text,
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
    })
}

fn identity(path: &Path) -> String {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}
