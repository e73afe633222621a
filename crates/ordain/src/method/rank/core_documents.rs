//! Kernel RankSVM on documents: exact, over the span of some core documents, or within a budget of them.
//!
//! ```text
//! min over F = Σ_i β_i k(x_i, ·):   λ/2·|F|² + Σ_q weight_q · ½ Σ_{g_i > g_j in q} (1 − F_i + F_j)₊²
//! ```

use crate::data::Groups;
use crate::data::scale::Scaling;
use crate::error::{Error, Result};
use crate::kernel::{Factor, Kernel};
use crate::matrix::squares_by_column;
use crate::matrix::{Features, Matrix, dot_row};
use crate::method::rank::hinge::{self, HingeFit, Steps};
use crate::random::Random;
use crate::risk::Empirical;
use crate::scorer::kernel_rows::{Gram, KernelRows};
use crate::scorer::rows::Rows;
use crate::solver::newton::{Memory, Newton};
use crate::solver::run::{Report, Watch, run};
use crate::surrogate::pair_band::PairBand;
use crate::surrogate::pair_hinge::{PairHinge, Preferred, Work};
use crate::traits::{Solver, Stop, Surrogate};
use rayon::prelude::*;
use std::ops::Range;

/// Documents of one block: lists whose pairs count.
pub(crate) struct Block<'a> {
    /// The documents as they are scaled, `d` values each.
    pub docs: &'a [f32],
    /// Values of a document.
    pub d: usize,
    /// The documents of each list.
    pub lists: Vec<Range<usize>>,
    /// The grade of each document.
    pub grades: &'a [f64],
    /// The weight of each list's pair loss in the objective.
    pub weight: Vec<f64>,
    /// The weight of each document, where somebody gave them.
    pub of_documents: Option<&'a [f64]>,
    /// The pairs of each list, where preferences stand in place of grades.
    pub given: Option<&'a [Vec<Preferred>]>,
}

/// A function as a sum of kernels at core documents of its block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CoreFit {
    /// Core documents, by their number in the block.
    pub documents: Vec<u32>,
    /// Their coefficients.
    pub coefficients: Vec<f64>,
    /// The scores of all documents of the block.
    pub scores: Vec<f64>,
    /// How the solver ended.
    pub report: Report,
}

/// A fit, and of each core document by how much the function moves when it is left out.
type Solved = (CoreFit, Vec<f64>);

/// How a block is fitted.
#[derive(Clone, Copy)]
pub(crate) struct Fitting<'a> {
    /// The kernel.
    pub kernel: Kernel,
    /// Strength of the ridge.
    pub lambda: f64,
    /// The norm of the gradient at which a fit stops, relative to the one at zero.
    pub tol: f64,
    /// The most Newton steps of one fit.
    pub max_iter: usize,
    /// Who may stop it.
    pub watch: &'a Watch<'a>,
    /// Whether there is another fit to keep, so that this one may be left before it has begun.
    pub kept: bool,
    /// Whether pairs have the plain hinge; then `tol` is that of the duality gap.
    pub hinge: bool,
}

impl Fitting<'_> {
    /// Leaves with [`Error::Interrupted`] where somebody stops it and there is something to keep.
    fn go_on(&self) -> Result<()> {
        if self.kept && self.watch.stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// The kernel of the documents of a block.
    pub(crate) fn gram(&self, block: &Block) -> Result<Gram> {
        self.go_on()?;
        Ok(Gram::new(&self.kernel, block.docs, block.d))
    }

    /// The same for plain hinges.
    fn hinges(&self, steps: Steps) -> HingeFit<'_> {
        let Self { lambda, tol, max_iter, watch, .. } = *self;
        HingeFit { lambda, tol, max_iter, watch, steps }
    }
}

/// How core documents are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choose {
    /// More than enough in proportion to their dual weight, then those that matter least are left out.
    Dual,
    /// Any.
    Random,
    /// The ones that those before them explain least.
    Cholesky,
}

/// Documents whose features are made at once.
const CHUNK: usize = 128;
/// Parts of the budget at which a growing core is solved.
const GROWTH: [f64; 4] = [0.25, 0.5, 1.0, 2.0];
/// Rounds in which a core that is too large is pruned.
const ROUNDS: i32 = 3;
/// The ridges, in units of the one that is asked for, that an exact fit goes through, and their accuracy.
const EASIER: [f64; 2] = [1e4, 1e2];
const EASY: f64 = 1e-2;
/// The accuracy of fits that only lead to the next core.
const ROUGH: f64 = 1e-3;

impl Block<'_> {
    /// Number of documents.
    fn len(&self) -> usize {
        self.grades.len()
    }

    fn doc(&self, i: u32) -> &[f32] {
        &self.docs[i as usize * self.d..(i as usize + 1) * self.d]
    }

    /// Some documents, one after the other.
    fn some(&self, which: &[u32]) -> Vec<f32> {
        let mut docs = Vec::with_capacity(which.len() * self.d);
        which.iter().for_each(|&i| docs.extend_from_slice(self.doc(i)));
        docs
    }

    fn loss(&self) -> PairHinge {
        if let Some(given) = self.given {
            return PairHinge::of_pairs(
                self.lists.iter().zip(given).map(|(list, own)| (list.len(), own.iter().copied())),
            );
        }
        let weights: Option<Vec<&[f64]>> =
            self.of_documents.map(|all| self.lists.iter().map(|list| &all[list.clone()]).collect());
        PairHinge::new(self.lists.iter().map(|list| &self.grades[list.clone()]), weights.as_deref())
    }

    /// The weighted losses at some scores, with their slope by each of them. O(n log n).
    fn losses(&self, scores: &[f64]) -> Result<(f64, Vec<f64>)> {
        self.losses_by(&self.loss(), scores)
    }

    /// The same by hinges whose corners are rounded over a band.
    fn hinges(&self, width: f64, scores: &[f64]) -> Result<(f64, Vec<f64>)> {
        self.losses_by(&PairBand { pairs: &self.loss(), width }, scores)
    }

    /// Number of pairs that have a slack: the support pairs of a fit with plain hinges.
    pub(crate) fn support(&self, scores: &[f64]) -> usize {
        let (pairs, mut work) = (self.loss(), Work::default());
        let band = PairBand { pairs: &pairs, width: 0.0 };
        let of = |(n, list): (usize, &Range<usize>)| band.support(n, &scores[list.clone()], &mut work);
        self.lists.iter().enumerate().map(of).sum()
    }

    fn losses_by(&self, loss: &impl Surrogate<Work = Work>, scores: &[f64]) -> Result<(f64, Vec<f64>)> {
        let mut work = Work::default();
        let (mut total, mut slope, mut d) = (0.0, vec![0.0; self.len()], vec![]);
        for (n, (list, weight)) in self.lists.iter().zip(&self.weight).enumerate() {
            d.clear();
            d.resize(list.len(), 0.0);
            total += weight * loss.value(n, &scores[list.clone()], &mut d, &mut work)?;
            slope[list.clone()].iter_mut().zip(&d).for_each(|(slope, d)| *slope += weight * d);
        }
        Ok((total, slope))
    }

    /// Documents of lists with two different grades: no other can have a coefficient.
    fn taught(&self) -> Vec<u32> {
        let loss = self.loss();
        let mut taught = vec![false; self.len()];
        for (n, (list, weight)) in self.lists.iter().zip(&self.weight).enumerate() {
            if *weight > 0.0 && loss.pairs(n).0 > 0.0 {
                taught[list.clone()].fill(true);
            }
        }
        (0..self.len() as u32).filter(|&i| taught[i as usize]).collect()
    }

    /// The losses with their slopes that a fit is by.
    fn losses_of(&self, how: &Fitting, scores: &[f64]) -> Result<(f64, Vec<f64>)> {
        if how.hinge { self.hinges(0.0, scores) } else { self.losses(scores) }
    }

    /// `F = 0`.
    fn nothing(&self, how: &Fitting) -> Result<CoreFit> {
        let scores = vec![0.0; self.len()];
        let objective = self.losses_of(how, &scores)?.0;
        let report = Report { iterations: 0, objective, gradient: 0.0, gap: None, rounds: None, stop: Stop::Gradient };
        Ok(CoreFit { documents: vec![], coefficients: vec![], scores, report })
    }
}

impl CoreFit {
    /// From the coefficients of all documents of a block, and behind them their scores.
    fn of_all(mut theta: Vec<f64>, report: Report) -> Self {
        let scores = theta.split_off(theta.len() / 2);
        let documents: Vec<u32> = (0..theta.len() as u32).filter(|&i| theta[i as usize] != 0.0).collect();
        let coefficients = documents.iter().map(|&i| theta[i as usize]).collect();
        Self { documents, coefficients, scores, report }
    }

    /// The same with its documents in their order.
    fn sorted(mut self) -> Self {
        let mut both: Vec<(u32, f64)> = self.documents.into_iter().zip(self.coefficients).collect();
        both.sort_unstable_by_key(|&(i, _)| i);
        (self.documents, self.coefficients) = both.into_iter().unzip();
        self
    }
}

/// The minimum over all documents of the block, by Newton's method with conjugate gradients in the kernel's inner product:
/// O(n²) for each product. `gram` is the kernel of the block's documents.
///
/// A document without a slope has no coefficient at the minimum: what the accuracy left of one is taken away, and where that
/// costs accuracy the steps go on from there.
pub(crate) fn exact(block: &Block, gram: &Gram, how: &Fitting, start: Option<&CoreFit>) -> Result<CoreFit> {
    let n = block.len();
    let (rows, loss) = (KernelRows::new(gram, &block.lists), block.loss());
    let mut theta = vec![0.0; 2 * n];
    if let Some(start) = start {
        // the image anew: the scores of another fit may be rounded otherwise
        let of: Vec<(u32, f64)> = start.documents.iter().copied().zip(start.coefficients.iter().copied()).collect();
        of.iter().for_each(|&(i, beta)| theta[i as usize] = beta);
        gram.add_rows(&of, &mut theta[n..]);
    }
    if how.hinge {
        return exact_hinge(block, (gram, &rows, &loss), how, theta);
    }
    let mut risk = Empirical::new(&rows, &loss, block.weight.clone()).stopped_by(how.watch.stop);
    let (mut memory, mut before) = (Memory::default(), 0);
    if start.is_none() {
        // from zero a weak ridge takes hundreds of products for steps that lead nowhere near: stronger ones show the way
        for lambda in EASIER.map(|times| times * how.lambda).into_iter().filter(|&lambda| lambda < 1.0) {
            let mut newton = Newton::new(&mut risk, lambda, how.tol.max(EASY), theta, memory)?.by_products();
            before = run(&mut newton, how.max_iter, before, how.watch)?.iterations;
            theta = newton.theta().to_vec();
            memory = newton.into_memory();
        }
    }
    let report = loop {
        let mut newton = Newton::new(&mut risk, how.lambda, how.tol, theta, memory)?.by_products();
        let report = run(&mut newton, how.max_iter, before, how.watch)?;
        theta = newton.theta().to_vec();
        memory = newton.into_memory();
        let more = report.iterations > before;
        before = report.iterations;
        let (beta, image) = theta.split_at_mut(n);
        let slope = block.losses(image)?.1;
        let idle: Vec<usize> = (0..n).filter(|&i| slope[i] == 0.0 && beta[i] != 0.0).collect();
        if report.stop != Stop::Gradient || idle.is_empty() || !more {
            break report;
        }
        // conjugate gradients leave at 0 what is there without a slope
        let gone: Vec<(u32, f64)> = idle.iter().map(|&i| (i as u32, -beta[i])).collect();
        idle.iter().for_each(|&i| beta[i] = 0.0);
        gram.add_rows(&gone, image);
    };
    Ok(CoreFit::of_all(theta, report))
}

/// The same with plain hinges: documents that no support pair has get no coefficient.
fn exact_hinge(
    block: &Block,
    (gram, rows, pairs): (&Gram, &KernelRows, &PairHinge),
    how: &Fitting,
    theta: Vec<f64>,
) -> Result<CoreFit> {
    let n = block.len();
    let (mut theta, width, mut report) =
        hinge::minimise(rows, pairs, &block.weight, theta, &how.hinges(Steps::Products))?;
    let slope = block.hinges(width, &theta[n..])?.1;
    let gone: Vec<(u32, f64)> =
        (0..n).filter(|&i| slope[i] == 0.0 && theta[i] != 0.0).map(|i| (i as u32, -theta[i])).collect();
    if report.stop == Stop::Gap && !gone.is_empty() {
        gone.iter().for_each(|&(i, _)| theta[i as usize] = 0.0);
        gram.add_rows(&gone, &mut theta[n..]);
        let steps = report.iterations;
        (theta, _, report) = hinge::minimise(rows, pairs, &block.weight, theta, &how.hinges(Steps::Products))?;
        report.iterations += steps;
    }
    Ok(CoreFit::of_all(theta, report))
}

/// The minimum over the span of some core documents: a plain linear problem in the features `K_nS L⁻ᵀ`.
///
/// O(n r d + n r²/2) for the features of r core documents, then Newton's method on them. Core documents that others make up get no
/// coefficient. It starts at the projection of `start` to the span.
pub(crate) fn restricted(block: &Block, core: &[u32], how: &Fitting, start: Option<&CoreFit>) -> Result<CoreFit> {
    Ok(on_core(block, core, how, start)?.0.sorted())
}

/// The same, with the squared distance by which the function moves when a core document is left out: `β_j²/[K_SS⁻¹]_jj`.
fn on_core(block: &Block, core: &[u32], how: &Fitting, start: Option<&CoreFit>) -> Result<Solved> {
    let factor = Factor::new(&how.kernel, &block.some(core), block.d);
    let documents: Vec<u32> = factor.kept.iter().map(|&at| core[at as usize]).collect();
    let docs = block.some(&documents);
    let squares = how.kernel.squares(&docs, block.d);
    let span = Span::new(block, documents, factor, how, |rows, out| {
        let rows = &block.docs[rows.start * block.d..rows.end * block.d];
        how.kernel.block_with(rows, (&docs, &squares), block.d, out);
    })?;
    if span.documents.is_empty() {
        return Ok((block.nothing(how)?, vec![]));
    }
    let mut theta = vec![0.0; span.documents.len()];
    if let Some(start) = start {
        // L⁻¹ F_S are the coordinates of the projection
        theta.iter_mut().zip(&span.documents).for_each(|(theta, &i)| *theta = start.scores[i as usize]);
        span.factor.features(&mut theta);
    }
    let (theta, report, _) = span.solve(block, how, theta, Memory::default())?;
    let fit = CoreFit { scores: span.scores(&theta), ..span.fit(theta, report) };
    let squares = squares_by_column(&span.inverse, span.documents.len());
    let moves = squares.iter().zip(&fit.coefficients).map(|(inverse, b)| b * b / inverse).collect();
    Ok((fit, moves))
}

/// The documents of a block in coordinates of the span of a core, `K_nS L⁻ᵀ`: a kernel machine on the core is a linear one on
/// these features, at every λ.
struct Span {
    /// The core documents that were kept.
    documents: Vec<u32>,
    factor: Factor,
    inverse: Vec<f64>,
    features: Features,
}

impl Span {
    /// The span of the documents that a factor kept; `kernel` writes the kernel of some rows of the block with them. In parallel.
    fn new(
        block: &Block,
        documents: Vec<u32>,
        factor: Factor,
        how: &Fitting,
        kernel: impl Fn(Range<usize>, &mut [f32]) + Sync,
    ) -> Result<Self> {
        let (r, inverse) = (documents.len(), factor.inverse());
        let mut out = vec![0.0f32; block.len() * r];
        out.par_chunks_mut((CHUNK * r).max(1)).enumerate().try_for_each_init(
            || (vec![0.0; CHUNK * r], vec![0.0; CHUNK * r]),
            |(k, made), (at, out)| {
                how.go_on()?;
                let (k, made) = (&mut k[..out.len()], &mut made[..out.len()]);
                kernel(at * CHUNK..at * CHUNK + out.len() / r, out);
                k.iter_mut().zip(&*out).for_each(|(k, &x)| *k = f64::from(x));
                factor.feature_rows(&inverse, k, made);
                out.iter_mut().zip(&*made).for_each(|(out, &x)| *out = x as f32);
                Ok::<(), Error>(())
            },
        )?;
        let features = Features::Dense(Matrix::new(out, r));
        Ok(Self { documents, factor, inverse, features })
    }

    /// The minimum at a λ from a start, with what an earlier run on the same block left.
    fn solve(
        &self,
        block: &Block,
        how: &Fitting,
        theta: Vec<f64>,
        memory: Memory,
    ) -> Result<(Vec<f64>, Report, Memory)> {
        let bounds: Vec<usize> = block.lists.iter().flat_map(|list| [list.start, list.end]).collect();
        let units: Vec<u32> = (0..block.lists.len() as u32).map(|list| 2 * list).collect();
        let bounds = if bounds.is_empty() { vec![0] } else { bounds };
        let (rows, loss) = (Rows::new(Groups::new(&self.features, &bounds), &units, &Scaling::None), block.loss());
        if how.hinge {
            let (theta, _, report) = hinge::minimise(&rows, &loss, &block.weight, theta, &how.hinges(Steps::Core))?;
            return Ok((theta, report, memory));
        }
        let mut risk = Empirical::new(&rows, &loss, block.weight.clone()).stopped_by(how.watch.stop);
        let mut newton = Newton::new(&mut risk, how.lambda, how.tol, theta, memory)?.may_write_out();
        let report = run(&mut newton, how.max_iter, 0, how.watch)?;
        Ok((newton.theta().to_vec(), report, newton.into_memory()))
    }

    /// The scores of all documents of the block.
    fn scores(&self, theta: &[f64]) -> Vec<f64> {
        match &self.features {
            Features::Dense(m) => m.some_rows(0..m.rows()).map(|row| dot_row(row, theta)).collect(),
            Features::Sparse(_) => vec![],
        }
    }

    /// Parameters as coefficients of the core documents, without the scores.
    fn fit(&self, mut theta: Vec<f64>, report: Report) -> CoreFit {
        self.factor.coefficients(&mut theta);
        CoreFit { documents: self.documents.clone(), coefficients: theta, scores: vec![], report }
    }
}

/// A few core documents of a block that serve all widths and λ of a choice: what their kernel is made of is found once.
pub(crate) struct Landmarks {
    /// The documents, by their number in the block.
    pub documents: Vec<u32>,
    /// Their values.
    pub docs: Vec<f32>,
    /// What the kernel of each document of the block with them is made of.
    apart: Vec<f32>,
}

impl Landmarks {
    /// At most so many documents, drawn in proportion to their dual weight where all scores are 0, from a stream of their own, always the
    /// same one: a choice belongs to the data, not to the seed of a fit. O(n m d), in parallel.
    pub(crate) fn new(block: &Block, kernel: &Kernel, most: usize) -> Result<Self> {
        let slope = block.losses(&vec![0.0; block.len()])?.1;
        let drawn = draw(&[block.taught()], |_, i| slope[i as usize].abs(), |_| true, most, &mut Random::new(0));
        let mut documents = drawn.into_iter().flatten().collect::<Vec<u32>>();
        documents.sort_unstable();
        let docs = block.some(&documents);
        let apart = apart(kernel, block.docs, &docs, block.d);
        Ok(Self { documents, docs, apart })
    }

    /// The machine on them with one kernel, of the same form.
    pub(crate) fn course<'a>(&self, block: &'a Block<'a>, how: &Fitting) -> Result<Course<'a>> {
        let (factor, m) = (Factor::new(&how.kernel, &self.docs, block.d), self.documents.len());
        let kept = factor.kept.clone();
        let documents = kept.iter().map(|&at| self.documents[at as usize]).collect();
        let span = Span::new(block, documents, factor, how, |rows, out| {
            let of = self.apart[rows.start * m..rows.end * m].chunks_exact(m);
            for (from, to) in of.zip(out.chunks_exact_mut(kept.len())) {
                to.iter_mut().zip(&kept).for_each(|(to, &at)| *to = from[at as usize]);
            }
            how.kernel.of_apart(out);
        })?;
        let theta = vec![0.0; span.documents.len()];
        Ok(Course { block, span, kept, theta, memory: Memory::default() })
    }
}

/// What the kernels of documents with others are made of, row after row. O(n m d), in parallel.
pub(crate) fn apart(kernel: &Kernel, docs: &[f32], others: &[f32], d: usize) -> Vec<f32> {
    let (n, m, squares) = (docs.len() / d.max(1), others.len() / d.max(1), kernel.squares(others, d));
    let mut out = vec![0.0f32; n * m];
    out.par_chunks_mut((CHUNK * m).max(1))
        .zip(docs.par_chunks((CHUNK * d).max(1)))
        .for_each(|(out, docs)| kernel.apart(docs, (others, &squares), d, out));
    out
}

/// The machine on landmarks with one kernel: fits at one λ after the other, each from the one before.
pub(crate) struct Course<'a> {
    block: &'a Block<'a>,
    span: Span,
    /// Which landmarks the span keeps.
    kept: Vec<u32>,
    theta: Vec<f64>,
    memory: Memory,
}

impl Course<'_> {
    /// The fit at another λ, without scores, and its coefficients by landmark.
    pub(crate) fn go(&mut self, how: &Fitting, landmarks: &Landmarks) -> Result<(CoreFit, Vec<f64>)> {
        let mut by_landmark = vec![0.0; landmarks.documents.len()];
        if self.kept.is_empty() {
            return Ok((self.block.nothing(how)?, by_landmark));
        }
        let (theta, memory) = (std::mem::take(&mut self.theta), std::mem::take(&mut self.memory));
        let (theta, report, memory) = self.span.solve(self.block, how, theta, memory)?;
        let fit = self.span.fit(theta.clone(), report);
        (self.theta, self.memory) = (theta, memory);
        self.kept.iter().zip(&fit.coefficients).for_each(|(&at, &b)| by_landmark[at as usize] = b);
        Ok((fit.sorted(), by_landmark))
    }
}

/// One fit for each block, with at most `m` core documents in all of them together, and at least one in each block that
/// has a pair, where m allows; a block without one has the score 0 everywhere.
///
/// [`Choose::Dual`]: documents are drawn in proportion to their dual weight `|∂ losses/∂F_i|` and the blocks are solved again, in
/// growing batches up to 2m; then the documents whose leaving moves the function least are left out, in a few rounds.
/// With as many documents as there are the fits are the exact ones.
pub(crate) fn budget(blocks: &[Block], m: usize, choose: Choose, how: &Fitting, seed: u64) -> Result<Vec<CoreFit>> {
    let taught: Vec<Vec<u32>> = blocks.par_iter().map(Block::taught).collect();
    let all: usize = taught.iter().map(Vec::len).sum();
    if m >= all {
        return blocks.par_iter().map(|block| exact(block, &how.gram(block)?, how, None)).collect();
    }
    match choose {
        Choose::Dual => by_dual(blocks, m, &taught, how, &mut Random::new(seed)),
        Choose::Random => {
            let drawn = draw(&taught, |_, _| 1.0, |_| false, m, &mut Random::new(seed));
            Ok(plain(solve(blocks, &drawn, &[], how)?))
        }
        Choose::Cholesky => {
            let sizes: Vec<usize> = taught.iter().map(Vec::len).collect();
            let cores: Vec<Vec<u32>> = (blocks, &taught, shares(&sizes, m))
                .into_par_iter()
                .map(|(block, taught, most)| {
                    let pivots = Factor::with_at_most(&how.kernel, &block.some(taught), block.d, most).kept;
                    pivots.into_iter().map(|at| taught[at as usize]).collect()
                })
                .collect();
            Ok(plain(solve(blocks, &cores, &[], how)?))
        }
    }
}

/// A core that grows by dual weights to 2m documents and is pruned to m.
fn by_dual(
    blocks: &[Block],
    m: usize,
    taught: &[Vec<u32>],
    how: &Fitting,
    random: &mut Random,
) -> Result<Vec<CoreFit>> {
    let rough = Fitting { tol: how.tol.max(ROUGH), ..*how };
    let mut tried: Vec<Vec<bool>> = blocks.iter().map(|block| vec![false; block.len()]).collect();
    let mut fits: Vec<Solved> =
        blocks.par_iter().map(|block| Ok((block.nothing(how)?, vec![]))).collect::<Result<_>>()?;
    let count = |fits: &[Solved]| fits.iter().map(|(fit, _)| fit.documents.len()).sum::<usize>();
    for part in GROWTH {
        let size = ((part * m as f64).ceil() as usize).saturating_sub(count(&fits));
        if size == 0 || how.watch.stopped() {
            continue;
        }
        let slopes: Vec<Vec<f64>> = blocks
            .par_iter()
            .zip(&fits)
            .map(|(block, (fit, _))| Ok(block.losses_of(how, &fit.scores)?.1))
            .collect::<Result<_>>()?;
        let weight = |b: usize, i: u32| if tried[b][i as usize] { 0.0 } else { slopes[b][i as usize].abs() };
        let drawn = draw(taught, weight, |b| !fits[b].0.documents.is_empty(), size, random);
        let cores: Vec<Vec<u32>> = drawn
            .into_iter()
            .enumerate()
            .map(|(b, new)| {
                new.iter().for_each(|&i| tried[b][i as usize] = true);
                [&fits[b].0.documents[..], &new].concat()
            })
            .collect();
        fits = solve(blocks, &cores, &fits, &rough)?;
    }
    // in geometric steps from what there is to m
    let total = count(&fits);
    let rounds = if total <= m || how.watch.stopped() { 1 } else { ROUNDS };
    for round in 1..rounds {
        let share = f64::from(round) / f64::from(rounds);
        let size = (total as f64 * (m as f64 / total as f64).powf(share)).ceil() as usize;
        fits = solve(blocks, &prune(&fits, size), &fits, &rough)?;
    }
    fits = solve(blocks, &prune(&fits, m), &fits, how)?;
    Ok(plain(fits))
}

fn plain(fits: Vec<Solved>) -> Vec<CoreFit> {
    fits.into_iter().map(|(fit, _)| fit.sorted()).collect()
}

/// Solves every block on its core, each from its fit before.
fn solve(blocks: &[Block], cores: &[Vec<u32>], before: &[Solved], how: &Fitting) -> Result<Vec<Solved>> {
    (0..blocks.len())
        .into_par_iter()
        .map(|b| {
            let start = before.get(b).map(|(fit, _)| fit).filter(|fit| !fit.documents.is_empty());
            on_core(&blocks[b], &cores[b], how, start)
        })
        .collect()
}

/// Draws so many documents of all blocks without putting them back, in proportion to their weights; first one for each
/// block that is not served yet.
///
/// The largest of `ln(u)/weight` are such a draw (Efraimidis and Spirakis 2006).
fn draw(
    from: &[Vec<u32>],
    weight: impl Fn(usize, u32) -> f64,
    served: impl Fn(usize) -> bool,
    size: usize,
    random: &mut Random,
) -> Vec<Vec<u32>> {
    let mut keys = vec![];
    for (b, docs) in from.iter().enumerate() {
        for &i in docs {
            let (u, weight) = (1.0 - random.uniform(), weight(b, i));
            if weight > 0.0 {
                keys.push((u.ln() / weight, b, i));
            }
        }
    }
    largest(keys, size, (0..from.len()).map(served).collect())
}

/// The core documents of all blocks that move their functions most; one of each block, where the size allows.
fn prune(fits: &[Solved], size: usize) -> Vec<Vec<u32>> {
    let of = |(b, (fit, moves)): (usize, &Solved)| {
        let keys = moves.iter().zip(&fit.documents).map(|(&moves, &i)| (moves, b, i));
        keys.collect::<Vec<_>>()
    };
    largest(fits.iter().enumerate().flat_map(of).collect(), size, vec![false; fits.len()])
}

/// The documents of each block with the largest keys, so many in all; first the best of each block that is not served.
fn largest(mut keys: Vec<(f64, usize, u32)>, size: usize, mut served: Vec<bool>) -> Vec<Vec<u32>> {
    let mut chosen = vec![vec![]; served.len()];
    keys.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
    let (first, rest): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|&(_, b, _)| !std::mem::replace(&mut served[b], true));
    first.into_iter().chain(rest).take(size).for_each(|(_, b, i)| chosen[b].push(i));
    chosen
}

/// A budget in even shares, where none is larger than its block.
fn shares(sizes: &[usize], m: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&b| sizes[b]);
    let (mut shares, mut left) = (vec![0; sizes.len()], m);
    for (at, &b) in order.iter().enumerate() {
        // what is left over goes to the larger ones
        shares[b] = sizes[b].min(left / (sizes.len() - at));
        left -= shares[b];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Form;
    use crate::matrix::dot;
    use crate::traits::{Risk, Scorer};

    const RBF: Kernel = Kernel { form: Form::Rbf, gamma: 0.5 };
    const LINEAR: Kernel = Kernel { form: Form::Linear, gamma: 1.0 };

    struct Made {
        docs: Vec<f32>,
        grades: Vec<f64>,
        lists: usize,
    }

    /// Documents on a plane with some noise; the grade is higher near a ring.
    fn made(seed: u64, n: usize, d: usize, lists: usize) -> Made {
        let mut random = Random::new(seed);
        let docs: Vec<f32> = (0..n * d).map(|_| random.normal() as f32).collect();
        let grades = docs
            .chunks_exact(d)
            .map(|x| {
                let radius = x.iter().take(2).map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
                (2.5 - 2.0 * (radius - 1.0).abs() + 0.3 * random.normal()).floor().clamp(0.0, 2.0)
            })
            .collect();
        Made { docs, grades, lists }
    }

    impl Made {
        fn block(&self) -> Block<'_> {
            let (n, count) = (self.grades.len(), self.lists);
            let lists: Vec<Range<usize>> = (0..count).map(|q| q * n / count..(q + 1) * n / count).collect();
            let loss = PairHinge::new(lists.iter().map(|list| &self.grades[list.clone()]), None);
            let weight = (0..count).map(|q| 1.0 / (count as f64 * loss.pairs(q).0.max(1.0))).collect();
            let (docs, d) = (&self.docs[..], self.docs.len() / n);
            Block { docs, d, lists, grades: &self.grades, weight, of_documents: None, given: None }
        }
    }

    fn how(kernel: Kernel, lambda: f64) -> Fitting<'static> {
        Fitting { kernel, lambda, tol: 1e-6, max_iter: 100, watch: &Watch::NOBODY, kept: false, hinge: false }
    }

    fn whole(block: &Block, how: &Fitting) -> CoreFit {
        exact(block, &Gram::new(&how.kernel, block.docs, block.d), how, None).unwrap()
    }

    fn kernel_of(block: &Block, kernel: &Kernel) -> Vec<Vec<f64>> {
        let all = 0..block.len() as u32;
        all.clone().map(|i| all.clone().map(|j| kernel.of(block.doc(i), block.doc(j))).collect()).collect()
    }

    fn times(k: &[Vec<f64>], beta: &[f64]) -> Vec<f64> {
        k.iter().map(|row| dot(row, beta)).collect()
    }

    fn dense(fit: &CoreFit) -> Vec<f64> {
        let mut beta = vec![0.0; fit.scores.len()];
        fit.documents.iter().zip(&fit.coefficients).for_each(|(&i, &b)| beta[i as usize] = b);
        beta
    }

    fn objective(blocks: &[Block], fits: &[CoreFit], how: &Fitting) -> f64 {
        let of = |(block, fit): (&Block, &CoreFit)| {
            let beta = dense(fit);
            let scores = times(&kernel_of(block, &how.kernel), &beta);
            block.losses(&scores).unwrap().0 + 0.5 * how.lambda * dot(&beta, &scores)
        };
        blocks.iter().zip(fits).map(of).sum()
    }

    /// Value, slope and second derivative, pair by pair.
    fn slow(block: &Block, f: &[f64]) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
        let n = f.len();
        let (mut value, mut d, mut h) = (0.0, vec![0.0; n], vec![vec![0.0; n]; n]);
        for (list, &w) in block.lists.iter().zip(&block.weight) {
            for i in list.clone() {
                for j in list.clone() {
                    let slack = 1.0 - f[i] + f[j];
                    if block.grades[i] > block.grades[j] && slack > 0.0 {
                        value += 0.5 * w * slack * slack;
                        d[i] -= w * slack;
                        d[j] += w * slack;
                        for (a, b, sign) in [(i, i, w), (j, j, w), (i, j, -w), (j, i, -w)] {
                            h[a][b] += sign;
                        }
                    }
                }
            }
        }
        (value, d, h)
    }

    /// Newton's method on β in double precision: `(λ + H K) p = −(λβ + d)` by elimination.
    fn slow_minimum(block: &Block, kernel: &Kernel, lambda: f64) -> (f64, Vec<f64>) {
        let (n, k) = (block.len(), kernel_of(block, kernel));
        let value = |beta: &[f64]| {
            let f = times(&k, beta);
            slow(block, &f).0 + 0.5 * lambda * dot(beta, &f)
        };
        let mut beta = vec![0.0; n];
        for _ in 0..100 {
            let (_, d, h) = slow(block, &times(&k, &beta));
            let mut a: Vec<Vec<f64>> = (0..n)
                .map(|i| {
                    let mut row: Vec<f64> = (0..n).map(|j| (0..n).map(|l| h[i][l] * k[l][j]).sum()).collect();
                    row[i] += lambda;
                    row.push(-lambda * beta[i] - d[i]);
                    row
                })
                .collect();
            for c in 0..n {
                let pivot = (c..n).max_by(|&x, &y| a[x][c].abs().total_cmp(&a[y][c].abs())).unwrap();
                a.swap(c, pivot);
                for i in (0..n).filter(|&i| i != c) {
                    let share = a[i][c] / a[c][c];
                    (c..=n).for_each(|j| a[i][j] -= share * a[c][j]);
                }
            }
            let step: Vec<f64> = (0..n).map(|i| a[i][n] / a[i][i]).collect();
            let (now, mut length) = (value(&beta), 1.0);
            let next = loop {
                let next: Vec<f64> = beta.iter().zip(&step).map(|(b, p)| b + length * p).collect();
                if value(&next) <= now || length < 1e-6 {
                    break next;
                }
                length *= 0.5;
            };
            let done = value(&next) >= now * (1.0 - 1e-14);
            beta = next;
            if done {
                break;
            }
        }
        (value(&beta), beta)
    }

    fn near(a: f64, b: f64, share: f64) -> bool {
        (a - b).abs() <= share * b.abs().max(1e-12)
    }

    #[test]
    fn exact_is_the_minimum_over_all_pairs() {
        for seed in 0..12 {
            let set = made(seed, 12 + 3 * seed as usize, 1 + seed as usize % 4, 1 + seed as usize % 3);
            let (block, lambda) = (set.block(), [1.0, 0.1, 0.01][seed as usize % 3]);
            let kernel = [RBF, Kernel { form: Form::Laplace, gamma: 0.4 }, LINEAR][seed as usize / 3 % 3];
            let how = how(kernel, lambda);
            let fit = whole(&block, &how);
            let (truth, _) = slow_minimum(&block, &kernel, lambda);
            let own = objective(&[set.block()], std::slice::from_ref(&fit), &how);
            assert!(near(own, truth, 1e-6), "{seed}: {own} {truth}");
            assert!(near(fit.report.objective, truth, 1e-6), "{seed}: {} {truth}", fit.report.objective);
            // the gradient λF + K d in function space
            let k = kernel_of(&block, &kernel);
            let norm = |g: &[f64]| dot(g, &times(&k, g)).max(0.0).sqrt();
            let at = |beta: &[f64]| {
                let d = block.losses(&times(&k, beta)).unwrap().1;
                norm(&d.iter().zip(beta).map(|(d, b)| d + lambda * b).collect::<Vec<f64>>())
            };
            // what the rounded matrix does not see of it, √1e-7 of its length, stays
            let (rest, zero) = (at(&dense(&fit)), at(&vec![0.0; block.len()]));
            assert!(rest <= 1e-3 * zero, "{seed}: {rest} {zero}");
            // from another λ
            let other = whole(&block, &Fitting { lambda: 3.0 * lambda, ..how });
            let gram = Gram::new(&kernel, block.docs, block.d);
            let again = exact(&block, &gram, &how, Some(&other)).unwrap();
            assert!(near(again.report.objective, truth, 1e-6));
            assert!(again.report.iterations <= fit.report.iterations + 1);
        }
    }

    #[test]
    fn a_linear_kernel_is_the_linear_machine() {
        let set = made(7, 120, 5, 4);
        let block = set.block();
        let fit = whole(&block, &how(LINEAR, 0.05));
        let features = Features::Dense(Matrix::new(set.docs.clone(), 5));
        let bounds: Vec<usize> = (0..5).map(|q| q * 30).collect();
        let units = [0, 1, 2, 3];
        let rows = Rows::new(Groups::new(&features, &bounds), &units, &Scaling::None);
        let loss = block.loss();
        let mut risk = Empirical::new(&rows, &loss, block.weight.clone());
        let mut newton = Newton::new(&mut risk, 0.05, 1e-8, vec![0.0; 5], Memory::default()).unwrap();
        let report = run(&mut newton, 100, 0, &Watch::NOBODY).unwrap();
        assert!(near(fit.report.objective, report.objective, 1e-6));
        for (i, s) in fit.scores.iter().enumerate() {
            let truth = dot_row(&set.docs[i * 5..i * 5 + 5], newton.theta());
            assert!((s - truth).abs() < 1e-4, "{s} {truth}");
        }
    }

    #[test]
    fn a_core_of_all_is_exact() {
        for seed in 0..6 {
            let set = made(20 + seed, 60, 3, 1 + seed as usize % 3);
            let (block, how) = (set.block(), how([RBF, LINEAR][seed as usize % 2], 0.02));
            let all: Vec<u32> = (0..60).collect();
            let (fit, truth) = (restricted(&block, &all, &how, None).unwrap(), whole(&block, &how));
            assert!(near(fit.report.objective, truth.report.objective, 1e-5));
            let scores = times(&kernel_of(&block, &how.kernel), &dense(&fit));
            for ((a, b), c) in fit.scores.iter().zip(&scores).zip(&truth.scores) {
                assert!((a - b).abs() < 1e-4 && (a - c).abs() < 1e-2, "{a} {b} {c}");
            }
            let warm = restricted(&block, &all, &how, Some(&truth)).unwrap();
            assert!(near(warm.report.objective, truth.report.objective, 1e-5) && warm.report.iterations <= 3);
            for choose in [Choose::Dual, Choose::Random, Choose::Cholesky] {
                let fits = budget(&[set.block()], 60, choose, &how, seed).unwrap();
                assert_eq!(fits, std::slice::from_ref(&truth));
            }
        }
    }

    #[test]
    fn a_course_over_lambdas_is_a_fit_at_each() {
        for seed in 0..6 {
            let set = made(40 + seed, 90, 3, 1 + seed as usize % 3);
            let block = set.block();
            let form = [Form::Rbf, Form::Laplace, Form::Poly { degree: 2, coef0: 1.0 }][seed as usize % 3];
            let landmarks = Landmarks::new(&block, &Kernel { form, gamma: 1.0 }, 25).unwrap();
            assert!(landmarks.documents.len() == 25 && landmarks.documents.windows(2).all(|two| two[0] < two[1]));
            for gamma in [0.1, 0.7] {
                let how = how(Kernel { form, gamma }, 1.0);
                let mut course = landmarks.course(&block, &how).unwrap();
                for lambda in [1.0, 0.1, 1e-2, 1e-3] {
                    let how = Fitting { lambda, ..how };
                    let (fit, by_landmark) = course.go(&how, &landmarks).unwrap();
                    let truth = restricted(&block, &landmarks.documents, &how, None).unwrap();
                    assert!(near(fit.report.objective, truth.report.objective, 1e-5), "{form:?} {gamma} {lambda}");
                    // scores by landmark are those of the fit
                    let near_by = apart(&how.kernel, &set.docs, &landmarks.docs, 3);
                    for (row, truth) in near_by.chunks_exact(25).zip(&truth.scores) {
                        let mut row = row.to_vec();
                        how.kernel.of_apart(&mut row);
                        assert!((dot_row(&row, &by_landmark) - truth).abs() < 1e-2, "{form:?} {gamma} {lambda}");
                    }
                }
            }
        }
    }

    /// Where products with the Hessian take long it is written out, and exact fits go through stronger ridges: the minimum is the same.
    #[test]
    fn weak_ridges_end_at_the_minimum() {
        let set = made(60, 260, 6, 8);
        let (block, all) = (set.block(), (0..260).collect::<Vec<u32>>());
        for lambda in [1e-3, 1e-5] {
            let how = Fitting { max_iter: 1000, ..how(RBF, lambda) };
            let (slow, fit) = (slow_minimum(&block, &RBF, lambda).0, restricted(&block, &all, &how, None).unwrap());
            assert!(fit.documents.len() > 200, "{}", fit.documents.len());
            let exact = whole(&block, &how).report.objective;
            let own = fit.report.objective;
            assert!(near(own, slow, 1e-3) && near(exact, slow, 1e-3), "{lambda}: {own} {exact} {slow}");
        }
    }

    #[test]
    fn more_core_documents_never_cost() {
        let set = made(3, 200, 3, 2);
        let (block, how) = (set.block(), how(RBF, 1e-3));
        let mut order: Vec<u32> = (0..200).collect();
        Random::new(5).shuffle(&mut order);
        let mut last: Option<CoreFit> = None;
        for size in [0, 1, 2, 5, 10, 20, 50, 100, 200] {
            let fit = restricted(&block, &order[..size], &how, last.as_ref()).unwrap();
            if let Some(last) = &last {
                assert!(fit.report.objective <= last.report.objective * (1.0 + 1e-6), "{size}");
            }
            assert!(near(objective(&[set.block()], std::slice::from_ref(&fit), &how), fit.report.objective, 1e-4));
            last = Some(fit);
        }
        assert!(near(last.unwrap().report.objective, whole(&block, &how).report.objective, 1e-5));
    }

    #[test]
    fn budgets_are_kept_and_shared() {
        let sets: Vec<Made> = (0..4).map(|b| made(30 + b, 40 + 20 * b as usize, 3, 1 + usize::from(b == 2))).collect();
        let how = how(RBF, 1e-3);
        for m in [0, 1, 3, 4, 7, 30, 150, 279, 280] {
            for choose in [Choose::Dual, Choose::Random, Choose::Cholesky] {
                let blocks: Vec<Block> = sets.iter().map(Made::block).collect();
                let fits = budget(&blocks, m, choose, &how, 9).unwrap();
                let sizes: Vec<usize> = fits.iter().map(|fit| fit.documents.len()).collect();
                assert!(sizes.iter().sum::<usize>() <= m, "{choose:?} {m}: {sizes:?}");
                assert!(m < 4 || sizes.iter().all(|&size| size > 0), "{choose:?} {m}: {sizes:?}");
                assert!(m > 150 || sizes.iter().sum::<usize>() == m, "{choose:?} {m}: {sizes:?}");
                for (block, fit) in blocks.iter().zip(&fits) {
                    assert!(fit.scores.len() == block.len() && fit.scores.iter().all(|s| s.is_finite()));
                    assert!(!fit.documents.is_empty() || fit.scores.iter().all(|s| *s == 0.0));
                    assert!(fit.documents.windows(2).all(|pair| pair[0] < pair[1]));
                }
            }
        }
        assert_eq!(shares(&[5, 100, 100], 50), [5, 22, 23]);
        assert_eq!(shares(&[5, 5], 50), [5, 5]);
    }

    #[test]
    fn dual_weights_beat_chance() {
        let (mut dual, mut random, mut pivots, mut floor) = (0.0, 0.0, 0.0, 0.0);
        for seed in 0..8 {
            let sets = [made(50 + seed, 150, 4, 1), made(70 + seed, 100, 4, 2)];
            let blocks: Vec<Block> = sets.iter().map(Made::block).collect();
            let how = how(Kernel { form: Form::Rbf, gamma: 0.2 }, 1e-3);
            let of = |choose, m| objective(&blocks, &budget(&blocks, m, choose, &how, seed).unwrap(), &how);
            dual += of(Choose::Dual, 30);
            random += of(Choose::Random, 30);
            pivots += of(Choose::Cholesky, 30);
            floor += of(Choose::Dual, 250);
        }
        assert!(floor < dual && dual < 0.9 * random, "{floor} {dual} {random} {pivots}");
    }

    #[test]
    fn slopes_agree_with_differences() {
        let set = made(4, 40, 3, 3);
        let block = set.block();
        let gram = Gram::new(&RBF, &set.docs, 3);
        let (rows, loss) = (KernelRows::new(&gram, &block.lists), block.loss());
        let mut risk = Empirical::new(&rows, &loss, block.weight.clone());
        let mut random = Random::new(8);
        let mut vector = |scale: f64| {
            let few: Vec<(u32, f64)> = (0..40).map(|i| (i, scale * random.normal())).collect();
            let mut theta = vec![0.0; 80];
            few.iter().for_each(|&(i, x)| theta[i as usize] = x);
            gram.add_rows(&few, &mut theta[40..]);
            theta
        };
        for _ in 0..20 {
            let (theta, way) = (vector(0.3), vector(1.0));
            let (mut grad, mut up, mut down) = (vec![0.0; 80], vec![0.0; 80], vec![0.0; 80]);
            let at = |t: f64| theta.iter().zip(&way).map(|(a, b)| a + t * b).collect::<Vec<f64>>();
            let h = 1e-5;
            let rise = (risk.value(&at(h), &mut up).unwrap() - risk.value(&at(-h), &mut down).unwrap()) / (2.0 * h);
            risk.value(&theta, &mut grad).unwrap();
            assert!((risk.dot(&grad, &way) - rise).abs() < 1e-6 * (1.0 + rise.abs()));
            // the gradient carries its image
            let mut image = vec![0.0; 40];
            let few: Vec<(u32, f64)> = (0..40).map(|i| (i, grad[i as usize])).collect();
            gram.add_rows(&few, &mut image);
            assert!(image.iter().zip(&grad[40..]).all(|(a, b)| (a - b).abs() < 1e-12));
            // and so does a product with the second derivative
            let mut product = vec![0.0; 80];
            assert!(risk.curvature(&theta, &way, &mut product).unwrap());
            let bend = (risk.dot(&up, &way) - risk.dot(&down, &way)) / (2.0 * h);
            assert!((rows.dot(&product, &way) - bend).abs() < 1e-2 * (1.0 + bend.abs()));
        }
    }

    #[test]
    fn documents_that_tell_nothing_do_no_harm() {
        let mut twice = made(5, 40, 3, 2);
        twice.docs.copy_within(0..60, 60); // all documents of the first list again in the second
        let mut same = made(6, 30, 3, 1);
        same.docs.fill(1.0);
        let mut zero = made(6, 30, 3, 1);
        zero.docs.fill(0.0);
        let mut flat = made(6, 30, 3, 1);
        flat.grades.fill(1.0);
        let far = Made { docs: (0..90).map(|i| i as f32 * 1e3).collect(), ..made(6, 30, 3, 1) };
        for set in [&twice, &same, &zero, &flat, &far] {
            for kernel in [RBF, LINEAR, Kernel { form: Form::Poly { degree: 2, coef0: 0.0 }, gamma: 0.1 }] {
                let how = how(kernel, 1e-4);
                let all: Vec<u32> = (0..set.grades.len() as u32).collect();
                let mut fits = vec![whole(&set.block(), &how), restricted(&set.block(), &all, &how, None).unwrap()];
                for choose in [Choose::Dual, Choose::Random, Choose::Cholesky] {
                    fits.extend(budget(&[set.block(), twice.block()], 20, choose, &how, 1).unwrap());
                }
                for fit in fits {
                    let numbers = fit.scores.iter().chain(&fit.coefficients).chain([&fit.report.objective]);
                    assert!(numbers.into_iter().all(|x| x.is_finite()), "{kernel:?} {:?}", fit.report);
                }
            }
        }
        // lists with nothing in them, and none
        let mut block = twice.block();
        (block.lists, block.weight) = (vec![3..3, 5..5], vec![1.0; 2]);
        assert!(whole(&block, &how(RBF, 0.1)).documents.is_empty());
        (block.lists, block.weight) = (vec![], vec![]);
        assert!(restricted(&block, &[1, 2], &how(RBF, 0.1), None).unwrap().scores.iter().all(|s| *s == 0.0));
        assert!(budget(&[block], 3, Choose::Dual, &how(RBF, 0.1), 1).unwrap()[0].documents.is_empty());
        assert!(budget(&[], 3, Choose::Dual, &how(RBF, 0.1), 1).unwrap().is_empty());
    }

    #[test]
    fn threads_change_nothing() {
        let sets = [made(1, 900, 3, 1), made(2, 300, 3, 5)];
        let how = Fitting { tol: 1e-4, ..how(RBF, 1e-3) };
        let of = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let blocks: Vec<Block> = sets.iter().map(Made::block).collect();
                let mut fits = budget(&blocks, 60, Choose::Dual, &how, 3).unwrap();
                fits.extend(blocks.iter().map(|block| whole(block, &how)));
                fits
            })
        };
        assert_eq!(of(1), of(2));
    }
}
