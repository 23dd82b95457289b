//! One state of several controllers: a token of each.
//!
//! `sync` and `rollback` act on one controller. Data that must be consistent belongs on the same one, which is the
//! purpose of [`Request::Alloc`]'s controller (NVMM, "Software Interface"). The state of several controllers is the
//! vector of their tokens, taken while the caller prevents all writes. Each controller makes its own part durable, so a
//! power cut in between leaves some parts synced and others not. The vector is then incomplete, and
//! [`MultiControllerToken::is_live`] finds an older one to return to.

use crate::address::Controller;
use crate::request::{Answer, Error, Request};
use crate::table::epochs::Token;

/// A token of each controller, ascending by controller number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultiControllerToken(Vec<(Controller, Token)>);

impl MultiControllerToken {
    /// Returns the parts.
    pub fn parts(&self) -> &[(Controller, Token)] {
        &self.0
    }

    /// Returns whether every controller still has its part; `live` reports whether one keeps a token.
    pub fn is_live(&self, live: impl Fn(Controller, Token) -> bool) -> bool {
        self.0.iter().all(|(controller, token)| live(*controller, *token))
    }
}

/// The operation under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    Sync,
    Rollback,
    /// One controller refused a sync: the others drop their new tokens.
    Undo,
}

/// The result of an operation on all controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiControllerAnswer {
    /// All controllers have synced.
    Token(MultiControllerToken),
    /// All controllers have rolled back.
    Done,
    /// This controller refused. A sync leaves nothing behind; in a rollback, the controllers before it (in ascending
    /// order) have rolled back.
    Refused(Controller, Error),
}

/// A sync or rollback of several controllers under way: a state machine that names the next request.
#[derive(Clone, Debug)]
pub struct MultiController {
    aim: Aim,
    /// The controllers, and for a rollback their tokens.
    parts: Vec<(Controller, Token)>,
    asked: usize,
    refusal: Option<(Controller, Error)>,
}

impl MultiController {
    /// Begins a sync of `controllers`. The caller must not write until it has ended.
    ///
    /// # Panics
    /// If `controllers` is empty, names one twice, or names a local one.
    pub fn sync(controllers: &[Controller]) -> MultiController {
        let mut parts: Vec<(Controller, Token)> = controllers.iter().map(|number| (*number, Token(0))).collect();
        parts.sort_unstable();
        let distinct = parts.windows(2).all(|pair| pair[0] != pair[1]);
        assert!(!parts.is_empty() && distinct && parts.iter().all(|(c, _)| !c.is_local()), "{controllers:?}");
        MultiController { aim: Aim::Sync, parts, asked: 0, refusal: None }
    }

    /// Begins a rollback to `token`; `live` reports whether a controller still has its part.
    ///
    /// # Errors
    /// The first controller without its part; no request is made to any.
    pub fn rollback(
        token: &MultiControllerToken,
        live: impl Fn(Controller, Token) -> bool,
    ) -> Result<MultiController, (Controller, Token)> {
        match token.0.iter().find(|(controller, token)| !live(*controller, *token)) {
            Some(missing) => Err(*missing),
            None => Ok(MultiController { aim: Aim::Rollback, parts: token.0.clone(), asked: 0, refusal: None }),
        }
    }

    /// Returns the next request and its controller; `None` once all are answered, see [`answered`](Self::answered).
    pub fn next(&self) -> Option<(Controller, Request)> {
        let (controller, token) = *self.parts.get(self.asked)?;
        let request = match self.aim {
            Aim::Sync => Request::Sync,
            Aim::Rollback => Request::Rollback { token },
            Aim::Undo => Request::Drop { token },
        };
        Some((controller, request))
    }

    /// Takes the answer to the request that [`next`](Self::next) returned. Returns the result when all is over.
    ///
    /// # Panics
    /// If the answer does not fit the request, or no request was made.
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
