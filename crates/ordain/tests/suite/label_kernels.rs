//! Kernels for labels: in the classifiers, and inside the structured objective.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::data::synthetic::Scenes;
use ordain::data::{Columns, LabelSet};
use ordain::kernel::{Factor, Form, Kernel};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Annotate, CStar};
use ordain::metric::Convention;
use ordain::model_file::to_bytes;
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};

fn fit(method: &str, set: &LabelSet) -> Fitted<Annotate> {
    method.parse::<CStar>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

fn values(fitted: &Fitted<Annotate>, set: &LabelSet) -> Vec<Vec<f64>> {
    let ready = fitted.model.prepare(set).unwrap();
    let said = fitted.model.predict(&ready, &set.all()).unwrap();
    said.into_iter().map(|item| item.values).collect()
}

/// \[QAP\] Eq. (10): a kernel inside the objective is the linear problem on the columns of a Cholesky factor.
#[test]
fn a_kernel_is_the_linear_problem_on_its_cholesky_factor() {
    let set = Scenes { items: 12, labels: 4, scenes: 2, ..Scenes::default() }.make();
    let (m, d) = (set.len(), set.features.cols());
    let items: Vec<f32> = (0..m * d).map(|at| set.features.value(at / d, at % d)).collect();
    let kernel = Kernel::in_units(Form::Rbf, 1.0, &items, d);
    let factor = Factor::new(&kernel, &items, d);
    let r = factor.len();
    let mut seen = vec![];
    for i in 0..m {
        let x = &items[i * d..(i + 1) * d];
        let mut row: Vec<f64> =
            factor.kept.iter().map(|&j| kernel.of(x, &items[j as usize * d..(j as usize + 1) * d])).collect();
        factor.features(&mut row);
        seen.extend(row.iter().map(|&x| x as f32));
    }
    let columns = Columns::of((0..r).map(|j| format!("c{j}")).collect());
    let yes = (0..m).map(|i| set.yes(i).to_vec()).collect();
    let explicit = LabelSet::new(Features::Dense(Matrix::new(seen, r)), columns, set.labels.clone(), yes).unwrap();
    for rest in ["core=1,link_lambda=0.01", "core=1,link_lambda=0.01,trainer=margin,max_iter=2000"] {
        let rest = format!("transform=none,features=direct,scale=none,lambda=0.01,tol=1e-6,{rest}");
        let by_kernel = fit(&format!("cstar[kernel=rbf,gamma=1,{rest}]"), &set);
        let by_factor = fit(&format!("cstar[{rest}]"), &explicit);
        let (a, b) = (by_kernel.facts.report.objective, by_factor.facts.report.objective);
        assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{rest}: {a} {b}");
        if rest.contains("margin") {
            continue; // the optimum is not unique in every score
        }
        // the number of labels is learned from other classifiers, so that only scores of labels agree
        let (one, other) = (by_kernel.model.prepare(&set).unwrap(), by_factor.model.prepare(&explicit).unwrap());
        for i in 0..m {
            let (a, b) = (by_kernel.model.score(&one, i).unwrap(), by_factor.model.score(&other, i).unwrap());
            a.base.iter().zip(&b.base).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{rest}: {a} {b}"));
        }
    }
}

/// A linear kernel inside the objective knows the same functions as weights on features; `kernel=linear` is these weights.
#[test]
fn a_polynomial_of_degree_one_is_linear() {
    let set = Scenes { items: 50, labels: 5, scenes: 2, ..Scenes::default() }.make();
    let rest = "features=direct,scale=none,count_bias=false,core=0,lambda=0.01,link_lambda=1,tol=1e-7";
    let by_kernel = fit(&format!("cstar[kernel=poly,degree=1,coef0=0,gamma=1,{rest}]"), &set);
    // the kernel is γ⟨a, b⟩: a ridge of λ on it is a ridge of λ/γ on weights
    let gamma = by_kernel.model.direct.as_ref().unwrap().expansion().unwrap().kernel.gamma;
    let by_weights = fit(&format!("cstar[{}]", rest.replace("lambda=0.01", &format!("lambda={}", 0.01 / gamma))), &set);
    let (one, other) = (by_kernel.model.prepare(&set).unwrap(), by_weights.model.prepare(&set).unwrap());
    for i in 0..set.len() {
        let (a, b) = (by_kernel.model.score(&one, i).unwrap(), by_weights.model.score(&other, i).unwrap());
        a.base.iter().zip(&b.base).for_each(|(a, b)| assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{a} {b}"));
    }
    let named = format!("kernel=linear,{rest}");
    let [named, plain] = [named.as_str(), rest].map(|rest| to_bytes(&fit(&format!("cstar[{rest}]"), &set)));
    assert!(named == plain);
}

/// Items whose label is known by a circle: no weight on features finds it, a Gaussian kernel does, and `auto` takes it.
#[test]
fn auto_takes_a_kernel_where_it_pays() {
    let mut random = Random::new(8);
    let points: Vec<f32> = (0..400).map(|_| random.normal() as f32).collect();
    let radius = |i: usize| points[2 * i].hypot(points[2 * i + 1]);
    let yes = (0..200).map(|i| if radius(i) < 1.1 { vec![0] } else { vec![1] }).collect();
    let set = LabelSet::new(
        Features::Dense(Matrix::new(points.clone(), 2)),
        Columns::of(vec!["x".into(), "y".into()]),
        vec!["inside".into(), "outside".into()],
        yes,
    )
    .unwrap();
    let bep = |fitted: &Fitted<Annotate>| {
        let ready = fitted.model.prepare(&set).unwrap();
        fitted.model.evaluate(&ready, &set.all(), &["bep".parse().unwrap()], &Convention::STANDARD).unwrap().mean(0)
    };
    let linear = fit("independent[lambda=0.01]", &set);
    let auto = fit("independent[kernel=auto,lambda=0.01]", &set);
    assert!(bep(&linear) < 0.8 && bep(&auto) > 0.9, "{} {}", bep(&linear), bep(&auto));
    let tried = &auto.facts.notes.kernels;
    assert!(tried.len() == 3 && auto.facts.settings["kernel"] != "linear", "{tried:?}");
}

/// An unknown label plays no part: the classifiers then rest on core items, and say the same of items that are alike.
#[test]
fn labels_that_are_not_known_are_left_out() {
    let set = Scenes { items: 60, labels: 4, scenes: 2, ..Scenes::default() }.make();
    let gaps: Vec<Vec<u32>> = (0..60).map(|i| if i % 5 == 0 { vec![1] } else { vec![] }).collect();
    let yes = (0..60).map(|i| set.yes(i).iter().copied().filter(|label| !gaps[i].contains(label)).collect()).collect();
    let some = LabelSet::new(set.features.clone(), set.columns.clone(), set.labels.clone(), yes).unwrap();
    let some = some.with_unknown(gaps).unwrap();
    let line = "independent[kernel=rbf,gamma=0.3,lambda=0.01]";
    let (all, known) = (values(&fit(line, &set), &set), values(&fit(line, &some), &set));
    let far = all.iter().zip(&known).filter(|(a, b)| (a[1] - b[1]).abs() > 0.3).count();
    assert!(far < 6, "{far}");
}

#[test]
fn kernels_are_checked() {
    for wrong in [
        "cstar[kernel=rbf,degree=2]",
        "cstar[gamma=1]",
        "cstar[kernel=auto,degree=2]",
        "cstar[kernel=rbf,features=given]",
        "cstar[kernel=auto,features=given]",
    ] {
        assert!(wrong.parse::<CStar>().is_err(), "{wrong}");
    }
    let set = Scenes { items: 30, labels: 4, scenes: 2, ..Scenes::default() }.make();
    let method: CStar = "cstar[kernel=chi2]".parse().unwrap();
    let error = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap_err().to_string();
    assert!(error.contains("values of at least 0"), "{error}");
}
