//! Messages of the vfio-user protocol, passed on to the drive.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};

use guest::QUEUES;
use guest::pci::{BAR_BYTES, CONFIG_BYTES};
use vfio_bindings::bindings::vfio::{
    VFIO_IRQ_INFO_EVENTFD, VFIO_IRQ_INFO_MASKABLE, VFIO_IRQ_SET_ACTION_MASK, VFIO_IRQ_SET_ACTION_TRIGGER,
    VFIO_IRQ_SET_ACTION_UNMASK, VFIO_IRQ_SET_DATA_EVENTFD, VFIO_PCI_BAR0_REGION_INDEX, VFIO_PCI_BAR2_REGION_INDEX,
    VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_NUM_IRQS, VFIO_PCI_NUM_REGIONS,
    VFIO_REGION_INFO_FLAG_MMAP, VFIO_REGION_INFO_FLAG_READ, VFIO_REGION_INFO_FLAG_WRITE, vfio_region_info,
    vfio_region_sparse_mmap_area,
};
use vfio_user::{DmaMapFlags, DmaUnmapFlags, IrqInfo, ServerBackend, ServerRegion, SparseArea};

use crate::clock::{Clock, InterruptSetup};
use crate::{Mappings, ServiceError};

/// Returns the regions of the function: BAR 0 and configuration space, neither of which can be mapped; and BAR 2, the
/// memory of a shared buffer, which the monitor maps.
pub(crate) fn regions(memory: &Mappings) -> Vec<ServerRegion> {
    let buffer = memory.buffer();
    let region = |index| {
        let (accessed, mapped) = (VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE, VFIO_REGION_INFO_FLAG_MMAP);
        let buffer = buffer.as_ref().filter(|_| index == VFIO_PCI_BAR2_REGION_INDEX);
        let (size, flags) = match index {
            VFIO_PCI_BAR0_REGION_INDEX => (BAR_BYTES, accessed),
            VFIO_PCI_CONFIG_REGION_INDEX => (CONFIG_BYTES as u64, accessed),
            _ => buffer.map_or((0, 0), |buffer| (buffer.bytes(), accessed | mapped)),
        };
        let argsz = size_of::<vfio_region_info>() as u32;
        let region_info = vfio_region_info { argsz, index, size, flags, ..Default::default() };
        ServerRegion {
            region_info,
            // The crate sends the file descriptor with areas only.
            sparse_areas: buffer
                .iter()
                .map(|_| SparseArea { area: vfio_region_sparse_mmap_area { offset: 0, size } })
                .collect(),
            mmap_fd: buffer.map(|buffer| buffer.file().as_raw_fd()),
        }
    };
    (0..VFIO_PCI_NUM_REGIONS).map(region).collect()
}

/// Returns the interrupts of the function: MSI-X only.
pub(crate) fn interrupts() -> Vec<IrqInfo> {
    let interrupt = |index| match index {
        VFIO_PCI_MSIX_IRQ_INDEX => {
            IrqInfo { index, count: u32::from(QUEUES), flags: VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE }
        }
        _ => IrqInfo { index, count: 0, flags: 0 },
    };
    (0..VFIO_PCI_NUM_IRQS).map(interrupt).collect()
}

/// Maximum bytes of an access to a region, those of a message unless both sides agree on more (vfio-user,
/// `max_data_xfer_size`).
const ACCESS_MAX: usize = 1 << 20;

/// The receiver of the monitor's messages.
pub(crate) struct Backend {
    clock: Arc<dyn Clock>,
    memory: Mappings,
    /// The first reason why an access failed.
    failure: Arc<Mutex<Option<ServiceError>>>,
}

impl Backend {
    /// Creates a receiver that passes accesses on through `clock`.
    pub fn new(clock: Arc<dyn Clock>, memory: Mappings, failure: Arc<Mutex<Option<ServiceError>>>) -> Backend {
        Backend { clock, memory, failure }
    }

    fn outcome(&self, result: Result<(), ServiceError>) -> io::Result<()> {
        result.map_err(|error| {
            let text = error.to_string();
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            io::Error::other(text)
        })
    }
}

impl ServerBackend for Backend {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> io::Result<()> {
        // The memory of a longer read exists once it is touched.
        if data.len() > ACCESS_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        data.fill(0xff);
        match region {
            VFIO_PCI_BAR0_REGION_INDEX => {
                let result = self.clock.access(&mut |drive, now| drive.read(now, offset, data));
                self.outcome(result)
            }
            VFIO_PCI_CONFIG_REGION_INDEX => {
                self.clock.inspect(&mut |drive, _| drive.read_config(offset, data));
                Ok(())
            }
            VFIO_PCI_BAR2_REGION_INDEX => {
                if let Some(buffer) = self.memory.buffer() {
                    buffer.read(offset, data);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> io::Result<()> {
        match region {
            VFIO_PCI_BAR0_REGION_INDEX => {
                let result = self.clock.access(&mut |drive, now| drive.write(now, offset, data));
                self.outcome(result)
            }
            VFIO_PCI_CONFIG_REGION_INDEX => {
                self.clock.inspect(&mut |drive, _| drive.write_config(offset, data));
                Ok(())
            }
            VFIO_PCI_BAR2_REGION_INDEX => {
                if let Some(buffer) = self.memory.buffer() {
                    buffer.write(offset, data);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn dma_map(&mut self, _: DmaMapFlags, offset: u64, address: u64, size: u64, fd: Option<File>) -> io::Result<()> {
        match fd {
            Some(fd) => self.memory.map(address, size, offset, fd),
            // Read-only memory and the function's own BAR.
            None => Ok(()),
        }
    }

    fn dma_unmap(&mut self, flags: DmaUnmapFlags, address: u64, size: u64) -> io::Result<()> {
        if flags.contains(DmaUnmapFlags::UNMAP_ALL) {
            self.memory.clear();
            return Ok(());
        }
        self.memory.unmap(address, size)
    }

    fn reset(&mut self) -> io::Result<()> {
        self.clock.inspect(&mut |drive, now| drive.reset_function(now));
        Ok(())
    }

    fn set_irqs(&mut self, index: u32, flags: u32, start: u32, count: u32, fds: Vec<File>) -> io::Result<()> {
        if index != VFIO_PCI_MSIX_IRQ_INDEX {
            return Ok(());
        }
        let has = |flag| flags & flag != 0;
        if has(VFIO_IRQ_SET_ACTION_TRIGGER) && count == 0 {
            self.clock.set_up_interrupts(InterruptSetup::Release);
        } else if has(VFIO_IRQ_SET_ACTION_TRIGGER) && has(VFIO_IRQ_SET_DATA_EVENTFD) {
            self.clock.set_up_interrupts(InterruptSetup::Assign(start, count, fds));
        } else if has(VFIO_IRQ_SET_ACTION_MASK) || has(VFIO_IRQ_SET_ACTION_UNMASK) {
            let masked = has(VFIO_IRQ_SET_ACTION_MASK);
            self.clock.set_up_interrupts(InterruptSetup::Mask(start, count, masked));
        }
        Ok(())
    }
}
