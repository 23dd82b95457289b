//! The interface that both controllers of a channel have in common.

use dram::{
    Channel, ChannelStats, Command, Completion, Config, ConfigError, InOrder, PortStats, RankActivity, Request,
};
use sim::Time;

pub trait Controller: Sized {
    fn new(config: &Config) -> Result<Self, ConfigError>;
    fn submit(&mut self, now: Time, request: Request);
    fn next_event(&mut self) -> Option<Time>;
    fn advance(&mut self, now: Time, completions: &mut Vec<Completion>);
    fn keep_log(&mut self);
    fn take_log(&mut self) -> Vec<Command>;
    fn activity(&mut self, now: Time) -> Vec<RankActivity>;
    fn config(&self) -> &Config;
    fn stats(&self) -> ChannelStats;
    fn port_stats(&self, port: u8) -> PortStats;
}

macro_rules! controller {
    ($controller:ty) => {
        impl Controller for $controller {
            fn new(config: &Config) -> Result<Self, ConfigError> {
                <$controller>::new(config)
            }
            fn submit(&mut self, now: Time, request: Request) {
                self.submit(now, request);
            }
            fn next_event(&mut self) -> Option<Time> {
                self.next_event()
            }
            fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) {
                self.advance(now, completions);
            }
            fn keep_log(&mut self) {
                self.keep_log();
            }
            fn take_log(&mut self) -> Vec<Command> {
                self.take_log()
            }
            fn activity(&mut self, now: Time) -> Vec<RankActivity> {
                self.activity(now)
            }
            fn config(&self) -> &Config {
                self.config()
            }
            fn stats(&self) -> ChannelStats {
                self.stats()
            }
            fn port_stats(&self, port: u8) -> PortStats {
                self.port_stats(port)
            }
        }
    };
}

controller!(Channel);
controller!(InOrder);
