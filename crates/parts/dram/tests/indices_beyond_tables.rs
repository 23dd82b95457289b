//! Numbers beyond a memory: each call panics or finds nothing, in release builds too.

use dram::{Channel, Config, Device, Memory, Region, Request, RequestKind};
use sim::Time;
use testkit::refused;

const NOW: Time = Time::from_us(1);

fn config() -> Config {
    Config { ports: 2, ..Config::new(Device::preset("DDR4-2400").expect("a preset")) }
}

fn memory() -> Memory {
    Memory::interleaved(&config(), 2, 256).expect("a memory")
}

fn channel() -> Channel {
    Channel::new(&config()).expect("a channel")
}

fn request(port: u8, address: u64, bytes: u32) -> Request {
    Request { id: 1, port, address, bytes, ..Request::default() }
}

/// Submits and serves a request.
fn serve(memory: &mut Memory, request: Request) {
    memory.submit(NOW, request);
    memory.advance(Time::from_ms(1), &mut Vec::new());
}

#[test]
fn a_memory_refuses_ports_and_addresses() {
    let end = 2 * config().bytes();
    refused!(memory = memory();
        memory.port_stats(2),
        memory.submit(NOW, request(0, end, 64)),
        memory.submit(NOW, request(0, end - 64, 128)),
        memory.submit(NOW, request(0, u64::MAX, 64)),
        serve(&mut memory, request(2, 0, 64)),
        serve(&mut memory, request(u8::MAX, 0, 4096)),
        serve(&mut memory, Request { kind: RequestKind::Write, ..request(2, 0, 64) }),
        memory.channels().next().map(|channel| channel.port_stats(2)),
    );
    assert_eq!(memory().kind_at(end), None);
}

#[test]
fn a_channel_refuses_ports_and_addresses() {
    let end = config().bytes();
    refused!(channel = channel();
        channel.port_stats(2),
        channel.kind_at(end),
        channel.submit(NOW, request(0, end, 64)),
        channel.submit(NOW, request(0, end - 64, 128)),
        {
            channel.submit(NOW, request(2, 0, 64));
            channel.advance(Time::from_ms(1), &mut Vec::new());
        },
    );
}

#[test]
fn a_region_refuses_turns() {
    let (bytes, channels) = (4096, vec![0, 1]);
    let region = Region { base: 0, bytes, channels, granularity: 256, local: 0, hashed: false };
    refused!(region = region.clone();
        region.part(0, 64, 2),
        region.pieces(2, 512).count(),
    );
}

#[test]
fn a_memory_refuses_regions_beyond_its_channels() {
    let region = Region { base: 0, bytes: 4096, channels: vec![1], granularity: 256, local: 0, hashed: false };
    let beyond = Region { channels: vec![0], local: config().bytes(), ..region.clone() };
    refused!(configs = [config()];
        Memory::new(&configs, vec![region.clone()]),
        Memory::new(&configs, vec![beyond.clone()]),
    );
}
