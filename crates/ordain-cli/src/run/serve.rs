//! `ordain serve`.

use crate::SERVER;
use crate::args::{LabelStudioArg, Serve};
use crate::plan::{Usage, usage};
use crate::run::{check_not_input, check_output};
use crate::screen::{Screen, complain};
use anyhow::Result;
use ordain::Error;
use ordain_serve::{Access, Config, Control, LabelStudio, Labelled, Limits};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(super) fn run(args: &Serve, screen: &Screen) -> Result<()> {
    let strategy = usage(args.strategy.parse())?;
    if !(args.target > 0.0 && args.target <= 1.0) {
        return Err(Usage(format!("--target: expected a share above 0 and up to 1, found {}", args.target)).into());
    }
    let models: Vec<(String, PathBuf)> = args.models.iter().map(|text| named(text)).collect::<Result<_>>()?;
    let labelling = match &args.items {
        None => None,
        Some(items) => {
            if items.as_os_str() == "-" || args.answers.as_os_str() == "-" {
                return Err(Usage("--items and --answers need files, not streams".into()).into());
            }
            check_output(&args.answers)?;
            check_not_input(&args.answers, models.iter().map(|(_, path)| path).chain([items]).chain(&args.teach))?;
            Some(Labelled {
                items: items.clone(),
                labels: args.labels.clone(),
                answers: args.answers.clone(),
                show: args.show.clone(),
                media: args.media.clone(),
                records: args.records.first().cloned().zip(args.records.get(1).cloned()).map(|(a, b)| [a, b]),
                strategy,
                blind: args.blind,
                overlap: args.overlap.into(),
                target: args.target,
                learn: args.learn.map(|every| every as usize),
                teach: args.teach.clone(),
            })
        }
    };
    let (access, made) = access(args)?;
    let limits = Limits {
        body: args.max_body,
        rows: args.max_rows,
        time: Duration::from_secs(args.timeout),
        ..Limits::default()
    };
    let annif = match (args.annif, &args.vocabulary) {
        (true, Some(path)) => Some((path.clone(), args.language.clone())),
        _ => None,
    };
    let label_studio = args.label_studio.map(|how| LabelStudio { complete: how == LabelStudioArg::Complete });
    let page = labelling.is_some();
    let (quiet, studio) = (screen.is_quiet(), label_studio.is_some());
    let say = move |text: &str| match text.strip_prefix("listening at ") {
        // the token is in a part of the address that is never sent
        Some(address) => {
            if studio {
                let token = made.as_deref().unwrap_or("TOKEN");
                complain(&format!("Label Studio: connect a model at {address}label-studio/{token}"));
                complain(
                    "  it refuses local addresses unless it was started with ML_BLOCK_LOCAL_IP=false SSRF_PROTECTION_ENABLED=false",
                );
            }
            match &made {
                Some(token) if page => complain(&format!("label at {address}#token={token}")),
                Some(token) => complain(&format!("{text}, token {token}")),
                None if page => complain(&format!("label at {address}")),
                None => complain(text),
            }
        }
        None if quiet => {}
        None => complain(text),
    };
    let (control, orders) = ordain_serve::control();
    drop(SERVER.set(control));
    let config = Config {
        models,
        watch: args.watch,
        labelling,
        bind: args.bind,
        access,
        hosts: args.allow_host.clone(),
        label_studio,
        annif,
        accept_learn: args.accept_learn,
        limits,
        say: Arc::new(say),
    };
    let served = ordain_serve::run(config, orders);
    // a model that is being learned is not waited for
    ordain::data::abandon_writes();
    Ok(served?)
}

/// What a signal means to a server: SIGHUP reads models again, the first of all others ends it when running requests are answered.
pub(crate) fn told(server: &Control, signal: u8) -> bool {
    static ENDING: AtomicBool = AtomicBool::new(false);
    const SIGHUP: u8 = 1;
    if signal == SIGHUP {
        server.reload();
        return true;
    }
    let again = ENDING.swap(true, Ordering::SeqCst);
    if !again {
        server.end();
    }
    !again
}

/// `MODEL=NAME`, or a file whose name is that of the model.
fn named(text: &str) -> Result<(String, PathBuf)> {
    let (path, name) = match text.rsplit_once('=') {
        Some((path, name)) if !Path::new(text).exists() => (path, name.to_owned()),
        _ => (text, Path::new(text).file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned())),
    };
    let right = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(right) {
        let text =
            format!("{text}: expected a name of letters, digits, -, _ and . (MODEL=NAME gives one), found {name:?}");
        return Err(Usage(text).into());
    }
    Ok((name, path.into()))
}

/// Who may ask, and the token where one was made up.
fn access(args: &Serve) -> Result<(Access, Option<String>)> {
    let text = match args.token.as_deref() {
        Some("none") if !args.bind.ip().is_loopback() => {
            let text = format!("--token none: others can reach {}: leave it out, or give a file of tokens", args.bind);
            return Err(Usage(text).into());
        }
        Some("none") => return Ok((Access::Open, None)),
        None => {
            let token = made()?;
            return Ok((Access::Tokens(vec![(None, token.clone())]), Some(token)));
        }
        Some(given) => match given.strip_prefix("env:") {
            Some(name) => {
                std::env::var(name).map_err(|_| Usage(format!("--token: expected tokens in ${name}, found none")))?
            }
            None => tokens_of(given)?,
        },
    };
    let line = |line: &str| match line.trim().split_once(':') {
        Some((name, token)) => (Some(name.trim().to_owned()).filter(|name| !name.is_empty()), token.trim().to_owned()),
        None => (None, line.trim().to_owned()),
    };
    let tokens: Vec<(Option<String>, String)> = text.lines().filter(|text| !text.trim().is_empty()).map(line).collect();
    if tokens.is_empty() || tokens.iter().any(|(_, token)| token.len() < 8) {
        return Err(
            Usage("--token: expected lines TOKEN or NAME:TOKEN, each token of 8 characters or more".into()).into()
        );
    }
    Ok((Access::Tokens(tokens), None))
}

/// The text of a file of tokens, or of a pipe.
fn tokens_of(path: &str) -> Result<String> {
    use std::io::Read;
    const MOST: u64 = 1 << 20;
    let failed = |reason| Error::Io { path: path.into(), action: "read", reason };
    let mut text = String::new();
    std::fs::File::open(path).and_then(|file| file.take(MOST + 1).read_to_string(&mut text)).map_err(failed)?;
    match text.len() as u64 > MOST {
        false => Ok(text),
        true => {
            Err(Usage("--token: expected a file of lines TOKEN or NAME:TOKEN, found more than 1 MiB".into()).into())
        }
    }
}

/// A token that nobody can guess: 128 bits of the system.
fn made() -> Result<String> {
    use std::fmt::Write as _;
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut token = String::new();
    let mut bytes = [0u8; 16];
    let read =
        std::fs::File::open("/dev/urandom").and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes));
    if read.is_err() {
        // where there is no such file, the keys of hash tables are random
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
        }
    }
    bytes.iter().for_each(|byte| _ = write!(token, "{byte:02x}"));
    Ok(token)
}
