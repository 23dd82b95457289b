//! Simulated sysfs and procfs trees that describe the drives of a test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use probe::block::{Disk, Roots};

/// A folder for one test, removed when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("block-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).expect("a folder for the test");
        // The kernel reports canonical paths.
        Folder(fs::canonicalize(folder).expect("it is there"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, creating its parent folders.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("it is below the folder")).expect("its folder");
        fs::write(&path, content).expect("a file for the test");
        path
    }

    pub fn link(&self, name: &str, to: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("it is below the folder")).expect("its folder");
        symlink(self.0.join(to), path).expect("a link for the test");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The sysfs folder of the simulated drive.
pub const NVME: &str = "sys/devices/pci0000:00/0000:00:01.0/nvme/nvme0/nvme0n1";
/// The sysfs folder of its controller.
pub const CONTROLLER: &str = "sys/devices/pci0000:00/0000:00:01.0/nvme/nvme0";

/// Creates a machine with one unused NVMe drive, 259:0, with two partitions, 259:1 and 259:2.
pub fn machine(name: &str) -> (Folder, Roots) {
    let folder = Folder::new(name);
    for (number, partition) in ["", "/nvme0n1p1", "/nvme0n1p2"].into_iter().enumerate() {
        let own = format!("{NVME}{partition}");
        folder.write(&format!("{own}/dev"), format!("259:{number}\n"));
        folder.write(&format!("{own}/size"), "2000000\n");
        folder.write(&format!("{own}/ro"), "0\n");
        fs::create_dir_all(folder.path().join(&own).join("holders")).expect("its holders");
        folder.link(&format!("sys/dev/block/259:{number}"), &own);
        if number > 0 {
            folder.write(&format!("{own}/partition"), format!("{number}\n"));
        }
    }
    folder.write(&format!("{NVME}/queue/logical_block_size"), "512\n");
    folder.link(&format!("{NVME}/device"), CONTROLLER);
    folder.write(&format!("{CONTROLLER}/serial"), "S4EWNX0R700217A   \n");
    folder.write(&format!("{CONTROLLER}/model"), "EXAMPLE 970               \n");
    folder.write(&format!("{CONTROLLER}/hmb"), "1\n");
    folder.write("sys/module/nvme/parameters/max_host_mem_size_mb", "128\n");
    folder.link("sys/class/nvme/nvme0", CONTROLLER);
    folder.link("sys/block/nvme0n1", NVME);
    folder.write("proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
    folder.write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
    let roots = Roots::below(folder.path());
    (folder, roots)
}

/// Returns the drive of the machine.
pub fn drive(roots: &Roots) -> Disk {
    Disk::of(roots, (259, 0)).expect("the drive is there")
}
