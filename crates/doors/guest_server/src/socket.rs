//! The listening socket.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Maximum bytes of a socket's path: `sockaddr_un` has room for 108, with a zero at the end.
const PATH_MAX: usize = 107;

/// Reasons why the socket cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The path does not fit into a socket address.
    #[error("socket {}: found a path of {found} bytes, expected at most {PATH_MAX}", path.display())]
    Length {
        /// The path.
        path: PathBuf,
        /// Its bytes.
        found: usize,
    },
    /// Another process listens there.
    #[error("socket {}: another process listens there", .0.display())]
    Taken(PathBuf),
    /// The path is a file, a folder or a device.
    #[error("socket {}: already exists and is no socket", .0.display())]
    NoSocket(PathBuf),
    /// The socket cannot be created.
    #[error("socket {}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Listens at `path`. A socket on which no process listens is replaced: a server that was killed left it.
///
/// # Errors
/// Fails if the path is too long, is taken, or cannot be created.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, SocketError> {
    let found = path.as_os_str().len();
    if found > PATH_MAX {
        return Err(SocketError::Length { path: path.to_owned(), found });
    }
    let fail = |error| SocketError::Io { path: path.to_owned(), error };
    if let Ok(about) = std::fs::symlink_metadata(path) {
        if !about.file_type().is_socket() {
            return Err(SocketError::NoSocket(path.to_owned()));
        }
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(fail)?;
            }
            Ok(_) => return Err(SocketError::Taken(path.to_owned())),
            Err(error) => return Err(fail(error)),
        }
    }
    UnixListener::bind(path).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("nandram-socket-{}-{name}", std::process::id()))
    }

    #[test]
    fn a_socket_that_no_process_listens_on_is_replaced() {
        let path = path("stale");
        let first = listen(&path).expect("a socket");
        assert!(matches!(listen(&path), Err(SocketError::Taken(_))));
        drop(first);
        drop(listen(&path).expect("the killed server's path"));
        std::fs::remove_file(&path).expect("the socket");
    }

    #[test]
    fn other_paths_are_refused() {
        let path = path("file");
        std::fs::write(&path, "").expect("a file");
        assert!(matches!(listen(&path), Err(SocketError::NoSocket(_))));
        std::fs::remove_file(&path).expect("the file");
        assert!(matches!(listen(&path.join("x")), Err(SocketError::Io { .. })));
        let long = std::env::temp_dir().join("x".repeat(PATH_MAX));
        let message = listen(&long).expect_err("too long").to_string();
        assert!(message.ends_with("bytes, expected at most 107"), "{message}");
    }
}
