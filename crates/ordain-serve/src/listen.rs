//! Listening: connections within limits, orders to end and to read models again.

use crate::annif::Vocabulary;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::routes::{App, router};
use crate::session::{Session, learn};
use crate::stream::Patient;
use crate::work::Work;
use crate::{Access, Config};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ordain::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);
/// How long whoever comes too much is listened to.
const REFUSE: Duration = Duration::from_secs(1);
/// How often files of models are looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How long running requests are waited for at the end.
const DRAIN: Duration = Duration::from_secs(10);
/// The largest head of a request.
const LARGEST_HEAD: usize = 64 << 10;

/// What a server is told from outside, from any thread.
#[derive(Clone)]
pub struct Control(mpsc::UnboundedSender<Order>);

/// The other side of a [`Control`].
pub struct Orders(mpsc::UnboundedReceiver<Order>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    End,
    Reload,
}

/// A control and what it controls.
pub fn control() -> (Control, Orders) {
    let (send, receive) = mpsc::unbounded_channel();
    (Control(send), Orders(receive))
}

impl Control {
    /// Ends the server when the requests that run are answered.
    pub fn end(&self) {
        _ = self.0.send(Order::End);
    }

    /// Reads the files of all models again.
    pub fn reload(&self) {
        _ = self.0.send(Order::Reload);
    }
}

/// What is served, without a socket: its routes can be called, or stand below those of another program.
pub struct Service(Arc<App>);

impl Service {
    /// Loads models and data.
    ///
    /// # Errors
    ///
    /// A model or data that cannot be read, and settings that contradict each other.
    pub fn new(config: Config) -> Result<Self> {
        let app = Arc::new(App::new(config)?);
        learn::start(&app)?;
        Ok(Self(app))
    }

    /// The routes.
    pub fn routes(&self) -> Router {
        router(self.0.clone())
    }

    /// Reads the files of all models again. One that cannot be read, or does not fit, leaves the old one where it is.
    pub fn reload(&self) {
        self.0.reload();
    }

    /// The same of those files that are no longer what they were when they were read: what `watch` does every two seconds.
    pub fn look(&self) {
        self.0.look();
    }
}

impl Drop for Service {
    /// Waits until all answers are on the disk, and lets go of their file.
    fn drop(&mut self) {
        if let Some(session) = &self.0.session {
            session.close();
        }
    }
}

/// Loads what is served, listens, and returns when the server was ended.
///
/// # Errors
///
/// A model or data that cannot be read, and an address that cannot be listened at.
pub fn run(config: Config, orders: Orders) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_io().enable_time().build().map_err(failed("start"))?;
    let bind = config.bind;
    let service = Service::new(config)?;
    let app = service.0.clone();
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(bind).await.map_err(failed("listen at"))?;
        let address = listener.local_addr().map_err(failed("listen at"))?;
        (app.say)(&format!("listening at http://{address}/"));
        serve(&app, listener, orders).await;
        Ok(())
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    drop(service);
    served
}

fn failed(action: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |reason| Error::Io { path: "the server".into(), action, reason }
}

impl App {
    /// Loads models and data.
    fn new(config: Config) -> Result<Self> {
        let Config { models, watch, labelling, bind, access, hosts, label_studio, annif, accept_learn, limits, say } =
            config;
        let vocabulary = annif.map(|(path, language)| Vocabulary::read(&path, &language)).transpose()?;
        let loopback = bind.ip().is_loopback();
        if matches!(access, Access::Open) && !loopback {
            return Err(Error::Setting {
                name: "token".into(),
                expected: "a token, because others can reach this address (none is for 127.0.0.1 alone)".into(),
                found: "none".into(),
            });
        }
        let (models, metrics) = (Models::load(&models)?, Arc::new(Metrics::default()));
        let session = match (&labelling, &models.all()[..]) {
            (None, _) => None,
            (Some(given), [loaded]) => {
                let (session, words) = Session::open(given, (loaded, models.path(0)), &metrics)?;
                words.iter().for_each(|text| say(text));
                Some(session)
            }
            (Some(_), all) => {
                return Err(Error::Setting {
                    name: "items".into(),
                    expected: "one model to label with".into(),
                    found: format!("{} models", all.len()),
                });
            }
        };
        let ending = AtomicBool::new(false);
        let work = Work::new(limits.waiting);
        Ok(Self {
            models,
            watch,
            session,
            access,
            hosts,
            loopback,
            label_studio,
            vocabulary,
            accept_learn,
            limits,
            work,
            metrics,
            ending,
            say,
        })
    }

    /// Reads all models again.
    fn reload(&self) {
        let _one = self.models.one_at_a_time();
        (0..self.models.all().len()).for_each(|at| self.again(at));
    }

    /// Reads those models again whose files are no longer what they were.
    fn look(&self) {
        let _one = self.models.one_at_a_time();
        (0..self.models.all().len()).filter(|&at| self.models.has_changed(at)).for_each(|at| self.again(at));
    }

    /// Reads a model again.
    fn again(&self, at: usize) {
        let old = &self.models.all()[at];
        let taken = self.models.again(at).and_then(|new| {
            let Some(new) = new.map(Arc::new) else { return Ok(None) };
            if let Some(session) = &self.session {
                session.take_over(&new)?;
            }
            self.models.put_read(at, new.clone());
            Ok(Some(new))
        });
        let name = &old.name;
        match taken {
            Ok(None) => {
                self.metrics.reloaded(name, "same");
                (self.say)(&format!("{name}: the file holds the same model"));
            }
            Ok(Some(new)) => {
                self.metrics.reloaded(name, "new");
                (self.say)(&format!("{name}: {} in the place of {}", new.version, old.version));
            }
            Err(error) => {
                self.metrics.reloaded(name, "refused");
                (self.say)(&format!("warning: {name}: {} stays: {error}", old.version));
            }
        }
    }
}

/// Takes connections until it is told to end, and then waits for those that are open.
async fn serve(app: &Arc<App>, listener: TcpListener, mut orders: Orders) {
    let places = Arc::new(Semaphore::new(app.limits.connections));
    let refused = Arc::new(Semaphore::new(app.limits.connections));
    let (end, ended) = watch::channel(false);
    let routes = router(app.clone());
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick(), if app.watch => {
                let app = app.clone();
                drop(tokio::task::spawn_blocking(move || app.look()));
            }
            order = orders.0.recv() => match order {
                Some(Order::Reload) => {
                    let app = app.clone();
                    drop(tokio::task::spawn_blocking(move || app.reload()));
                }
                Some(Order::End) | None => break,
            },
            taken = listener.accept() => match taken {
                Ok((stream, _)) => match places.clone().try_acquire_owned() {
                    Ok(place) => {
                        let (routes, ended) = (routes.clone(), ended.clone());
                        drop(stream.set_nodelay(true));
                        let stream = Patient::new(stream, app.limits.time);
                        tokio::spawn(async move {
                            connection(stream, routes, ended).await;
                            drop(place);
                        });
                    }
                    // who comes after these is cut off without a word
                    Err(_) => if let Ok(place) = refused.clone().try_acquire_owned() {
                        tokio::spawn(async move {
                            drop(tokio::time::timeout(REFUSE, refuse(stream)).await);
                            drop(place);
                        });
                    },
                },
                // no descriptor is free, or the peer went away: whoever is served goes on
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
    app.ending.store(true, Ordering::SeqCst);
    drop(listener);
    _ = end.send(true);
    let all = app.limits.connections as u32;
    drop(tokio::time::timeout(DRAIN, places.acquire_many(all)).await);
}

/// Answers the requests of a connection.
async fn connection(stream: Patient, routes: Router, mut ended: watch::Receiver<bool>) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(LARGEST_HEAD);
    let served = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    let ended = async move { drop(ended.wait_for(|ended| *ended).await) };
    tokio::pin!(served);
    tokio::select! {
        // whoever closes a connection in the middle is no concern of others
        done = served.as_mut() => drop(done),
        () = ended => {
            served.as_mut().graceful_shutdown();
            drop(served.await);
        }
    }
}

/// Says that there are too many connections. What was sent is read first: a connection that is closed with something unread is cut off,
/// and nobody would see the answer.
async fn refuse(stream: TcpStream) {
    let text = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let mut sent = 0;
    while sent < text.len() && stream.writable().await.is_ok() {
        match stream.try_write(&text[sent..]) {
            Ok(n) if n > 0 => sent += n,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => return,
        }
    }
    let Ok(stream) = stream.into_std() else { return };
    if stream.shutdown(std::net::Shutdown::Write).is_err() {
        return;
    }
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let mut unread = [0; 4096];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut unread) {
            Ok(n) if n > 0 => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => return,
        }
    }
}
