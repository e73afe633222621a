//! The compiled half of the Python package `ordain`: it turns arrays into data sets, calls the library without the
//! interpreter lock, and turns results and errors back. Whatever an estimator decides is decided in `python/ordain`.

mod arrow;
mod data;
mod input;
mod labels;
mod link;
mod matches;
mod metric;
mod model;
mod rank;
mod remote;
mod star;
mod structure;
mod work;

use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(ordain, FormatError, PyValueError, "A file or its text is not what it should be.");

/// An error of the library, with options written as arguments.
fn raised(error: ordain::Error) -> PyErr {
    use ordain::Error;
    let error = match error {
        Error::Outside(said) => match said.downcast::<PyErr>() {
            Ok(error) => return *error,
            Err(said) => Error::Outside(said),
        },
        error => error,
    };
    let text = match &error {
        Error::Advised { error, way } if way.option == "folds" => error.to_string(), // there is no such argument
        Error::Advised { error, way } if way.option == "links" => format!("{error}; links= {}", way.effect), // it is no file here
        error => error.told(|option, value| format!("{option}={value:?}")),
    };
    match error.cause() {
        Error::Io { reason, .. } if reason.kind() == std::io::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        Error::Io { reason, .. } if reason.kind() == std::io::ErrorKind::OutOfMemory => PyMemoryError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Parse { .. } | Error::Content { .. } | Error::Model { .. } => FormatError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The compiled half of `ordain`; the estimators and functions of the package are what to use.
#[pymodule(gil_used = false)]
mod _ordain {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrow::read_arrow;
    #[pymodule_export]
    use super::data::{
        make_levels, make_matching, make_orders, make_ranking, make_registers, make_silhouettes, make_tagging,
        make_videos, read_letor, read_matching, read_multilabel,
    };
    #[pymodule_export]
    use super::input::coarse_columns;
    #[pymodule_export]
    use super::labels::{Annotator, fit_labels};
    #[pymodule_export]
    use super::link::link;
    #[pymodule_export]
    use super::matches::{Matcher, fit_match, point_edges};
    #[pymodule_export]
    use super::metric::measure;
    #[pymodule_export]
    use super::model::{from_bytes, load, methods, settings, write_whole};
    #[pymodule_export]
    use super::rank::{Ranker, RuleBook, fit_rank};
    #[pymodule_export]
    use super::remote::{Block, Shard, fit_away, fit_problems_away, layouts};
    #[pymodule_export]
    use super::star::{star_argmax, star_marginals, star_ranking, star_ranking_forced, star_ranking_marginals};
    #[pymodule_export]
    use super::structure::{linear_assignment, permanent, quadratic_assignment, sample_matchings, top_k_marginals};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // numpy's functions are found here, once: a signal that came meanwhile inside a call would end it in a panic
        drop(numpy::PyArray1::<f64>::zeros(module.py(), 0, false));
        module.add("FormatError", module.py().get_type::<super::FormatError>())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
