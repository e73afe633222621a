//! Kernels that score edges: the exact objectives of matchings on coordinates of a kernel.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::data::synthetic::Linkage;
use ordain::data::{Columns, MatchSet};
use ordain::kernel::{Factor, Form, Kernel};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Match, MatchMethod};
use ordain::metric::Convention;
use ordain::model_file::{from_bytes, to_bytes};
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};

fn fit(method: &str, set: &MatchSet, units: &[u32]) -> Fitted<Match> {
    method.parse::<MatchMethod>().unwrap().fit(&Training::new(set, units), &Watch::NOBODY).unwrap()
}

/// The scores of all edges, then what an unmatched item scores.
fn scores(fitted: &Fitted<Match>, set: &MatchSet) -> Vec<f64> {
    let said = fitted.model.predict(&fitted.model.prepare(set).unwrap(), &set.all()).unwrap();
    said.into_iter().flat_map(|said| said.scores).chain(fitted.model.null).collect()
}

fn measured(fitted: &Fitted<Match>, set: &MatchSet, units: &[u32], metric: &str) -> f64 {
    let ready = fitted.model.prepare(set).unwrap();
    fitted.model.evaluate(&ready, units, &[metric.parse().unwrap()], &Convention::STANDARD).unwrap().mean(0)
}

fn with_features(set: &MatchSet, values: Vec<f32>, cols: usize) -> MatchSet {
    let columns = Columns::named((0..cols).map(|j| format!("c{j}")).collect());
    MatchSet::new(Features::Dense(Matrix::new(values, cols)), columns, set.problems().to_vec()).unwrap()
}

/// A kernel machine of edges is the linear problem on the columns of a Cholesky factor, by likelihood and by margin.
#[test]
fn a_kernel_of_edges_is_the_linear_problem_on_its_cholesky_factor() {
    let set = Linkage { problems: 6, records: 3, ..Linkage::default() }.make();
    let (m, d) = (set.edges(), set.features.cols());
    let edges: Vec<f32> = (0..m * d).map(|at| set.features.value(at / d, at % d)).collect();
    let kernel = Kernel::in_units(Form::Rbf, 1.0, &edges, d);
    let factor = Factor::new(&kernel, &edges, d);
    let mut seen = vec![];
    for x in edges.chunks_exact(d) {
        let mut row: Vec<f64> =
            factor.kept.iter().map(|&j| kernel.of(x, &edges[j as usize * d..(j as usize + 1) * d])).collect();
        factor.features(&mut row);
        seen.extend(row.iter().map(|&x| x as f32));
    }
    let explicit = with_features(&set, seen, factor.len());
    for (method, rest) in [
        ("matchmap", "null=true,tol=1e-8,max_iter=2000"),
        ("matchmap", "null=true,tol=1e-8,max_iter=2000,marginals=exact"),
        ("matchmargin", "null=true,tol=1e-6,max_iter=2000,calibrate=false"),
    ] {
        let rest = format!("transform=none,scale=none,lambda=0.01,{rest}");
        let by_kernel = fit(&format!("{method}[kernel=rbf,gamma=1,{rest}]"), &set, &set.all());
        let by_factor = fit(&format!("{method}[{rest}]"), &explicit, &explicit.all());
        let (a, b) = (by_kernel.facts.report.objective, by_factor.facts.report.objective);
        assert!((a - b).abs() < 1e-5 * (1.0 + a.abs()), "{method}: {a} {b}");
        assert_eq!(by_kernel.facts.settings["kernel"], "rbf");
        assert_eq!(by_kernel.model.score.expansion().unwrap().documents.rows(), factor.len());
        for (a, b) in scores(&by_kernel, &set).iter().zip(scores(&by_factor, &explicit)) {
            assert!((a - b).abs() < 2e-3 * (1.0 + a.abs()), "{method}: {a} {b}");
        }
    }
}

/// `kernel=linear` is the linear model itself; a kernel that is linear, but goes the way of kernels, has the same scores.
#[test]
fn a_linear_kernel_of_edges_is_the_linear_model() {
    let set = Linkage { problems: 40, records: 4, ..Linkage::default() }.make();
    for rest in ["null=true", "null=true,scale=matched,lambda=0.1"] {
        let [plain, named] = ["matchmap[REST]", "matchmap[kernel=linear,REST]"]
            .map(|line| fit(&line.replace("REST", rest), &set, &set.all()));
        assert_eq!(to_bytes(&plain), to_bytes(&named));
    }
    let rest = "scale=none,lambda=0.01,null=true,tol=1e-9,max_iter=2000";
    let by_kernel = fit(&format!("matchmap[kernel=poly,degree=1,coef0=0,gamma=1,{rest}]"), &set, &set.all());
    // the kernel is γ⟨a, b⟩: a ridge of λ on it is a ridge of λ/γ on weights; the null has a ridge of its own in neither
    let gamma = by_kernel.model.score.expansion().unwrap().kernel.gamma;
    let factor = (gamma.sqrt()) as f32;
    let d = set.features.cols();
    let wide = (0..set.edges() * d).map(|at| factor * set.features.value(at / d, at % d)).collect();
    let wide = with_features(&set, wide, d);
    let by_weights = fit(&format!("matchmap[{rest}]"), &wide, &wide.all());
    for (a, b) in scores(&by_kernel, &set).iter().zip(scores(&by_weights, &wide)) {
        assert!((a - b).abs() < 1e-5 * (1.0 + a.abs()), "{a} {b}");
    }
}

/// Edges that match where two likenesses agree in sign: no weights see it, a kernel does, and `auto` takes it. Where the linear score
/// is right, `auto` keeps it or does as well.
#[test]
fn auto_takes_a_kernel_of_edges_where_it_pays() {
    let set = Linkage { problems: 90, records: 4, ..Linkage::default() }.make();
    let (train, test): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|p| p % 3 > 0);
    let mut random = ordain::random::Random::new(5);
    let mut values = vec![];
    for problem in set.problems() {
        for truth in &problem.truth {
            let (x, y) = (random.normal(), random.normal().abs() + 0.2);
            let right = *truth == ordain::data::Truth::Yes;
            values.extend([x as f32, if right { x.signum() * y } else { -x.signum() * y } as f32]);
        }
    }
    let crossed = with_features(&set, values, 2);
    let rest = "null=true,scale=none,lambda=0.003";
    let (linear, auto) = (&*format!("matchmap[{rest}]"), &*format!("matchmap[{rest},kernel=auto]"));
    let f1 = |fitted: &Fitted<Match>, set: &MatchSet| measured(fitted, set, &test, "f1");
    let fitted = fit(auto, &crossed, &train);
    let (plain, by_kernel) = (f1(&fit(linear, &crossed, &train), &crossed), f1(&fitted, &crossed));
    assert!(by_kernel > 0.9 && plain < by_kernel - 0.2, "{plain} {by_kernel}");
    assert_ne!(fitted.facts.settings["kernel"], "linear");
    let tried = &fitted.facts.chosen.as_ref().unwrap().candidates;
    assert!(
        tried.iter().any(|one| one.settings["kernel"] == "linear")
            && tried.iter().all(|one| {
                // values below 0 are no histograms
                one.settings["kernel"] != "chi2" && one.settings["kernel"] != "intersection"
            })
    );
    assert!(fitted.facts.taken().is_some());
    // stored and loaded it says the same
    let again = from_bytes::<Match>(&to_bytes(&fitted), std::path::Path::new("model")).unwrap();
    assert_eq!(scores(&fitted, &crossed), scores(&again, &crossed));
    assert!(f1(&fit(auto, &set, &train), &set) > f1(&fit(linear, &set, &train), &set) - 0.05);
}

#[test]
fn kernels_of_edges_are_checked() {
    for wrong in
        ["matchmap[gamma=1]", "matchmap[kernel=rbf,degree=2]", "matchmargin[kernel=given]", "matchmap[kernel=rfb]"]
    {
        assert!(wrong.parse::<MatchMethod>().is_err(), "{wrong}");
    }
    let set = Linkage { problems: 20, records: 3, ..Linkage::default() }.make();
    let method: MatchMethod = "matchmap[kernel=chi2,scale=global,null=true]".parse().unwrap();
    let error = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap_err().to_string();
    assert!(error.contains("values of at least 0"), "{error}");
}
