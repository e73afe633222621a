//! What each method is good for.

use crate::method::AnyMethod;
use crate::task::Setting;
use serde::Serialize;

/// A method as it is shown beside others.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MethodFacts {
    /// Its name.
    pub name: &'static str,
    /// Its task.
    pub task: &'static str,
    /// Where to take it.
    pub good_for: &'static str,
    /// The set that figures are of.
    pub measured_on: &'static str,
    /// What it reached there, by default settings.
    pub figures: Vec<Figure>,
    /// What can be set.
    pub settings: &'static [Setting],
}

/// A metric with its value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The metric.
    pub metric: &'static str,
    /// Its value.
    pub value: f64,
}

impl MethodFacts {
    fn of(method: &AnyMethod) -> Self {
        let about = method.about();
        Self {
            name: method.name(),
            task: method.task().name,
            good_for: about.good_for,
            measured_on: about.measured_on,
            figures: about.figures.iter().map(|&(metric, value)| Figure { metric, value }).collect(),
            settings: method.settings(),
        }
    }
}

/// Every method of the list that [`crate::task::Task::METHODS`] is, of one task or of all.
///
/// ```
/// let all = ordain::answer::methods(Some("match"));
/// assert_eq!(all.iter().map(|method| method.name).collect::<Vec<_>>(), ["matchmap", "matchmargin"]);
/// assert_eq!(all[0].figures[0].metric, "hamming");
/// ```
pub fn methods(task: Option<&str>) -> Vec<MethodFacts> {
    let all = AnyMethod::all();
    all.iter().filter(|method| task.is_none_or(|task| method.task().name == task)).map(MethodFacts::of).collect()
}
