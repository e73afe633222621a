//! Five of eight toppings: two of them, cheese and chili, change how well the others go together.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::structure::star::{Clamp, MaxWork, Star, Subsets};

const NAMES: [&str; 8] = ["cheese", "chili", "ham", "pineapple", "olives", "spinach", "tuna", "corn"];

fn named(labels: &[u32]) -> String {
    labels.iter().map(|&i| NAMES[i as usize]).collect::<Vec<_>>().join(", ")
}

fn main() -> ordain::Result<()> {
    let scores = [1.0, 0.2, 0.8, 0.1, 0.6, 0.5, 0.7, 0.4];
    // a row of links per core label: cheese and tuna quarrel, chili lifts pineapple and corn
    #[rustfmt::skip]
    let links = [
        0.0, 0.1, 0.4,  0.0, 0.1, 0.3, -1.2, 0.0,
        0.0, 0.0, 0.0,  0.9, 0.0, 0.0,  0.0, 0.5,
    ];
    let star = Star::new(NAMES.len(), &[0, 1], &links)?;
    let over = Subsets { k: 5, clamp: &[] };
    let (mut work, mut set) = (MaxWork::default(), vec![]);

    let value = star.max(&scores, &over, &mut work, &mut set)?;
    println!("best            {value:.2}  {}", named(&set));

    let (best, next) = star.two_best(&scores, &over, &mut work)?;
    if let Some(next) = next {
        println!("second          {:.2}  {}", next.value, named(&next.labels));
        println!("between them    {:.2}", best.value - next.value);
    }

    let mut clamp = [Clamp::Free; 8];
    (clamp[1], clamp[6]) = (Clamp::Out, Clamp::In);
    let value = star.max(&scores, &Subsets { k: 5, clamp: &clamp }, &mut work, &mut set)?;
    println!("tuna, no chili  {value:.2}  {}", named(&set));

    println!("\n{:<10} {:>6} {:>6} {:>6}", "", "in", "out", "gain");
    let forced = star.forced(&scores, &over, &mut work)?;
    for ((name, inside), outside) in NAMES.iter().zip(&forced.inside).zip(&forced.outside) {
        println!("{name:<10} {inside:>6.2} {outside:>6.2} {:>6.2}", inside - outside);
    }
    Ok(())
}
