//! Listening: connections within limits, orders to end and to read models again.

use crate::annif::Vocabulary;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::routes::{App, router};
use crate::session::Session;
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
        Ok(Self(Arc::new(App::new(config)?)))
    }

    /// The routes.
    pub fn routes(&self) -> Router {
        router(self.0.clone())
    }

    /// Reads the files of all models again. One that cannot be read, or does not fit, leaves the old one where it is.
    pub fn reload(&self) {
        self.0.reload();
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
        let Config { models, labelling, bind, access, hosts, label_studio, annif, limits, say } = config;
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
                let (session, words) = Session::open(given, loaded, &metrics)?;
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
            session,
            access,
            hosts,
            loopback,
            label_studio,
            vocabulary,
            limits,
            work,
            metrics,
            ending,
            say,
        })
    }

    /// Reads all models again.
    fn reload(&self) {
        for (at, old) in self.models.all().iter().enumerate() {
            let taken = self.models.again(at).and_then(|new| {
                let Some(new) = new.map(Arc::new) else { return Ok(None) };
                if let Some(session) = &self.session {
                    session.take_over(&new)?;
                }
                self.models.put(at, new.clone());
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
}

/// Takes connections until it is told to end, and then waits for those that are open.
async fn serve(app: &Arc<App>, listener: TcpListener, mut orders: Orders) {
    let places = Arc::new(Semaphore::new(app.limits.connections));
    let (end, ended) = watch::channel(false);
    let routes = router(app.clone());
    loop {
        tokio::select! {
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
                        tokio::spawn(async move {
                            connection(stream, routes, ended).await;
                            drop(place);
                        });
                    }
                    Err(_) => drop(tokio::spawn(refuse(stream))),
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
async fn connection(stream: TcpStream, routes: Router, mut ended: watch::Receiver<bool>) {
    drop(stream.set_nodelay(true));
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

/// Says that there are too many connections.
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
}
