//! A client that drives a shared buffer through the memory that the server sends, like QEMU.
#![cfg(target_os = "linux")]

mod support;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

use guest::bus_registers as registers;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;
use shared_buffer::{Command, Extents, HostQueue, Identity, Layout, Opcode, Region, SECTOR, Status};
use support::{ASSIGN, MSIX, Server};
use system::System;
use vfio_user::Client;

/// The file of BAR 2.
struct Memory(File);

impl Region for Memory {
    fn words(&self) -> usize {
        self.0.metadata().expect("a file").len() as usize / 8
    }

    fn load(&self, at: usize, _: Ordering) -> u64 {
        let mut word = [0; 8];
        self.0.read_exact_at(&mut word, at as u64 * 8).expect("the buffer");
        u64::from_le_bytes(word)
    }

    fn store(&self, at: usize, value: u64, _: Ordering) {
        self.0.write_all_at(&value.to_le_bytes(), at as u64 * 8).expect("the buffer");
    }
}

/// The host's side of one queue pair.
struct Host {
    client: Client,
    memory: Memory,
    layout: Layout,
    queue: HostQueue,
    event: File,
}

impl Host {
    fn connect(server: &Server) -> Host {
        let mut client = Client::new(&server.socket).expect("a server");
        let region = client.region(2).expect("BAR 2");
        assert_eq!(region.sparse_areas.len(), 1);
        assert_eq!((region.sparse_areas[0].offset, region.sparse_areas[0].size), (0, region.size));
        let file = region.file_offset.as_ref().expect("the memory's file").file().try_clone().expect("a copy");
        let memory = Memory(file);
        let layout = Layout::read(&memory).unwrap_or_else(|error| panic!("{error}"));
        let event = File::from(eventfd(0, EventfdFlags::NONBLOCK).expect("an event file descriptor"));
        client.set_irqs(MSIX, ASSIGN, 0, 1, &[event.as_raw_fd()]).expect("an interrupt");
        Host { client, memory, queue: HostQueue::new(&layout, 0), layout, event }
    }

    fn run(&mut self, command: &Command) -> Status {
        self.queue.submit(&self.memory, command, 0).expect("room");
        self.client.region_write(0, registers::DOORBELLS, &[0; 4]).expect("the doorbell");
        let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(&self.event, PollFlags::IN)], Some(&limit)).expect("an event");
        assert_eq!(ready, 1, "no interrupt for a minute");
        std::io::Read::read_exact(&mut self.event, &mut [0; 8]).expect("a count");
        let taken = self.queue.take(&self.memory).unwrap_or_else(|fault| panic!("{fault}")).expect("a completion");
        self.queue.acknowledge(&self.memory);
        taken.status
    }
}

#[test]
fn a_client_reaches_the_buffer_through_its_file() {
    let sets = [("flash.blocks", "40"), ("flash.pages", "64"), ("ftl.capacity", "64MiB")];
    let system = System::load("drambus", &sets).unwrap_or_else(|error| panic!("{error}"));
    let server = Server::of(&system, "shared-buffer", false);
    let mut host = Host::connect(&server);
    assert_eq!(host.run(&Command::new(Opcode::Identify, 0, 1, Extents::one(0, 1))), Status::Success);
    let mut sector = [0; SECTOR];
    host.memory.read(host.layout.db_sector(0), &mut sector);
    assert_eq!(Identity::decode(&sector).capacity_sectors, (64 << 20) / 512);
    let data: Vec<u8> = (0..8192u32).map(|i| ((i * 7) >> 3) as u8).collect();
    host.memory.write(host.layout.db_sector(32), &data);
    assert_eq!(host.run(&Command::new(Opcode::Write, 40, 16, Extents::one(32, 16))), Status::Success);
    assert_eq!(host.run(&Command::new(Opcode::Read, 40, 16, Extents::one(512, 16))), Status::Success);
    let mut read = vec![0; data.len()];
    host.memory.read(host.layout.db_sector(512), &mut read);
    assert!(read == data);
    // The same memory without the file, for a monitor that does not map it.
    let mut word = [0; 8];
    host.client.region_read(2, 0, &mut word).expect("BAR 2");
    assert_eq!(&word, b"NANDRAM\x01");
    host.client.shutdown().expect("a connection");
    server.end().expect("a disconnection");
}
