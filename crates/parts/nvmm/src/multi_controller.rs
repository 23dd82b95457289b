//! A state of several controllers: a token of each.
//!
//! `sync` and `rollback` are one controller's. What has to be consistent belongs onto the same one, which is what
//! [`Request::Alloc`]'s controller is for (NVMM, "Software Interface"). A state of several is the vector of their tokens, taken
//! while whoever asks lets nobody write: each controller makes its own part durable, and after a power cut between them some have
//! done so and others not. Then the vector is not whole, and [`MultiControllerToken::is_live`] of an older one says what to go back to.

use crate::address::Controller;
use crate::epochs::Token;
use crate::request::{Answer, Error, Request};

/// A token of each of several controllers, ascending by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultiControllerToken(Vec<(Controller, Token)>);

impl MultiControllerToken {
    /// Its parts.
    pub fn parts(&self) -> &[(Controller, Token)] {
        &self.0
    }

    /// Whether every controller still has its part: `live` says whether one has a token.
    pub fn is_live(&self, live: impl Fn(Controller, Token) -> bool) -> bool {
        self.0.iter().all(|(controller, token)| live(*controller, *token))
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    Sync,
    Rollback,
    /// A sync was refused by one: the others drop what they gave.
    Undo,
}

/// How a request of all controllers ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiControllerAnswer {
    /// All have synced.
    Token(MultiControllerToken),
    /// All have rolled back.
    Done,
    /// This one refused. Of a sync nothing is left; of a rollback, those before it (in ascending order) have gone back.
    Refused(Controller, Error),
}

/// A sync or a rollback of several controllers under way: a state machine that says whom to ask next.
#[derive(Clone, Debug)]
pub struct MultiController {
    aim: Aim,
    /// Whom to ask, and of a rollback for what.
    parts: Vec<(Controller, Token)>,
    asked: usize,
    refusal: Option<(Controller, Error)>,
}

impl MultiController {
    /// Begins a sync of `controllers`. Nothing is to be written until it has ended.
    ///
    /// # Panics
    /// If none is named, one twice, or a local one.
    pub fn sync(controllers: &[Controller]) -> MultiController {
        let mut parts: Vec<(Controller, Token)> = controllers.iter().map(|number| (*number, Token(0))).collect();
        parts.sort_unstable();
        let distinct = parts.windows(2).all(|pair| pair[0] != pair[1]);
        assert!(!parts.is_empty() && distinct && parts.iter().all(|(c, _)| !c.is_local()), "{controllers:?}");
        MultiController { aim: Aim::Sync, parts, asked: 0, refusal: None }
    }

    /// Begins a rollback to `token`, of which `live` says whether a controller still has its part.
    ///
    /// # Errors
    /// The first controller that has not: nothing is asked of any.
    pub fn rollback(
        token: &MultiControllerToken,
        live: impl Fn(Controller, Token) -> bool,
    ) -> Result<MultiController, (Controller, Token)> {
        match token.0.iter().find(|(controller, token)| !live(*controller, *token)) {
            Some(missing) => Err(*missing),
            None => Ok(MultiController { aim: Aim::Rollback, parts: token.0.clone(), asked: 0, refusal: None }),
        }
    }

    /// Whom to ask what next; none: it has ended, see [`answered`](Self::answered).
    pub fn next(&self) -> Option<(Controller, Request)> {
        let (controller, token) = *self.parts.get(self.asked)?;
        let request = match self.aim {
            Aim::Sync => Request::Sync,
            Aim::Rollback => Request::Rollback { token },
            Aim::Undo => Request::Drop { token },
        };
        Some((controller, request))
    }

    /// What [`next`](Self::next) named has answered. Some when all is over.
    ///
    /// # Panics
    /// If the answer is none to what was asked, or nothing was asked.
    pub fn answered(&mut self, answer: Answer) -> Option<MultiControllerAnswer> {
        let (controller, _) = self.parts[self.asked];
        match (self.aim, answer) {
            (Aim::Sync, Answer::Token(token)) => self.parts[self.asked].1 = token,
            (Aim::Sync, Answer::Refused(error)) => {
                self.refusal = Some((controller, error));
                self.parts.truncate(self.asked);
                (self.aim, self.asked) = (Aim::Undo, 0);
                return self.ended();
            }
            (Aim::Rollback, Answer::Refused(error)) => return Some(MultiControllerAnswer::Refused(controller, error)),
            (Aim::Rollback, Answer::Done) | (Aim::Undo, Answer::Done | Answer::Refused(_)) => {}
            (aim, answer) => panic!("{answer:?} is no answer to {aim:?}"),
        }
        self.asked += 1;
        self.ended()
    }

    fn ended(&mut self) -> Option<MultiControllerAnswer> {
        if self.asked < self.parts.len() {
            return None;
        }
        Some(match (self.aim, self.refusal.take()) {
            (Aim::Sync, _) => MultiControllerAnswer::Token(MultiControllerToken(std::mem::take(&mut self.parts))),
            (Aim::Rollback, _) => MultiControllerAnswer::Done,
            (Aim::Undo, refusal) => {
                let (controller, error) = refusal.expect("what is undone was refused");
                MultiControllerAnswer::Refused(controller, error)
            }
        })
    }
}
