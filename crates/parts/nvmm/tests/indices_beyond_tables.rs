//! Numbers beyond a memory's tables: each call panics or is refused, in release builds too.

mod support;

use media::{OpId, Status, Tag};
use nvmm::{Actions, Address, Answer, Application, Controller, Input, Nvmm, Request};
use sim::Time;
use support::flash::Flash;
use support::small::{config, world};
use testkit::refused;

const NOW: Time = Time::from_us(1);

fn nvmm() -> Nvmm {
    let config = config();
    Nvmm::format(config.clone(), &Flash::new(config.geometry, config.order, false)).expect("a memory")
}

fn request(tag: u32) -> Input<'static> {
    let request = Request::Read { address: Address::new(Controller(7), 0, 0), segments: 1 };
    Input::Request { tag: Tag(tag), application: Application(1), request }
}

fn done(id: u32) -> Input<'static> {
    Input::Done { id: OpId(id), status: Status::Ok, content: &[] }
}

#[test]
fn a_memory_refuses_tags_and_operations() {
    let mut out = Actions::default();
    refused!(nvmm = nvmm();
        nvmm.handle(NOW, request(4), &mut out),
        nvmm.handle(NOW, request(u32::MAX), &mut out),
        nvmm.handle(NOW, done(0), &mut out),
        nvmm.handle(NOW, done(1_000_000_000), &mut out),
        nvmm.content(OpId(1_000_000_000)),
    );
}

#[test]
fn a_memory_refuses_pages() {
    let address = Address::new(Controller(7), 32, 0);
    let requests =
        [Request::Read { address, segments: 1 }, Request::Write { address, segments: 1 }, Request::Delete { address }];
    for request in requests {
        assert!(matches!(world(config()).ask(Application(1), request), Answer::Refused(_)), "{request:?}");
    }
    assert_eq!(nvmm().ownership(32).flatten(), None);
    refused!(nvmm = nvmm();
        nvmm.ownership(u32::MAX),
        nvmm.prefetch(u32::MAX, &mut Actions::default()),
    );
}
