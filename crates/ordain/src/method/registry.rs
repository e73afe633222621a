//! Methods by their names.

use super::{Annotate, CStar, Match, MatchMethod, Rank, RankMethod};
use crate::error::{Error, Result};
use crate::task::{About, Method, Setting, Task, Words};
use std::fmt;
use std::str::FromStr;

/// A method of any task with its settings; written `ranksvm[lambda=1,scale=query]`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnyMethod {
    /// It ranks.
    Rank(RankMethod),
    /// It annotates.
    Annotate(CStar),
    /// It matches.
    Match(MatchMethod),
}

/// The same call, whatever the task.
macro_rules! each {
    ($any:expr, $method:ident => $call:expr) => {
        match $any {
            AnyMethod::Rank($method) => $call,
            AnyMethod::Annotate($method) => $call,
            AnyMethod::Match($method) => $call,
        }
    };
}

impl AnyMethod {
    /// Name and defaults of every method of every task, in the order of the help.
    ///
    /// ```
    /// let names: Vec<&str> = ordain::method::AnyMethod::all().iter().map(|method| method.name()).collect();
    /// assert!(names.contains(&"ranksvm") && names.contains(&"cstar") && names.contains(&"matchmap"));
    /// ```
    pub fn all() -> Vec<Self> {
        let rank = Rank::METHODS.iter().map(|(_, make)| Self::Rank(make()));
        let annotate = Annotate::METHODS.iter().map(|(_, make)| Self::Annotate(make()));
        let matching = Match::METHODS.iter().map(|(_, make)| Self::Match(make()));
        rank.chain(annotate).chain(matching).collect()
    }

    /// The method of this name, with its defaults.
    pub fn named(name: &str) -> Result<Self> {
        let all = Self::all();
        let known: Vec<&str> = all.iter().map(Self::name).collect();
        let at = known.iter().position(|known| *known == name);
        at.map(|at| all[at].clone()).ok_or_else(|| Error::unknown("method", name, known))
    }

    /// A method written `NAME[name=value,…]`, then further settings, each `name=value`. The result is checked.
    ///
    /// ```
    /// use ordain::method::AnyMethod;
    /// assert!("cstar[loss=p@3]".parse::<AnyMethod>().is_err()); // the likelihood has no loss to choose
    /// assert!(AnyMethod::parse("cstar[loss=p@3]", ["trainer=margin"]).is_ok());
    /// ```
    pub fn parse<S: AsRef<str>>(text: &str, further: impl IntoIterator<Item = S>) -> Result<Self> {
        let (name, settings) = match text.split_once('[') {
            None => (text, ""),
            Some((name, rest)) => match rest.strip_suffix(']') {
                Some(settings) => (name, settings),
                None => {
                    return Err(Error::Setting {
                        name: "method".into(),
                        expected: "METHOD[name=value,…]".into(),
                        found: text.into(),
                    });
                }
            },
        };
        let mut method = Self::named(name.trim_ascii())?;
        for assignment in settings.split(',').map(str::trim_ascii).filter(|a| !a.is_empty()) {
            method.set(assignment)?;
        }
        for assignment in further {
            method.set(assignment.as_ref())?;
        }
        each!(&method, method => method.check())?;
        Ok(method)
    }

    /// The names of its task.
    pub fn task(&self) -> &'static Words {
        match self {
            Self::Rank(_) => Rank::WORDS,
            Self::Annotate(_) => Annotate::WORDS,
            Self::Match(_) => Match::WORDS,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        each!(self, method => method.name())
    }

    /// What it is good for, with figures.
    pub fn about(&self) -> About {
        each!(self, method => method.about())
    }

    /// What can be set.
    pub fn settings(&self) -> &'static [Setting] {
        each!(self, method => method.settings())
    }

    /// Whether an interrupted fit can continue.
    pub fn resumes(&self) -> bool {
        each!(self, method => method.resumes())
    }

    /// Whether it learns links between documents by features of pairs ([`crate::data::RankSet::pairs`]); others do not look at them.
    pub fn takes_links(&self) -> bool {
        each!(self, method => method.takes_links())
    }

    /// Whether it can start from the scores of another model ([`crate::data::RankSet::with_start`]).
    pub fn takes_start(&self) -> bool {
        each!(self, method => method.takes_start())
    }

    /// Whether it learns from pairs, so that preferences can stand in place of grades ([`crate::data::RankSet::with_preferences`]).
    pub fn takes_preferences(&self) -> bool {
        each!(self, method => method.takes_preferences())
    }

    /// Whether a setting is left to validation.
    pub fn chooses(&self) -> bool {
        each!(self, method => method.chooses())
    }

    /// Changes a setting, given as `name=value`.
    fn set(&mut self, assignment: &str) -> Result<()> {
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(Error::Setting {
                name: "a setting".into(),
                expected: match self {
                    Self::Annotate(method) if method.core.is_some() => {
                        "name=value (names of a core stand between ;, as in core=red;green)".into()
                    }
                    _ => "name=value".into(),
                },
                found: assignment.into(),
            });
        };
        let (name, value) = (name.trim_ascii(), value.trim_ascii());
        let ridge = self.settings().iter().any(|setting| setting.name == "lambda").then_some("c");
        let known = self.settings().iter().map(|setting| setting.name).chain(ridge);
        if !known.clone().any(|known| known == name) {
            return Err(Error::unknown("setting", name, known));
        }
        each!(self, method => method.set(name, value))
    }

    /// Says that a method of another task was expected.
    fn wrong_task(&self, expected: &Words) -> Error {
        Error::Data {
            expected: format!("a method that {}", expected.does),
            found: format!("{}, which {}", self.name(), self.task().does),
        }
    }
}

/// The settings of a method that are not those of its defaults, in the form that parses back.
pub(super) fn write<T: Task>(method: &impl Method<T>, usual: &impl Method<T>, f: &mut fmt::Formatter) -> fmt::Result {
    let names = method.settings().iter().map(|setting| setting.name);
    let own: Vec<String> = names
        .filter_map(|name| Some((name, method.get(name)?)))
        .filter(|(name, value)| usual.get(name).as_ref() != Some(value))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    f.write_str(method.name())?;
    if own.is_empty() { Ok(()) } else { write!(f, "[{}]", own.join(",")) }
}

impl FromStr for AnyMethod {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::parse::<&str>(text, [])
    }
}

impl fmt::Display for AnyMethod {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        each!(self, method => method.fmt(f))
    }
}

/// Text to a method of one task and back.
macro_rules! text {
    ($task:ident, $method:ident) => {
        impl FromStr for $method {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                match text.parse()? {
                    AnyMethod::$task(method) => Ok(method),
                    other => Err(other.wrong_task($task::WORDS)),
                }
            }
        }

        impl fmt::Display for $method {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                let usual = $task::METHODS.iter().find(|(name, _)| *name == self.name());
                write(self, &usual.map_or_else(|| self.clone(), |(_, make)| make()), f)
            }
        }
    };
}

text!(Rank, RankMethod);
text!(Annotate, CStar);
text!(Match, MatchMethod);

/// One type for several methods of a task: each call goes to the method itself.
macro_rules! methods {
    ($(#[$doc:meta])* $any:ident of $task:ty { $($(#[$own:meta])* $name:literal => $variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $any {
            $($(#[$own])* $variant($variant),)+
        }

        impl $any {
            /// Name and defaults of each, in the order of the help.
            pub const ALL: $crate::task::Methods<Self> =
                &[$(($name, || Self::$variant($variant::default())),)+];
        }

        impl $crate::task::Method<$task> for $any {
            fn name(&self) -> &'static str {
                match self { $(Self::$variant(method) => method.name(),)+ }
            }
            fn about(&self) -> $crate::task::About {
                match self { $(Self::$variant(method) => method.about(),)+ }
            }
            fn settings(&self) -> &'static [$crate::task::Setting] {
                match self { $(Self::$variant(method) => $crate::task::Method::settings(method),)+ }
            }
            fn get(&self, name: &str) -> Option<String> {
                match self { $(Self::$variant(method) => method.get(name),)+ }
            }
            fn set(&mut self, name: &str, value: &str) -> $crate::error::Result<()> {
                match self { $(Self::$variant(method) => method.set(name, value),)+ }
            }
            fn check(&self) -> $crate::error::Result<()> {
                match self { $(Self::$variant(method) => method.check(),)+ }
            }
            fn chooses(&self) -> bool {
                match self { $(Self::$variant(method) => method.chooses(),)+ }
            }
            fn chooses_by(&self) -> $crate::metric::Metric {
                match self { $(Self::$variant(method) => method.chooses_by(),)+ }
            }
            fn resumes(&self) -> bool {
                match self { $(Self::$variant(method) => method.resumes(),)+ }
            }
            fn takes_links(&self) -> bool {
                match self { $(Self::$variant(method) => method.takes_links(),)+ }
            }
            fn takes_gaps(&self) -> bool {
                match self { $(Self::$variant(method) => method.takes_gaps(),)+ }
            }
            fn takes_start(&self) -> bool {
                match self { $(Self::$variant(method) => method.takes_start(),)+ }
            }

            fn takes_init(&self) -> bool {
                match self { $(Self::$variant(method) => method.takes_init(),)+ }
            }
            fn takes_preferences(&self) -> bool {
                match self { $(Self::$variant(method) => method.takes_preferences(),)+ }
            }
            fn transform(&self) -> $crate::data::transform::Transform {
                match self { $(Self::$variant(method) => method.transform(),)+ }
            }
            fn categories(&self) -> &[String] {
                match self { $(Self::$variant(method) => method.categories(),)+ }
            }
            fn written(&self) -> $crate::task::Written {
                match self { $(Self::$variant(method) => method.written(),)+ }
            }
            fn learn(
                &self,
                data: &$crate::task::Training<'_, $task>,
                watch: &$crate::solver::run::Watch,
            ) -> $crate::error::Result<$crate::task::Fitted<$task>> {
                match self { $(Self::$variant(method) => method.learn(data, watch),)+ }
            }
        }
    };
}
pub(super) use methods;
