//! What a producer and a consumer have in common around their machines: the connection in use,
//! the task that brings them to their broker and back, and their end.
//!
//! The task only works when something about the session changes. Messages pass it by: they go
//! from the caller's task to the connection, and from the connection's reader to the receiver.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pulsar_wire::{Command, MessageFrame};
use tokio::sync::{Notify, watch};

use crate::client::ClientInner;
use crate::error::{Error, ErrorKind};
use crate::link::{Kind, Link, Session, lock};
use crate::lookup::Target;
use crate::pool::Role;
use crate::session::attach::{Attach, Step};

/// A machine that an endpoint drives.
pub(crate) trait Machine: Send + 'static {
    const ROLE: Role;
    const KIND: Kind;

    fn attach(&mut self) -> &mut Attach;
    /// The number of the current session.
    fn id(&self) -> u64;
    /// Writes the opening command; `fresh` is an unused number for machines that need one.
    fn open(&mut self, fresh: u64, request_id: u64, link: &Link);
    /// The answer to the opening command or to an inquiry.
    fn answer(&mut self, now: Instant, chance: f64, command: Command) -> After;
    fn command(
        &mut self,
        now: Instant,
        chance: f64,
        command: Command,
        message: Option<MessageFrame>,
    ) -> After;
    fn session_over(&mut self, now: Instant, chance: f64, target: Option<Target>, error: Error);
    fn on_time(&mut self, now: Instant);
    /// Asks the broker something if there is something to ask and a request to ask it with.
    fn inquire(&mut self, now: Instant, request_id: impl FnOnce() -> Option<u64>);
    fn next_time(&self) -> Option<Instant>;
    /// Takes no more work.
    fn close(&mut self);
    /// True when nothing is left that closing has to wait for.
    fn is_drained(&self) -> bool;
    fn close_command(&mut self, request_id: u64);
    /// The command that ends the session with this number.
    fn closing(id: u64, request_id: u64) -> Command;
    fn end(&mut self);
    fn frames(&mut self) -> &mut Vec<Bytes>;
    /// Tells everybody whose wait is over.
    fn tell(&mut self);
}

/// What a command means for the endpoint.
#[derive(Debug)]
pub(crate) enum After {
    Nothing,
    /// There is something to receive.
    Ready,
    /// The session has to be left from our side.
    Leave,
    /// The broker ended the session; the topic may be found at the broker with this URL.
    Closed(Option<String>),
}

/// How an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Opening for the first time.
    Opening,
    /// A session is open.
    Open,
    /// The session was lost; a new one is being opened.
    Reconnecting,
    /// Closed or failed for good.
    Ended,
}

pub(crate) struct Endpoint<M> {
    client: Arc<ClientInner>,
    topic: String,
    core: Mutex<Core<M>>,
    /// Wakes the driver when something else than the time is due.
    wake: Notify,
    closing: Notify,
    health: watch::Sender<Health>,
    /// Wakes receivers.
    ready: Arc<Notify>,
}

pub(crate) struct Core<M> {
    pub(crate) machine: M,
    link: Option<Arc<Link>>,
    /// The request on `link` that opens the session, while its answer is awaited.
    request: Option<u64>,
    health: Health,
    /// The time for which the driver has set its alarm.
    armed: Option<Instant>,
    closing: Option<Instant>,
}

enum Todo {
    LookUp,
    Dial(Target),
    Wait(Option<Instant>),
    Finish,
}

impl<M: Machine> Endpoint<M> {
    /// Opens, or tells why not.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it has opened.
    pub(crate) async fn open(
        client: Arc<ClientInner>,
        topic: String,
        ready: Arc<Notify>,
        machine: impl FnOnce(Attach) -> M,
    ) -> Result<Guard<M>, Error> {
        let attach = Attach::new(Instant::now(), client.options.operation_timeout);
        let core = Core {
            machine: machine(attach),
            link: None,
            request: None,
            health: Health::Opening,
            armed: None,
            closing: None,
        };
        let endpoint = Arc::new(Self {
            client,
            topic,
            core: Mutex::new(core),
            wake: Notify::new(),
            closing: Notify::new(),
            health: watch::Sender::new(Health::Opening),
            ready,
        });
        tokio::spawn(endpoint.clone().drive());
        let guard = Guard(endpoint);
        let mut health = guard.0.health.subscribe();
        match health
            .wait_for(|health| *health != Health::Opening)
            .await
            .map(|health| *health)
        {
            Ok(Health::Ended) | Err(_) => Err(guard.0.why_ended()),
            Ok(_) => Ok(guard),
        }
    }

    pub(crate) fn health(&self) -> Health {
        *self.health.borrow()
    }

    pub(crate) fn why_ended(&self) -> Error {
        let error = lock(&self.core).machine.attach().last_error().cloned();
        error.unwrap_or_else(|| Error::new(ErrorKind::Closed, format!("{} is closed", self.topic)))
    }

    /// Runs `change` on the machine and carries out what it leads to: frames leave in the order
    /// of the changes, waiters are told, the driver is woken when it has something new to do.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut M, Instant) -> R) -> R {
        let now = Instant::now();
        let mut core = lock(&self.core);
        let result = change(&mut core.machine, now);
        self.carry_out(&mut core);
        result
    }

    fn carry_out(&self, core: &mut Core<M>) {
        if let Some(link) = &core.link {
            let frames = core.machine.frames();
            if !frames.is_empty() {
                link.send(frames.drain(..));
            }
        } else {
            core.machine.frames().clear();
        }
        core.machine.tell();
        if core.closing.is_some() && core.machine.is_drained() {
            self.wake.notify_one();
        }
        let attach = core.machine.attach();
        let health = match core.health {
            _ if attach.is_ended() => Health::Ended,
            _ if attach.is_open() => Health::Open,
            Health::Opening => Health::Opening,
            _ => Health::Reconnecting,
        };
        if health != core.health {
            core.health = health;
            self.health.send_replace(health);
            self.wake.notify_one();
            // Receivers look again, to find the end or the messages of a new session.
            self.ready.notify_waiters();
        } else if let Some(next) = core.machine.next_time()
            && core.armed.is_none_or(|armed| next < armed)
        {
            core.armed = Some(next);
            self.wake.notify_one();
        }
    }

    async fn drive(self: Arc<Self>) {
        loop {
            match self.todo() {
                Todo::LookUp => {
                    if let Some(result) = self
                        .unless_closing(self.client.look_up(&self.topic, M::ROLE))
                        .await
                    {
                        self.with(|machine, now| match result {
                            Ok(target) => machine.attach().looked_up(target),
                            Err(error) => _ = machine.attach().failed(now, rand::random(), error),
                        });
                    }
                }
                Todo::Dial(target) => {
                    if let Some(result) = self.unless_closing(self.client.pool.link(&target, M::ROLE)).await {
                        self.dialled(result);
                    }
                }
                Todo::Wait(until) => self.wait(until).await,
                Todo::Finish => break,
            }
        }
        self.finish().await;
    }

    /// Works until closing begins, or, where closing has to wait for something, until its deadline.
    async fn unless_closing<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let closing = lock(&self.core).closing;
        tokio::select! {
            result = work => Some(result),
            () = self.closing.notified() => None,
            () = alarm(closing) => None,
        }
    }

    fn todo(self: &Arc<Self>) -> Todo {
        let mut core = lock(&self.core);
        let now = Instant::now();
        if let Some(deadline) = core.closing
            && (core.machine.is_drained() || now >= deadline)
        {
            return Todo::Finish;
        }
        if core.machine.attach().is_overdue(now) {
            self.opening_overdue(&mut core, now);
        }
        core.machine.on_time(now);
        let link = core.link.clone();
        core.machine.inquire(now, || link?.request_for(self.clone()).ok());
        self.carry_out(&mut core);
        let closing = core.closing;
        match core.machine.attach().step(now) {
            Step::End => Todo::Finish,
            Step::LookUp => Todo::LookUp,
            Step::Dial(target) => Todo::Dial(target),
            Step::Wait(until) => {
                let times = [until, core.machine.next_time(), closing];
                core.armed = times.into_iter().flatten().min();
                Todo::Wait(core.armed)
            }
        }
    }

    fn opening_overdue(&self, core: &mut Core<M>, now: Instant) {
        let text = format!("the broker did not open {} in time", self.topic);
        core.machine
            .session_over(now, rand::random(), None, Error::new(ErrorKind::TimedOut, text));
        self.leave(core);
    }

    async fn wait(&self, until: Option<Instant>) {
        tokio::select! {
            () = self.wake.notified() => {}
            () = self.closing.notified() => {}
            () = alarm(until) => {}
        }
    }

    fn dialled(self: &Arc<Self>, result: Result<Arc<Link>, Error>) {
        let fresh = self.client.next_session_id();
        let mut core = lock(&self.core);
        let now = Instant::now();
        let opened = result.and_then(|link| {
            if !core.machine.attach().dialled(now) {
                return Ok(());
            }
            let request_id = link.request_for(self.clone())?;
            core.machine.open(fresh, request_id, &link);
            link.register(M::KIND, core.machine.id(), self.clone())?;
            core.link = Some(link);
            core.request = Some(request_id);
            Ok(())
        });
        if let Err(error) = opened {
            core.machine.attach().failed(now, rand::random(), error);
        }
        self.carry_out(&mut core);
    }

    /// Ends a session from our side: the broker is told, and nothing of it reaches us any more.
    fn leave(&self, core: &mut Core<M>) {
        if let Some(link) = self.let_go(core) {
            core.machine.frames().clear();
            core.machine.close_command(link.ids().next());
            link.send(core.machine.frames().drain(..));
        }
    }

    /// Nothing that arrives on the connection reaches us any more.
    fn let_go(&self, core: &mut Core<M>) -> Option<Arc<Link>> {
        let link = core.link.take()?;
        link.unregister(M::KIND, core.machine.id());
        if let Some(request_id) = core.request.take() {
            link.forget(request_id);
        }
        Some(link)
    }

    /// Asks the broker something about the open session; `build` is given the session's number and
    /// the request's.
    pub(crate) async fn ask(&self, build: impl FnOnce(u64, u64) -> Command) -> Result<Command, Error> {
        let session = {
            let mut core = lock(&self.core);
            let is_open = core.machine.attach().is_open();
            core.link
                .clone()
                .filter(|_| is_open)
                .map(|link| (link, core.machine.id()))
        };
        let Some((link, id)) = session else {
            let text = format!("no session is open on {}", self.topic);
            return Err(Error::new(ErrorKind::SessionLost, text));
        };
        link.call(self.client.options.operation_timeout, |request_id| {
            build(id, request_id)
        })
        .await
    }

    /// Waits until a session is open, at most for the operation timeout.
    ///
    /// # Errors
    ///
    /// The endpoint has ended, or the time is over.
    pub(crate) async fn opened(&self) -> Result<(), Error> {
        let mut health = self.health.subscribe();
        let open = health.wait_for(|health| matches!(health, Health::Open | Health::Ended));
        let patience = self.client.options.operation_timeout;
        match tokio::time::timeout(patience, open).await {
            Ok(Ok(health)) if *health == Health::Open => Ok(()),
            Ok(_) => Err(self.why_ended()),
            Err(_) => {
                let text = format!("no session was open on {} within {patience:?}", self.topic);
                Err(Error::new(ErrorKind::TimedOut, text))
            }
        }
    }

    /// Leaves the session for a new one where `change` says so.
    pub(crate) fn replace_session_if(&self, change: impl FnOnce(&mut M) -> bool) {
        let mut core = lock(&self.core);
        if change(&mut core.machine) && core.link.is_some() {
            let text = format!("the session on {} is replaced by a new one", self.topic);
            let error = Error::new(ErrorKind::SessionLost, text);
            core.machine
                .session_over(Instant::now(), rand::random(), None, error);
            self.leave(&mut core);
            self.wake.notify_one();
        }
        self.carry_out(&mut core);
    }

    /// Asks for the end and waits for it, at most until the deadline.
    pub(crate) async fn close(&self, patience: Duration) {
        self.close_soon(patience);
        let mut health = self.health.subscribe();
        // The sender lives in self: waiting cannot fail.
        let _ = health.wait_for(|health| *health == Health::Ended).await;
    }

    pub(crate) fn close_soon(&self, patience: Duration) {
        let mut core = lock(&self.core);
        if core.closing.is_none() {
            core.closing = Some(Instant::now() + patience);
            core.machine.close();
            self.carry_out(&mut core);
        }
        self.closing.notify_one();
    }

    async fn finish(&self) {
        let (link, id, closing) = {
            let core = lock(&self.core);
            (core.link.clone(), core.machine.id(), core.closing)
        };
        if let Some(link) = link {
            let patience = match closing {
                Some(deadline) => deadline.saturating_duration_since(Instant::now()),
                None => self.client.options.close_timeout,
            };
            // Whatever the answer is, the end is the same for us.
            let _ = link.call(patience, |request_id| M::closing(id, request_id)).await;
        }
        let mut core = lock(&self.core);
        self.let_go(&mut core);
        core.machine.end();
        self.carry_out(&mut core);
    }
}

/// Sleeps until then, or for ever.
async fn alarm(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until.into()).await,
        None => std::future::pending().await,
    }
}

impl<M: Machine> Session for Endpoint<M> {
    fn answer(&self, command: Command) {
        let mut core = lock(&self.core);
        let opens = core
            .request
            .take_if(|request| command.request_id() == Some(*request))
            .is_some();
        let after = core.machine.answer(Instant::now(), rand::random(), command);
        if matches!(after, After::Leave) {
            self.leave(&mut core);
        } else if opens && !core.machine.attach().is_open() {
            // Refused: the next try has another number, and this one must not stay registered.
            self.let_go(&mut core);
        }
        self.carry_out(&mut core);
        // The driver waits for the end of the opening: a refusal has it rest and try again.
        self.wake.notify_one();
    }

    fn command(&self, link: u64, command: Command, message: Option<MessageFrame>) {
        let now = Instant::now();
        let mut core = lock(&self.core);
        if core.link.as_ref().is_none_or(|current| current.number() != link) {
            // Read before the session was left, and late.
            return;
        }
        let after = core.machine.command(now, rand::random(), command, message);
        match after {
            After::Nothing => {}
            After::Ready => self.ready.notify_one(),
            After::Leave => {
                self.leave(&mut core);
                self.wake.notify_one();
            }
            After::Closed(url) => {
                // Also while opening, when the health does not change.
                self.wake.notify_one();
                let target = self
                    .let_go(&mut core)
                    .and_then(|link| link.target().moved_to(&url?).ok());
                let text = format!("the broker closed the session on {}", self.topic);
                core.machine.session_over(
                    now,
                    rand::random(),
                    target,
                    Error::new(ErrorKind::ConnectionLost, text),
                );
            }
        }
        self.carry_out(&mut core);
    }

    fn lost(&self, link: u64, error: &Error) {
        let mut core = lock(&self.core);
        if core.link.take_if(|current| current.number() == link).is_some() {
            core.request = None;
            core.machine
                .session_over(Instant::now(), rand::random(), None, error.clone());
            self.carry_out(&mut core);
            self.wake.notify_one();
        }
    }
}

/// The hold of a user on an endpoint: dropping it closes the endpoint in the background.
pub(crate) struct Guard<M: Machine>(Arc<Endpoint<M>>);

impl<M: Machine> Guard<M> {
    /// The endpoint without the hold on it.
    pub(crate) fn endpoint(&self) -> Arc<Endpoint<M>> {
        self.0.clone()
    }
}

impl<M: Machine> std::ops::Deref for Guard<M> {
    type Target = Endpoint<M>;

    fn deref(&self) -> &Endpoint<M> {
        &self.0
    }
}

impl<M: Machine> Drop for Guard<M> {
    fn drop(&mut self) {
        self.0.close_soon(self.0.client.options.close_timeout);
    }
}
