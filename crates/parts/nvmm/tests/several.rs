//! One state of several controllers: a token of each, all or none.

mod support;

use nvmm::{
    Answer, Application, Controller, Error, MultiController, MultiControllerAnswer, MultiControllerToken, Request,
    Token,
};
use support::small::{config, world};
use support::world::World;

const ONE: Application = Application(1);

fn three() -> Vec<World> {
    let numbered = |number| {
        let mut config = config();
        config.controller = Controller(number);
        world(config)
    };
    (7..10).map(numbered).collect()
}

fn of(worlds: &mut [World], controller: Controller) -> &mut World {
    worlds.iter_mut().find(|world| world.config.controller == controller).expect("one of them")
}

/// Runs until the operation has ended.
fn run(worlds: &mut [World], mut joint: MultiController) -> MultiControllerAnswer {
    loop {
        let (controller, request) = joint.next().expect("it is not over");
        let answer = of(worlds, controller).ask(ONE, request);
        if let Some(answer) = joint.answered(answer) {
            return answer;
        }
    }
}

fn controllers(worlds: &[World]) -> Vec<Controller> {
    worlds.iter().rev().map(|world| world.config.controller).collect()
}

fn sync(worlds: &mut [World]) -> MultiControllerToken {
    let joint = MultiController::sync(&controllers(worlds));
    match run(worlds, joint) {
        MultiControllerAnswer::Token(token) => token,
        other => panic!("{other:?}"),
    }
}

fn write(worlds: &mut [World], page: u32) {
    for world in worlds {
        assert_eq!(world.ask(ONE, Request::Write { address: world.address(page), segments: 0xff }), Answer::Done);
    }
}

fn is_live(worlds: &[World]) -> impl Fn(Controller, Token) -> bool {
    |controller, token| {
        let world = worlds.iter().find(|world| world.config.controller == controller).expect("one of them");
        world.nvmm.tokens().any(|live| live == token)
    }
}

#[test]
fn all_sync_and_all_go_back() {
    let mut worlds = three();
    // The controllers' own tokens differ.
    assert_eq!(worlds[1].ask(ONE, Request::Sync), Answer::Token(Token(1)));
    assert_eq!(worlds[1].ask(ONE, Request::Drop { token: Token(1) }), Answer::Done);
    write(&mut worlds, 1);
    let token = sync(&mut worlds);
    let tokens: Vec<(u32, u64)> = token.parts().iter().map(|(controller, token)| (controller.0, token.0)).collect();
    assert_eq!(tokens, [(7, 1), (8, 2), (9, 1)]);
    write(&mut worlds, 2);
    let joint = MultiController::rollback(&token, is_live(&worlds)).expect("all have it");
    assert_eq!(run(&mut worlds, joint), MultiControllerAnswer::Done);
    worlds.iter_mut().for_each(World::check);
}

#[test]
fn one_that_refuses_leaves_nothing_with_the_others() {
    let mut worlds = three();
    for _ in 0..3 {
        assert!(matches!(worlds[2].ask(ONE, Request::Sync), Answer::Token(_)));
    }
    let joint = MultiController::sync(&controllers(&worlds));
    let refused = MultiControllerAnswer::Refused(Controller(9), Error::TooManyTokens { live: 3 });
    assert_eq!(run(&mut worlds, joint), refused);
    assert_eq!(worlds[0].nvmm.tokens().count() + worlds[1].nvmm.tokens().count(), 0);
    worlds.iter_mut().for_each(World::check);
}

/// After a power cut with only one controller synced, the vector is incomplete, and all roll back to the one before.
#[test]
fn what_is_not_whole_after_a_power_cut_is_known() {
    let mut worlds = three();
    write(&mut worlds, 1);
    let before = sync(&mut worlds);
    write(&mut worlds, 2);
    let joint = MultiController::sync(&controllers(&worlds));
    let (controller, request) = joint.next().expect("the first");
    assert!(matches!(of(&mut worlds, controller).ask(ONE, request), Answer::Token(_)));
    worlds.iter_mut().for_each(World::power_cut);
    worlds.iter_mut().for_each(World::check);
    assert!(before.is_live(is_live(&worlds)));
    let joint = MultiController::rollback(&before, is_live(&worlds)).expect("all have it");
    assert_eq!(run(&mut worlds, joint), MultiControllerAnswer::Done);
    worlds.iter_mut().for_each(World::check);
    // A rollback to a vector with a dropped part makes no request.
    let (controller, token) = before.parts()[1];
    assert_eq!(of(&mut worlds, controller).ask(ONE, Request::Drop { token }), Answer::Done);
    assert_eq!(MultiController::rollback(&before, is_live(&worlds)).err(), Some((controller, token)));
}
