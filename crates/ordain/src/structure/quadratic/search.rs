//! The search: iterated 2-opt, then robust tabu search from the best that it found.

use super::table::Table;
use super::{Clock, Limit, Problem, Settings};
use crate::error::{Interrupt, Result};
use crate::random::Random;

/// Items that the least kick of iterated 2-opt moves.
const KICK: usize = 3;
/// Kicks in vain, times the number of items, after which iterated 2-opt starts anew.
const VAIN: usize = 5;
/// Tabu search makes a move that was not made for so many times n² steps.
const LONG: f64 = 5.0;

/// The best places of items, and the number of exchanges.
pub(super) fn search(problem: &Problem, settings: &Settings, bound: f64, clock: &Clock) -> Result<(Vec<u32>, u64)> {
    let mut random = Random::new(settings.seed);
    let mut places: Vec<u32> = (0..problem.n as u32).collect();
    random.shuffle(&mut places);
    let until = clock.until(1.0);
    let Some(table) = clock.go_on(Table::new(problem, places.clone(), &until).map(Some), None)? else {
        return Ok((places, 0));
    };
    // half of what the bound has left
    let (half, most) = match settings.limit {
        Limit::Steps(steps) => (steps / 2, steps),
        Limit::Seconds(_) => (u64::MAX, u64::MAX),
    };
    let mut search = Search {
        problem,
        goal: bound + 0.5 * problem.near(),
        noise: problem.slack(),
        best: table.value,
        places,
        table,
        random,
        steps: 0,
        most: half,
        until: clock.until(0.5 + 0.5 * clock.share()),
    };
    let done = search.iterate();
    clock.go_on(done, ())?;
    (search.most, search.until) = (most, until);
    let done = search.tabu();
    clock.go_on(done, ())?;
    Ok((search.places, search.steps))
}

struct Search<'a> {
    problem: &'a Problem,
    /// A value that is as good as the bound.
    goal: f64,
    /// A change of no more than this may be rounding.
    noise: f64,
    table: Table<'a>,
    /// The best value so far and its places.
    best: f64,
    places: Vec<u32>,
    random: Random,
    steps: u64,
    /// Steps after which this half ends.
    most: u64,
    until: Interrupt,
}

impl Search<'_> {
    fn over(&self) -> bool {
        self.steps >= self.most || self.best <= self.goal
    }

    /// One step.
    fn exchange(&mut self, u: usize, v: usize) -> Result<()> {
        self.until.check()?;
        self.steps += 1;
        self.table.exchange(u.min(v), u.max(v), &self.until)?;
        if self.table.value < self.best - self.noise {
            self.best = self.table.value;
            self.places.copy_from_slice(&self.table.places);
        }
        Ok(())
    }

    /// 2-opt: the best exchange, until none pays.
    fn descend(&mut self) -> Result<()> {
        while let Some((delta, u, v)) = self.table.best_exchange()
            && delta < -self.noise
            && !self.over()
        {
            self.exchange(u, v)?;
        }
        Ok(())
    }

    /// Random items move round in a ring.
    fn kick(&mut self, many: usize, items: &mut [usize]) -> Result<()> {
        for k in 0..many {
            items.swap(k, k + self.random.below(items.len() - k));
        }
        for k in 1..many {
            if self.over() {
                break;
            }
            self.exchange(items[0], items[k])?;
        }
        Ok(())
    }

    /// Iterated 2-opt: a kick, 2-opt again, and back where that is worse. Kicks grow up to half of the items as long as they are in vain.
    fn iterate(&mut self) -> Result<()> {
        let n = self.problem.n;
        let (least, most) = (KICK.min(n), (n / 2).max(KICK.min(n)));
        let mut items: Vec<usize> = (0..n).collect();
        self.descend()?;
        let mut kept = self.table.clone();
        let (mut many, mut vain) = (least, 0);
        while !self.over() {
            self.kick(many, &mut items)?;
            self.descend()?;
            if self.table.value < kept.value - self.noise {
                (many, vain) = (least, 0);
            } else {
                many = if many < most { many + 1 } else { least };
                vain += 1;
            }
            if vain > VAIN * n {
                self.kick(n, &mut items)?;
                self.descend()?;
                (many, vain) = (least, 0);
                kept.copy(&self.table);
            } else if self.table.value <= kept.value + self.noise {
                kept.copy(&self.table);
            } else {
                self.table.copy(&kept);
            }
        }
        Ok(())
    }

    /// Robust tabu search: always the best exchange that is not forbidden, better or worse. An item may not go back to the place that it left for some .9 n to
    /// 1.1 n steps, unless a new best value waits there; an exchange with a move that nobody made for 5 n² steps goes first.
    fn tabu(&mut self) -> Result<()> {
        let n = self.problem.n;
        if self.over() {
            return Ok(());
        }
        self.table = Table::new(self.problem, self.places.clone(), &self.until)?;
        // the step until which item i may not go to the place of item j, and the lesser of both for an exchange; at first all different
        let mut closed: Vec<f64> = (0..n * n).map(|at| -(at as f64)).collect();
        let mut until = vec![0.0; n * n];
        for r in 0..n {
            (r + 1..n).for_each(|s| until[r * n + s] = closed[r * n + s].min(closed[s * n + r]));
        }
        let (mut now, long) = (0.0, LONG * (n * n) as f64);
        while !self.over() {
            now += 1.0;
            let (u, v) = match self.table.choose(&until, now, now - long, self.best - self.noise) {
                Some(pair) => pair,
                None => (0, 1 + self.random.below(n - 1)),
            };
            self.exchange(u, v)?;
            closed.chunks_exact_mut(n).for_each(|row| row.swap(u, v));
            for (item, other) in [(u, v), (v, u)] {
                closed[item * n + other] = now + (n as f64 * (0.9 + 0.2 * self.random.uniform())).floor();
            }
            for t in [u, v] {
                for s in (0..n).filter(|&s| s != t) {
                    until[t.min(s) * n + t.max(s)] = closed[t * n + s].min(closed[s * n + t]);
                }
            }
        }
        Ok(())
    }
}
