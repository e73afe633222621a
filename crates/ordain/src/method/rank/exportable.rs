//! Where a ranker is to be carried to.

use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::Choice;
use crate::method::settings::name_of;
use crate::task::Setting;
use serde_json::Value;

/// What a ranker is to be exported to. It restricts what `auto` takes: outside ordain a document is scored by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exportable {
    /// Nothing: every scaling and transform serves.
    #[default]
    No,
    /// A search engine: scalings that are the same for all queries, and no quantiles.
    Search,
    /// ONNX: scalings that are the same for all queries.
    Onnx,
}

pub(super) const EXPORTABLE: [(&str, Exportable); 3] =
    [("false", Exportable::No), ("search", Exportable::Search), ("onnx", Exportable::Onnx)];

impl Exportable {
    /// `exportable`.
    pub(super) const SETTING: Setting = Setting {
        name: "exportable",
        range: "false, search, onnx",
        default: "false",
        help: "what the model is to be carried to: search (scale none or global, transform none or log) or onnx (scale none or global) keep scores that do not depend on the list; false keeps all choices open",
    };

    /// The scalings that serve, in the order in which they are tried.
    pub(super) fn scales(self) -> &'static [Scale] {
        if self == Self::No { Scale::ALL } else { &[Scale::Global, Scale::None] }
    }

    /// As it is written among the settings of a model.
    pub(super) fn written(self) -> Option<(String, Value)> {
        (self != Self::No).then(|| ("exportable".to_owned(), self.name().into()))
    }

    fn name(self) -> &'static str {
        name_of(&self, &EXPORTABLE)
    }

    /// Refuses what was set although it cannot be exported.
    pub(super) fn check(self, scale: Choice<Scale>, transform: Transform) -> Result<()> {
        let name = self.name();
        let refuse = |what: &str, expected: &str, found: &str| {
            Err(Error::Setting {
                name: what.into(),
                expected: format!("{expected} with exportable={name}"),
                found: found.into(),
            })
        };
        match (scale, transform) {
            (Choice::Set(scale), _) if !self.scales().contains(&scale) => {
                refuse("scale", "none, global or auto", scale.name())
            }
            (_, Transform::Quantile) if self == Self::Search => {
                refuse("transform", "none, log or auto", transform.name())
            }
            _ => Ok(()),
        }
    }
}
