//! A client attaches over the socket, with the host's clock and event file descriptors.
#![cfg(target_os = "linux")]

mod support;

use std::io::{Read, Write};

use support::{ASSIGN, DATA, Driver, MEMORY, MSIX, Server, pattern, wait_for_event};

#[test]
fn a_client_attaches_writes_and_reads() {
    let server = Server::start("attach", false);
    let mut driver = Driver::connect(&server);
    let mut config = [0; 4];
    driver.client.region_read(7, 8, &mut config).expect("configuration space");
    assert_eq!(config[1..], [0x02, 0x08, 0x01], "the class of an NVMe controller");
    let wait = &mut wait_for_event;
    driver.attach(wait);
    for i in 0..40 {
        driver.store(DATA, &pattern(i));
        assert_eq!(driver.run(1, [1, 1, i * 8, 0], DATA, wait), 0);
    }
    for i in 0..40 {
        assert_eq!(driver.run(1, [2, 1, i * 8, 0], DATA + 4096, wait), 0);
        assert_eq!(driver.load(DATA + 4096, 4096), pattern(i), "block {}", i * 8);
    }
    let summary = server.handle.inspect(guest::Drive::summary);
    assert_eq!(summary["read"]["total_ios"].as_u64(), Some(40));
    driver.client.shutdown().expect("a connection");
    server.end().expect("a disconnection");
}

#[test]
fn a_reset_forgets_the_queues_and_keeps_the_data() {
    let server = Server::start("reset", false);
    let mut driver = Driver::connect(&server);
    let wait = &mut wait_for_event;
    driver.attach(wait);
    driver.store(DATA, &pattern(9));
    assert_eq!(driver.run(1, [1, 1, 64, 0], DATA, wait), 0);
    driver.client.reset().expect("a reset");
    assert_eq!(driver.read32(0x1c) & 1, 0, "not ready");
    driver.forget_queues();
    driver.attach(wait);
    assert_eq!(driver.run(1, [2, 1, 64, 0], DATA + 4096, wait), 0);
    assert_eq!(driver.load(DATA + 4096, 4096), pattern(9));
    driver.client.shutdown().expect("a connection");
    server.end().expect("a disconnection");
}

#[test]
fn impossible_requests_do_no_harm() {
    let server = Server::start("hostile", false);
    let mut driver = Driver::connect(&server);
    for (index, flags, start, count) in
        [(MSIX, ASSIGN, u32::MAX, u32::MAX), (MSIX, 0, 3, 5), (0, ASSIGN, 0, 1), (MSIX, 1 << 3 | 1, 64, 900)]
    {
        driver.client.set_irqs(index, flags, start, count, &[]).expect("an answer");
    }
    for (region, offset, bytes) in [(0, u64::MAX, 8), (0, 0x3fff, 64), (7, 255, 4), (1, 0, 4), (8, 0, 4096)] {
        let mut data = vec![0; bytes];
        driver.client.region_read(region, offset, &mut data).expect("an answer");
        driver.client.region_write(region, offset, &data).expect("an answer");
    }
    let wait = &mut wait_for_event;
    driver.attach(wait);
    // A pointer outside memory is the command's failure, and not that of the drive.
    assert_ne!(driver.run(1, [2, 1, 0, 0], MEMORY, wait), 0);
    assert_ne!(driver.run(1, [2, 1, 0, 0], u64::MAX - 4095, wait), 0);
    assert_eq!(driver.run(1, [2, 1, 0, 0], DATA, wait), 0);
    // Queues without memory are a fatal error, which a driver sees in CSTS.
    driver.client.dma_unmap(0, MEMORY).expect("an answer");
    driver.write32(0x1008, 5);
    while driver.read32(0x1c) & 2 == 0 {
        std::thread::yield_now();
    }
    driver.client.shutdown().expect("a connection");
    server.end().expect("a disconnection");
}

#[test]
fn a_service_without_a_client_can_be_stopped() {
    let server = Server::start("stop", false);
    server.handle.stop();
    server.end().expect("no failure");
}

#[test]
fn a_monitor_that_shortens_the_memory_does_not_end_the_server() {
    let server = Server::start("shortened", false);
    let mut driver = Driver::connect(&server);
    driver.attach(&mut wait_for_event);
    driver.ram.set_len(4096).expect("a shorter file");
    // Entries of the queues, which the drive fetches in vain.
    for tail in 1..4 {
        driver.write32(0x1008, tail);
        driver.write32(0x1000, tail);
    }
    driver.ram.set_len(MEMORY).expect("a longer file");
    driver.client.reset().expect("a reset");
    driver.forget_queues();
    driver.attach(&mut wait_for_event);
    driver.store(DATA, &pattern(5));
    assert_eq!(driver.run(1, [1, 1, 8, 0], DATA, &mut wait_for_event), 0);
    driver.client.shutdown().expect("a connection");
    server.end().expect("a disconnection");
}

#[test]
fn a_read_of_4_gib_of_a_region_is_refused_without_memory_for_it() {
    let server = Server::start("long", false);
    let mut stream = std::os::unix::net::UnixStream::connect(&server.socket).expect("a server");
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").expect("this process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a size").to_owned();
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
    };
    let before = peak();
    for count in [u32::MAX, 1 << 31, (1 << 20) + 1] {
        // Message 7, command 9 (region read), 32 bytes: region 0, offset 0.
        let mut message = [7u16, 9].map(u16::to_le_bytes).concat();
        message.extend([32u32, 0, 0, 0, 0, 0, count].iter().flat_map(|word| word.to_le_bytes()));
        stream.write_all(&message).expect("a connection");
        let mut reply = [0; 16];
        stream.read_exact(&mut reply).expect("a reply");
        assert_eq!(reply[8] & 0x2f, 0x21, "an error as the reply");
    }
    assert!(peak() - before < 1 << 20, "less than 1 GiB for all three");
    drop(stream);
    server.end().expect("a disconnection");
}
