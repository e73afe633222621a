//! Damaged tables with texts, values, dates, vectors and paths of pictures in their cells.

use super::links::tables;
use super::plain;
use super::suite::{Suite, ensure};
use ordain::data::pictures::{read_picture, write_grey};
use ordain::data::{Input, RankReading, Roles, read_rank};
use ordain::features::Steps;
use ordain::picture::{Grey, colour};
use ordain::{Error, Result};
use std::fs;
use std::path::Path;

const INPUTS: [&str; 7] = [
    "price:number",
    "title:text[words=2,letters=3,most=12]",
    "country:category[most=2]",
    "born:date",
    "emb:vector",
    "a,b:vectors",
    "photo:image[colour=8,shares=0]",
];

const TABLE: &str = "label,qid,docid,price,title,country,born,emb,a,b,photo
2,q0,d0,1.5,\"Red shoe, new\",FR,1975-12-03,1 2.5,0 1,1 0,black.png
0,q0,d1,-2,blue Shoe,DE,19800229,[0 -1],1 1,2 2,white.png
1,q0,d2,0,\u{dc}ber-Gr\u{f6}\u{df}e,FR,3.12.1999,\"[3, 4]\",,1 2,
0,q1,d0,7e-1,,IT,,,.5 2,,./white.png
3,q1,d1,12,the red sea_horse,(other),12/31/2001,5;6,0 0,1 5,black.png
1,q1,d2,3,Shoe shoe SHOE,,2024-01-05T08:00,1e1 0,3 3,3 3,white.png
";

/// What the columns say after the steps that they teach.
pub(crate) fn damaged_inputs(suite: &mut Suite, inputs: usize) {
    let kinds: Vec<Input> = INPUTS.iter().map(|input| input.parse().expect("an input")).collect();
    for (name, side, brightness) in [("black.png", 2, 0.0), ("white.png", 3, 255.0)] {
        let plane = Grey::new(side, 1, vec![brightness; side]).expect("a plane");
        write_grey(&plane, &suite.path(name)).expect("a picture");
    }
    let folder = suite.folder.path().to_path_buf();
    let place = |cell: &str| fs::canonicalize(folder.join(cell)).ok();
    let known = ["black.png", "white.png"].map(|name| {
        let picture = read_picture(&folder.join(name)).expect("a picture");
        (place(name), colour::histogram(&picture, 8).iter().map(|&n| n as f32).collect::<Vec<f32>>())
    });
    let picture = |cell: &str| known.iter().find(|(own, _)| *own == place(cell)).map(|(_, row)| row.clone());
    let read = |path: &Path| -> Result<_> {
        let roles = Roles { inputs: kinds.clone(), ..Roles::default() };
        let (mut set, _) = read_rank(&[vec![path.to_path_buf()]], &RankReading { roles, ..RankReading::default() })?;
        let steps = Steps::learn(&set, &set.all());
        steps.and_then(|steps| steps.apply(&mut set)).map_err(|error| match error {
            // they do not know which table it is
            Error::Data { expected, found } => Error::Content { path: path.into(), expected, found },
            other => other,
        })?;
        Ok(set)
    };
    tables(suite, inputs, (89, "inputs.csv", TABLE), read, |set, text| {
        let Some((names, rows)) = plain::inputs::table(text, &kinds, picture) else {
            return Err(("what is wrong was read".into(), format!("{:?}", set.columns.names)));
        };
        ensure!(set.columns.names == names, "other columns", "{:?}, not {names:?}", set.columns.names);
        plain::same(set, &rows)
    });
}
