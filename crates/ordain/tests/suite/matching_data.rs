//! Problems of matching as people have them: tables of edges, points, pairs of frames, and what is written and read again.
#![allow(clippy::unwrap_used, clippy::float_cmp)] // a test may panic, and values that are read are exact
#![allow(clippy::single_range_in_vec_init)] // a list of one range is meant

use ordain::data::synthetic::{Linkage, Silhouettes};
use ordain::data::{
    Columns, MatchReading, MatchSet, Missing, PointFeature, Problem, Split, Truth, delaunay, delaunay_degrees,
    is_matches, mean_distance, normalised, read_contours, read_match_splits, read_matches, shape_contexts,
    write_contexts, write_matches, write_whole,
};
use ordain::matrix::{Features, Matrix};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn file(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    write_whole(&path, |out| out.write_all(text.as_bytes())).unwrap();
    path
}

fn one(path: &Path, reading: &MatchReading) -> ordain::Result<MatchSet> {
    Ok(read_matches(&[vec![path.into()]], reading)?.0)
}

fn from(name: &str, text: &str) -> ordain::Result<MatchSet> {
    let dir = tempfile::tempdir().unwrap();
    one(&file(&dir, name, text), &MatchReading::default())
}

/// The refusal of a set, from the name of the file on; the second file is the pairs.
fn refusal(text: &str, pairs: Option<&str>, reading: &MatchReading) -> String {
    let dir = tempfile::tempdir().unwrap();
    let pairs = pairs.map(|text| file(&dir, "pairs.csv", text));
    let reading = MatchReading { pairs, ..reading.clone() };
    let error = one(&file(&dir, "a.csv", text), &reading).unwrap_err().to_string();
    error.replace(&format!("{}/", dir.path().display()), "")
}

fn row(set: &MatchSet, i: usize) -> Vec<f32> {
    (0..set.features.cols()).map(|j| set.features.value(i, j)).collect()
}

const TABLE: &str = "problem,left,right,likeness,gap,matched\n\
                     p,b,y,0.5,1,0\nq,1,1,0.25,2,\np,a,x,0.9,3,1\np,b,x,-1e-3,4,0.0\nq,2,1,7,5,1.0\np,a,z,0,6,\n";

#[test]
fn a_table_of_edges() {
    let set = from("a.csv", TABLE).unwrap();
    assert_eq!(set.columns, Columns::named(vec!["likeness".into(), "gap".into()]));
    let p = set.problem(0);
    // items by first appearance, edges by (left, right), features with them
    assert_eq!((p.name.as_str(), p.left.join(""), p.right.join("")), ("p", "ba".into(), "yxz".into()));
    assert_eq!(p.edges, [(0, 0), (0, 1), (1, 1), (1, 2)]);
    assert_eq!(p.truth, [Truth::No, Truth::No, Truth::Yes, Truth::Unknown]);
    assert_eq!((0..6).map(|i| row(&set, i)[1]).collect::<Vec<_>>(), [1.0, 4.0, 3.0, 6.0, 2.0, 5.0]);
    assert_eq!((row(&set, 1)[0], set.span(1)), (-1e-3, 4..6));
    assert_eq!(set.problem(1).truth, [Truth::Unknown, Truth::Yes]);
    assert!(set.labelled() && !p.is_known() && p.places.is_none());
    // CRLF, a byte order mark, tabs, packed, no final newline: the same
    for (name, text) in [
        ("a.csv", TABLE.replace('\n', "\r\n")),
        ("a.csv", format!("\u{feff}{TABLE}")),
        ("a.csv", TABLE.trim_end().to_owned()),
        ("a.tsv", TABLE.replace(',', "\t")),
        ("a.csv.gz", TABLE.to_owned()),
        ("A.CSV.zst", TABLE.to_owned()),
        ("a.csv", TABLE.replace("problem,left", "Problem, LEFT ")),
    ] {
        assert_eq!(from(name, &text).unwrap(), set, "{name}");
    }
    // other columns first, ids with commas and quotes, no problems, nothing known
    let set = from("a.csv", "x,right,left\n1,\"a, \"\"b\"\"\",é\n").unwrap();
    let p = set.problem(0);
    assert_eq!((p.name.as_str(), p.left[0].as_str(), p.right[0].as_str()), ("1", "é", "a, \"b\""));
    assert!(!set.labelled());
    assert!(from("a.csv", "left,right,1,2\na,b,0,1\n").unwrap().columns.numbered);
}

#[test]
fn refusals_of_a_table_name_the_place() {
    let head = "problem,left,right,x,matched\n";
    for (rows, expected) in [
        ("p,a,b,1,2\n", "2:5: expected 1, 0, or nothing where it is not known, found \"2\" in column \"matched\""),
        ("p,a,b,1,yes\n", "2:5: expected 1, 0, or nothing where it is not known, found \"yes\" in column \"matched\""),
        ("p,a,b,1,1\np,,b,1,1\n", "3:2: expected the id of a left item, found \"\" in column \"left\""),
        ("p,a, ,1,1\n", "2:3: expected the id of a right item, found \" \" in column \"right\""),
        (",a,b,1,1\n", "2:1: expected the name of a problem, found \"\" in column \"problem\""),
        (
            "p,a,b,blue,1\n",
            "2:4: expected a finite number, found \"blue\" in column \"x\"; ignore=x leaves the column out",
        ),
        ("p,a,b,,1\n", "2:4: expected a value, found \"\" in column \"x\"; missing=zero or missing=mean allows gaps"),
        (
            "p,a,b,1,1\n\nq,a,b,1,1\np,a,b,2,0\n",
            "5:1: expected each edge of problem \"p\" once, found \"a\" - \"b\" again; the first is on line 2",
        ),
        (
            "p,a,b,1,1\np,c,d,1,0\np,a,d,1,1\n",
            "4:1: expected at most one match of an item in problem \"p\", found a second one of the left item \"a\"; the first is on line 2",
        ),
        (
            "p,c,b,1,1\np,a,b,1,1\n",
            "3:1: expected at most one match of an item in problem \"p\", found a second one of the right item \"b\"; the first is on line 2",
        ),
        ("p,a,b,1\n", "2:1: expected 5 fields, as in the header, found 4"),
    ] {
        assert_eq!(refusal(&format!("{head}{rows}"), None, &MatchReading::default()), format!("a.csv:{expected}"));
    }
    let plain = |text: &str| refusal(text, None, &MatchReading::default());
    assert_eq!(plain(head), "a.csv: expected edges, found none");
    assert_eq!(plain("left,right\na,b\n"), "a.csv: expected features, found edges without any");
    assert_eq!(plain("left,right,x,x\na,b,1,1\n"), "a.csv: expected each column name once, found \"x\" twice");
    assert_eq!(plain("left,right,Left\na,b,1\n"), "a.csv: expected each column name once, found \"Left\" twice");
    assert!(
        plain("a,b,c\n1,2,3\n").starts_with("a.csv:1:1: expected a header with the columns left and right (edges)")
    );
    assert!(plain("left;right;x\na;b;no\n").contains("a.csv:2:3: expected a finite number"));
    assert_eq!(
        refusal(TABLE, Some("frame_a,frame_b\n1,1\n"), &MatchReading::default()),
        "a.csv: expected points of frames (frame,point,x,y), to which a list of pairs belongs, found a table of edges"
    );
}

#[test]
fn gaps_of_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "a.csv", "left,right,x\na,b,4\na,c,NULL\nb,c,2\nb,b,\n");
    let mean = MatchReading { missing: Missing::Mean, ..MatchReading::default() };
    let mut set = one(&path, &mean).unwrap();
    assert!(row(&set, 1)[0].is_nan());
    let filled = set.fill(Missing::Mean, &[0]);
    assert_eq!((filled.missing(), filled.means()), (Missing::Mean, Some(&[3.0][..])));
    assert_eq!((0..4).map(|i| row(&set, i)[0]).collect::<Vec<_>>(), [4.0, 3.0, 3.0, 2.0]);
}

#[test]
fn parts_are_joined_by_the_names_of_columns() {
    let dir = tempfile::tempdir().unwrap();
    let a = file(&dir, "a.csv", "problem,left,right,x,y,matched\np,1,1,1,2,1\n");
    let b = file(&dir, "b.tsv", "y\tright\tleft\tx\tproblem\n4\tr\tl\t3\tp\n6\tr\tl\t5\tq\n");
    let (set, parts) = read_matches(&[vec![a.clone()], vec![b.clone()]], &MatchReading::default()).unwrap();
    assert_eq!((parts, set.len()), (vec![0..1, 1..3], 3));
    assert_eq!((row(&set, 0), row(&set, 1), row(&set, 2)), (vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]));
    // within a part a problem has one file
    let error = read_matches(&[vec![a.clone(), b]], &MatchReading::default()).unwrap_err().to_string();
    assert!(error.contains("b.tsv: expected other problems than") && error.ends_with("found \"p\" in both"), "{error}");
    let c = file(&dir, "c.csv", "left,right,x,z\na,b,1,2\n");
    let error = read_matches(&[vec![a], vec![c.clone()]], &MatchReading::default()).unwrap_err().to_string();
    assert!(
        error.contains("c.csv: expected the columns of") && error.contains("missing: y; not expected: z"),
        "{error}"
    );
    // problems without a name are numbered
    let (set, _) = read_matches(&[vec![c.clone(), c]], &MatchReading::default()).unwrap();
    assert_eq!((set.problem(0).name.as_str(), set.problem(1).name.as_str()), ("1", "2"));
    assert!(read_matches(&[], &MatchReading::default()).is_err());
}

#[test]
fn what_is_written_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let linkage = Linkage { problems: 20, ..Linkage::default() }.make();
    for name in ["a.csv", "a.tsv.gz", "a.csv.zst"] {
        let path = dir.path().join(name);
        write_matches(&linkage, &path).unwrap();
        assert_eq!(one(&path, &MatchReading::default()).unwrap(), linkage, "{name}");
    }
    // unknown truths, gaps, ids that need quotes
    let strange = "problem,left,right,\"a, b\",matched\n\"p 1\",\"x,y\",\"\"\"\",,\nq,a,b,3.4028235e38,1\n";
    let keep = MatchReading { missing: Missing::Zero, ..MatchReading::default() };
    let (first, second) = (file(&dir, "s.csv", strange), dir.path().join("t.csv"));
    let set = one(&first, &keep).unwrap();
    write_matches(&set, &second).unwrap();
    let again = one(&second, &keep).unwrap();
    assert_eq!((again.problems(), &again.columns), (set.problems(), &set.columns));
    assert!(row(&again, 0)[0].is_nan() && row(&again, 1)[0] == f32::MAX);
    // points lose their places alone
    let (set, _) = Silhouettes { points: 5, images: 9, pairs: [2, 1, 1], ..Silhouettes::default() }.make();
    write_matches(&set, &second).unwrap();
    assert_eq!(one(&second, &MatchReading::default()).unwrap().digest(), set.digest());
    // nothing known: no column
    let set = from("a.csv", "left,right,x\na,b,1\n").unwrap();
    write_matches(&set, &second).unwrap();
    assert_eq!(std::fs::read_to_string(&second).unwrap(), "problem,left,right,x\n1,a,b,1\n");
    // what would not come back is refused
    for (column, left) in [("Left", "a"), (" x", "a"), ("x", ""), ("x", "a "), ("x", "a\nb"), ("x\0", "a")] {
        let problem = Problem {
            name: "p".into(),
            left: vec![left.into()],
            right: vec!["b".into()],
            edges: vec![(0, 0)],
            truth: vec![Truth::Yes],
            places: None,
        };
        let columns = Columns::named(vec![column.into()]);
        let set = MatchSet::new(Features::Dense(Matrix::new(vec![1.0], 1)), columns, vec![problem]).unwrap();
        assert!(write_matches(&set, &second).is_err(), "{column:?} {left:?}");
    }
    assert!(write_matches(&linkage, &dir.path().join("a.arff")).is_err());
}

/// Three points of each side; the third of the right is a stranger.
const SIDES: &str = "problem,side,id,x,y,red\n\
                     p,left,a,0,0,1\np,left,b,3,4,2\np,left,c,3,0,3\n\
                     p,right,b,10,10,2.5\np,right,a,10,4,1\np,right,d,14,4,0\n";

/// The row of the edge between two ids.
fn edge(set: &MatchSet, p: usize, left: &str, right: &str) -> Vec<f32> {
    let problem = set.problem(p);
    let edge = problem.find_edge(problem.find_left(left).unwrap(), problem.find_right(right).unwrap()).unwrap();
    row(set, set.span(p).start + edge)
}

#[test]
fn features_of_three_points_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "a.csv", SIDES);
    let with = |list: &str| {
        let reading = MatchReading { features: PointFeature::list(list).unwrap(), ..MatchReading::default() };
        one(&path, &reading).unwrap()
    };
    let set = with("descriptors,degree,coordinates");
    assert_eq!(set.columns.names, ["red", "degree", "dx", "dy", "dx2", "dy2"]);
    // left: distances 5, 3, 4 give the mean 24/9, and the centre is (2, 4/3)
    let unit = 24.0 / 9.0;
    // right: 6, 4, √52, mean 2·(10 + √52)/9, centre (34/3, 6)
    let other = 2.0 * (10.0 + 52f64.sqrt()) / 9.0;
    let dx = ((0.0 - 2.0) / unit - (10.0 - 34.0 / 3.0) / other).abs();
    let dy = ((0.0 - 4.0 / 3.0) / unit - (10.0 - 6.0) / other).abs();
    let expected = [1.5, 0.0, dx as f32, dy as f32, (dx * dx) as f32, (dy * dy) as f32];
    for (x, y) in edge(&set, 0, "a", "b").into_iter().zip(expected) {
        assert!((x - y).abs() < 1e-6, "{x} {y}");
    }
    // by default shape contexts, then descriptors
    let set = one(&path, &MatchReading::default()).unwrap();
    assert_eq!((set.columns.names.len(), set.columns.names[60].as_str()), (61, "red"));
    // a sees b at 5/2.67 = 1.88, up right at 53°, bin 7 of ring 4, and c at 1.125, straight right, bin 6 of ring 4;
    // right a sees b at 6/3.82 = 1.57 straight up, bin 9 of ring 4, and d at 1.05 straight right, bin 6
    let context = |k: usize| edge(&set, 0, "a", "a")[k];
    let differ: Vec<usize> = (0..60).filter(|&k| context(k) != 0.0).collect();
    assert_eq!((differ, context(55), context(57), context(60)), (vec![55, 57], 1.0, 1.0, 0.0));
    // squared and absolute
    let far = "problem,side,id,x,y\np,l,a,0,0\np,l,b,4,0.2\np,l,c,3,1.7\np,r,a,0,0\np,r,b,-4,0.2\np,r,c,-3,1.7\n";
    let path = file(&dir, "b.csv", far);
    let reading = |list: &str| MatchReading { features: PointFeature::list(list).unwrap(), ..MatchReading::default() };
    let set = one(&path, &reading("shape-context-abs,shape-context")).unwrap();
    assert_eq!((set.columns.names[0].as_str(), set.columns.names[60].as_str()), ("abs_context0", "context0"));
    let row = edge(&set, 0, "a", "a");
    assert_eq!((row[4 * 12 + 6], row[4 * 12 + 11], row[60 + 4 * 12 + 6]), (2.0, 2.0, 4.0));
    let list = PointFeature::of_columns(&set.columns).unwrap();
    assert_eq!(list, [PointFeature::ShapeContextAbs, PointFeature::ShapeContext]);
}

#[test]
fn points_of_two_sides() {
    let set = from("a.csv", SIDES).unwrap();
    let problem = set.problem(0);
    assert_eq!((problem.left.join(""), problem.edges.len()), ("abc".into(), 9));
    let mut matched: Vec<(&str, &str)> = problem
        .matched()
        .map(|e| {
            (problem.left[problem.edges[e].0 as usize].as_str(), problem.right[problem.edges[e].1 as usize].as_str())
        })
        .collect();
    matched.sort_unstable();
    assert_eq!(matched, [("a", "a"), ("b", "b")]);
    // places go with their ids, whatever the order
    let [left, right] = problem.places.as_ref().unwrap();
    assert_eq!(left[1], [3.0, 4.0]);
    assert_eq!(right[problem.find_right("d").unwrap()], [14.0, 4.0]);
    // every style of sides, in any case, alone in a file; 1 is left or right by what else there is
    for [l, r] in [["L", "R"], ["a", "B"], ["0", "1"], ["1", "2"], ["Left", "RIGHT"]] {
        let text = SIDES.replace("left", l).replace("right", r);
        assert_eq!(from("a.csv", &text).unwrap(), set, "{l} {r}");
        assert_eq!(from("a.tsv", &text.replace(',', "\t")).unwrap(), set, "{l} {r}");
    }
    // scattered rows, no problem column, one side alone
    let set = from("a.csv", "id,y,side,x\n1,0,l,0\n1,0,r,1\n2,5,l,5\n2,1,r,0\n").unwrap();
    assert_eq!((set.len(), set.problem(0).name.as_str(), set.edges()), (1, "1", 4));
    let set = from("a.csv", &format!("{SIDES}q,left,a,1,1,1\n")).unwrap();
    assert_eq!((set.len(), set.problem(1).left.len(), set.problem(1).right.len(), set.span(1)), (2, 1, 0, 9..9));
    // ids that nothing shares tell nothing
    let set = from("a.csv", "side,id,x,y\nl,a,0,0\nl,b,1,1\nr,c,2,0\n").unwrap();
    assert!(!set.labelled() && set.edges() == 2);
    // gaps of descriptors stay gaps of features
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "a.csv", &SIDES.replace("p,left,a,0,0,1", "p,left,a,0,0,"));
    let set = one(&path, &MatchReading { missing: Missing::Mean, ..MatchReading::default() }).unwrap();
    assert!(edge(&set, 0, "a", "b")[60].is_nan() && edge(&set, 0, "b", "b")[60] == 0.5);
}

#[test]
fn the_right_side_is_in_an_order_of_its_own() {
    let points: String = (0..40).map(|k| format!("1,{k},{},{}\n", k * k % 37, k * 7 % 23)).collect();
    let text = format!("frame,point,x,y\n{points}");
    let dir = tempfile::tempdir().unwrap();
    let pairs = file(&dir, "pairs.csv", "frame_a,frame_b,split\n1,1,train\n1,1,test\n");
    let reading = MatchReading { pairs: Some(pairs), ..MatchReading::default() };
    let path = file(&dir, "a.csv", &text);
    let set = one(&path, &reading).unwrap();
    let first = set.problem(0);
    let fixed = first.matched().filter(|&e| first.edges[e].0 == first.edges[e].1).count();
    assert!(fixed < 8 && first.matched().count() == 40);
    // names are made unique, and orders depend on names alone
    assert_eq!((set.problem(0).name.as_str(), set.problem(1).name.as_str()), ("1-1", "1-1#2"));
    assert_ne!(set.problem(0).right, set.problem(1).right);
    let test = one(&path, &MatchReading { only: vec![Split::Test], ..reading }).unwrap();
    assert_eq!((test.len(), test.problem(0)), (1, set.problem(1)));
}

const FRAMES: &str =
    "frame,point,x,y\nA,0,0,0\nA,1,4,1\nA,2,2,5\nB,0,0,1\nB,1,4,1\nB,2,3,5\nC,0,0,0\nC,2,1,1\nC,7,2,0\n";

#[test]
fn pairs_of_frames_and_their_splits() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "points.csv", FRAMES);
    let reading = |text: &str, name: &str| MatchReading {
        pairs: Some(file(&dir, name, text)),
        features: vec![PointFeature::Coordinates],
        ..MatchReading::default()
    };
    let with = reading(
        "baseline,split,frame_a,frame_b,problem\n0,test,A,B,\n1,Train,A,C,first\n2,valid,B,C,first\n3,train,B,A,\n4,validation,C,C,\n5,validate,A,A,\n",
        "pairs.csv",
    );
    let (set, splits) = read_match_splits(std::slice::from_ref(&path), &with).unwrap();
    let names: Vec<&str> = set.problems().iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["first", "B-A", "first#2", "C-C", "A-A", "A-B"]);
    assert_eq!(splits, Some([0..2, 2..5, 5..6]));
    // points 0 and 2 are in both A and C
    assert_eq!((set.problem(0).edges.len(), set.problem(0).matched().count()), (9, 2));
    let only = |list: &[Split]| MatchReading { only: list.to_vec(), ..with.clone() };
    let (fit, splits) =
        read_match_splits(std::slice::from_ref(&path), &only(&[Split::Train, Split::Validate])).unwrap();
    assert_eq!((fit.problems(), splits), (&set.problems()[..5], Some([0..2, 2..5, 5..5])));
    assert_eq!(one(&path, &only(&[Split::Test])).unwrap().problems(), &set.problems()[5..]);
    // as the file has them
    let all = one(&path, &with).unwrap();
    assert_eq!((all.len(), all.problem(0).name.as_str()), (6, "A-B"));
    // without splits all are there, whatever is asked for
    let without = MatchReading { only: vec![Split::Test], ..reading("frame_b\tframe_a\nA\tB\nC\tB\n", "p.tsv") };
    let (set, splits) = read_match_splits(std::slice::from_ref(&path), &without).unwrap();
    assert_eq!((set.len(), splits, set.problem(1).name.as_str()), (2, None, "B-C"));
    assert_eq!(one(&path, &without).unwrap(), set);
    // a split that is not there
    let none = MatchReading { only: vec![Split::Test], ..reading("frame_a,frame_b,split\nA,B,train\n", "q.csv") };
    let error = one(&path, &none).unwrap_err().to_string();
    assert!(error.ends_with("q.csv: expected pairs of the split test, found none"), "{error}");
    // a table of edges has no splits
    let table = file(&dir, "t.csv", TABLE);
    assert_eq!(read_match_splits(&[table], &MatchReading::default()).unwrap().1, None);
}

#[test]
fn refusals_of_points_name_the_place() {
    let sides = |rows: &str| refusal(&format!("problem,side,id,x,y,d\n{rows}"), None, &MatchReading::default());
    for (rows, expected) in [
        (
            "p,up,a,1,2,3\n",
            "2:2: expected a side: left or right; l or r; a or b; 0 or 1; 1 or 2, found \"up\" in column \"side\"",
        ),
        (
            "p,left,a,1,2,3\np,r,a,1,2,3\n",
            "3:2: expected a side: left or right, as in the rows before, found \"r\" in column \"side\"",
        ),
        (
            "p,1,a,1,2,3\np,0,a,1,2,3\np,2,a,1,2,3\n",
            "4:2: expected a side: 0 or 1, as in the rows before, found \"2\" in column \"side\"",
        ),
        (
            "p,l,a,1,2,3\np,r,a,1,2,3\np,l,a,1,2,3\n",
            "4:3: expected each point of a side once (the first is on line 2), found \"a\" in column \"id\"",
        ),
        ("p,l,,1,2,3\n", "2:3: expected the id of a point, found \"\" in column \"id\""),
        (",l,a,1,2,3\n", "2:1: expected the name of a problem, found \"\" in column \"problem\""),
        (
            "p,l,a,nan,2,3\n",
            "2:4: expected a coordinate (a finite number, at most 1e18), found \"nan\" in column \"x\"",
        ),
        (
            "p,l,a,1,1e19,3\n",
            "2:5: expected a coordinate (a finite number, at most 1e18), found \"1e19\" in column \"y\"",
        ),
        ("p,l,a,1,2,\n", "2:6: expected a value, found \"\" in column \"d\"; missing=zero or missing=mean allows gaps"),
        (
            "p,l,a,1,2,red\n",
            "2:6: expected a finite number, found \"red\" in column \"d\"; ignore=d leaves the column out",
        ),
    ] {
        assert_eq!(sides(rows), format!("a.csv:{expected}"));
    }
    assert_eq!(sides(""), "a.csv: expected points, found none: the file has no rows");
    assert_eq!(sides("p,l,a,1,2,3\n"), "a.csv: expected edges, found none");
    let twice = refusal("side,id,x,y,X\nl,a,1,2,3\n", None, &MatchReading::default());
    assert_eq!(twice, "a.csv: expected each column name once, found \"X\" twice");
    let frames = |pairs: &str| refusal(FRAMES, Some(pairs), &MatchReading::default());
    assert_eq!(
        frames("frame_a,frame_b\nA,B\nA,D\n"),
        "pairs.csv:3:2: expected a frame of a.csv, found \"D\" in column \"frame_b\""
    );
    assert_eq!(
        frames("frame_a,frame_b,split\nA,B,all\n"),
        "pairs.csv:2:3: expected train, validate (valid, validation) or test, found \"all\" in column \"split\""
    );
    assert_eq!(frames("frame_a,frame_b\n"), "pairs.csv: expected pairs of frames, found none: the file has no rows");
    assert_eq!(
        frames("a,b\n1,2\n"),
        "pairs.csv:1:1: expected a header with the columns frame_a and frame_b (and split, problem), found \"a,b\""
    );
    assert_eq!(
        refusal(FRAMES, None, &MatchReading::default()),
        "a.csv: expected pairs of frames, found frames alone; pairs=FILE says which frames belong together"
    );
    assert_eq!(
        refusal(SIDES, Some("frame_a,frame_b\n1,1\n"), &MatchReading::default()),
        "a.csv: expected points of frames (frame,point,x,y), to which a list of pairs belongs, found problems with sides"
    );
    let descriptors = MatchReading { features: vec![PointFeature::Descriptors], ..MatchReading::default() };
    assert_eq!(
        refusal(FRAMES, Some("frame_a,frame_b\nA,B\n"), &descriptors),
        "a.csv: expected further columns for the feature descriptors, found x and y alone"
    );
    let both = MatchReading { features: PointFeature::list("degree,descriptors").unwrap(), ..descriptors };
    assert_eq!(
        refusal("side,id,x,y,degree\nl,a,0,0,1\nr,a,0,0,1\n", None, &both),
        "a.csv: expected each feature name once, found \"degree\" twice"
    );
}

#[test]
fn names_of_features() {
    use PointFeature::{Coordinates, Degree, Descriptors, ShapeContext, ShapeContextAbs};
    for &feature in PointFeature::ALL {
        assert_eq!(feature.to_string().parse::<PointFeature>().unwrap(), feature);
    }
    let all = PointFeature::list(" degree, shape-context-abs,coordinates,descriptors,shape-context").unwrap();
    assert_eq!(all, [Degree, ShapeContextAbs, Coordinates, Descriptors, ShapeContext]);
    for wrong in ["", "degree,degree", "degree,", ","] {
        let error = PointFeature::list(wrong).unwrap_err().to_string();
        assert!(error.starts_with("features: expected names between commas, each once"), "{error}");
    }
    assert!(PointFeature::list("degrees").unwrap_err().to_string().ends_with("did you mean \"degree\"?"));
    let of = |names: &[&str], numbered| {
        let names = names.iter().map(|n| (*n).to_owned()).collect();
        PointFeature::of_columns(&Columns { names, numbered, ..Columns::default() })
    };
    assert_eq!(of(&["red", "degree"], false), Some(vec![Descriptors, Degree]));
    assert_eq!(of(&["red"], false), Some(vec![Descriptors]));
    for none in [&["dx", "dy"][..], &["red", "degree", "blue"], &["context1"], &["degree", "degree"], &[]] {
        assert_eq!(of(none, false), None, "{none:?}");
    }
    assert_eq!(of(&["1", "2"], true), None);
}

#[test]
fn rules_of_shape_contexts() {
    assert_eq!(mean_distance(&[]), 0.0);
    // one at the centre, ten units of which only directions matter; one far point keeps the unit large
    let seen = |dx: f64, dy: f64| {
        let context = shape_contexts(&[[0.0, 0.0], [dx, dy], [1000.0, 1000.0], [1000.0, 1000.0]])[0];
        (0..12).filter(|&bin| context[bin] > 0.0).collect::<Vec<_>>()
    };
    assert_eq!(
        (seen(-1.0, 0.0), seen(0.0, -1.0), seen(1.0, 0.0), seen(0.0, 1.0)),
        (vec![11], vec![2], vec![6], vec![9])
    );
    assert_eq!(
        (seen(-1.0, -0.1), seen(-1.0, 0.1), seen(1.0, -0.1), seen(0.0, 0.0)),
        (vec![0], vec![11], vec![5], vec![6])
    );
    // a point in the same place counts, the point itself does not
    let twins = shape_contexts(&[[5.0, 5.0], [5.0, 5.0]]);
    assert_eq!((twins[0][6], twins[0].iter().sum::<f32>()), (1.0, 1.0));
    // at the edge of a ring the next one counts: distances 0, 1, 1, 2 … on a line of three have the mean 8/9
    let line = shape_contexts(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]);
    assert_eq!(line[0].iter().sum::<f32>(), 1.0); // 2 / (8/9) = 2.25 is too far
    assert_eq!(line[1][4 * 12 + 6] + line[1][4 * 12 + 11], 2.0);
    let places = normalised(&[[1.0, 1.0], [3.0, 1.0]]);
    assert_eq!(places, [[-1.0, 0.0], [1.0, 0.0]]);
    assert_eq!(normalised(&[[0.1, 0.7]; 3]), [[0.0; 2]; 3]);
}

#[test]
fn contexts_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (file(&dir, "a.csv", FRAMES), dir.path().join("out.tsv.gz"));
    assert_eq!(write_contexts(&path, &out).unwrap(), 9);
    let text = String::from_utf8(ordain::data::read_whole(&out).unwrap()).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((lines.len(), lines[0].len(), lines[0][61], lines[9][..2].join(" ")), (10, 62, "s59", "C 7".into()));
    let expected = shape_contexts(&[[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]);
    let found: Vec<f32> = lines[8][2..].iter().map(|x| x.parse().unwrap()).collect();
    assert_eq!(found, expected[1]);
    let out = dir.path().join("out.csv");
    assert_eq!(write_contexts(&file(&dir, "b.csv", SIDES), &out).unwrap(), 6);
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.starts_with("problem,side,id,s0,") && text.contains("\np,right,d,"), "{text}");
    assert!(write_contexts(&file(&dir, "c.csv", TABLE), &out).is_err());
    assert!(write_contexts(&path, &dir.path().join("out.txt")).is_err());
}

#[test]
fn which_files_hold_problems() {
    let dir = tempfile::tempdir().unwrap();
    let is = |name: &str, head: &str| is_matches(&file(&dir, name, &format!("{head}\n1,1,1,1,1\n")));
    assert!(is("a.csv", "\u{feff}Left,right,x") && is("a.csv.gz", "side,id,x,y") && is("a.tsv", "frame\tpoint\tx\ty"));
    assert!(!is("a.csv", "left,x") && !is("a.csv", "id,x,y") && !is("a.csv", "qid,left,right"));
    assert!(!is("a.csv", "left,right,labels") && !is("a.txt", "left,right"));
    assert!(!is_matches(&dir.path().join("absent.csv")) && !is_matches(Path::new("-")));
}

#[test]
fn silhouettes_from_a_seed_or_an_outline() {
    let small = Silhouettes { images: 30, pairs: [3, 2, 4], ..Silhouettes::default() };
    let (set, ranges) = small.make();
    assert_eq!((set.len(), ranges.clone()), (9, [0..3, 3..5, 5..9]));
    assert_eq!((set.digest(), ranges), (small.make().0.digest(), small.make().1));
    assert!(set.problems().iter().all(|p| p.matched().count() == 20 && p.is_known()));
    // without shear the right pairs have no difference at all, and few others
    let (flat, _) = Silhouettes { shear: 0.0, ..small.clone() }.make();
    for p in 0..flat.len() {
        let sum = |e: usize| row(&flat, flat.span(p).start + e).iter().sum::<f32>();
        assert!(flat.problem(p).matched().all(|e| sum(e) == 0.0));
        assert!((0..400).filter(|&e| sum(e) == 0.0).count() < 40);
    }
    // other shears move points to other bins
    assert_ne!(flat.digest(), set.digest());
    let square: Vec<[f64; 2]> = (0..40).map(|k| [f64::from(k % 10), f64::from(k / 10)]).collect();
    let (own, _) = Silhouettes { points: 60, images: 1, pairs: [1, 1, 1], ..Silhouettes::of_contour(square) }.make();
    assert_eq!((own.problem(0).left.len(), own.len()), (40, 3));
    assert_eq!(own.problem(0).places.as_ref().unwrap()[0].len(), 40);
}

#[test]
fn refusals_of_outlines() {
    let dir = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("name,x0,y0\n", "expected outlines, found none"),
        ("name,x0\na,1\n", ":1:1: expected a name, then pairs of coordinates"),
        ("name,x0,y0\na,1,z\n", ":2:3: expected a coordinate"),
        ("name,x0,y0\na,1\n", ":2:1: expected 3 fields"),
    ] {
        let error = read_contours(&file(&dir, "a.csv", text)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// The house sequence and the outlines, from the folder in ORDAIN_DATA.
#[test]
#[ignore = "needs the data folder in ORDAIN_DATA"]
fn house_sequence_and_outlines() {
    let folder = PathBuf::from(std::env::var("ORDAIN_DATA").unwrap()).join("matching");
    let house = folder.join("cmu-house");
    let dir = tempfile::tempdir().unwrap();
    // shape contexts, byte for byte
    let out = dir.path().join("shape_context.csv");
    assert_eq!(write_contexts(&house.join("points.csv"), &out).unwrap(), 111 * 30);
    assert!(std::fs::read(&out).unwrap() == std::fs::read(house.join("shape_context.csv")).unwrap());
    // the Delaunay graph
    let rows = |name: &str| -> Vec<Vec<f64>> {
        let text = std::fs::read_to_string(house.join(name)).unwrap();
        text.lines().skip(1).map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect()
    };
    let (mut frames, mut edges) =
        (HashMap::<usize, Vec<[f64; 2]>>::new(), HashMap::<usize, HashSet<(u32, u32)>>::new());
    rows("points.csv").iter().for_each(|r| frames.entry(r[0] as usize).or_default().push([r[2], r[3]]));
    for r in rows("edges.csv") {
        edges.entry(r[0] as usize).or_default().insert((r[1].min(r[2]) as u32, r[1].max(r[2]) as u32));
    }
    let (mut same, mut extra, mut missing, mut degrees) = (0, 0, 0, 0);
    for (frame, points) in &frames {
        let made: HashSet<(u32, u32)> = delaunay(points).into_iter().collect();
        let more: Vec<&(u32, u32)> = made.difference(&edges[frame]).collect();
        // the published graph lacks an edge or two of the hull in every frame, and nothing else
        for &&(a, b) in &more {
            let (a, b) = (points[a as usize], points[b as usize]);
            let side = |p: &[f64; 2]| (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
            assert!(points.iter().all(|p| side(p) > -1e-6) || points.iter().all(|p| side(p) < 1e-6));
        }
        same += usize::from(more.is_empty());
        extra += more.len();
        missing += edges[frame].difference(&made).count();
        let mut published = vec![0; points.len()];
        edges[frame].iter().for_each(|&(a, b)| [a, b].iter().for_each(|&k| published[k as usize] += 1));
        degrees += delaunay_degrees(points).iter().zip(&published).filter(|(a, b)| a != b).count();
    }
    let total: usize = edges.values().map(HashSet::len).sum();
    eprintln!(
        "the published graph in {same} of 111 frames; {extra} edges more, {missing} less of {total}; {degrees} of 3330 degrees differ"
    );
    assert_eq!((extra, missing), (118, 0));
    // pairs and their splits
    let reading = MatchReading { pairs: Some(house.join("pairs.csv")), ..MatchReading::default() };
    let (set, splits) = read_match_splits(&[house.join("points.csv")], &reading).unwrap();
    assert_eq!((set.len(), set.edges(), set.columns.names.len()), (660, 660 * 900, 60));
    assert_eq!(splits, Some([0..223, 223..443, 443..660]));
    assert!(set.problems().iter().all(|p| p.matched().count() == 30));
    // outlines
    let contours = read_contours(&folder.join("mpeg7-ce1-b").join("contours100.csv.gz")).unwrap();
    assert!(contours.len() == 1400 && contours.iter().all(|(_, points)| points.len() == 100));
    let (set, _) = Silhouettes::of_contour(contours[0].1.clone()).make();
    assert_eq!(set.len(), 180);
}
