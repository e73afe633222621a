//! Damaged words: methods with settings as they are typed, and files of answers.

use super::mutate;
use super::suite::{Suite, clear, damage, ensure};
use ordain::data::synthetic::Scenes;
use ordain::labelling::{Answer, LabelQuestions, Labelling, Said, Subject};
use ordain::method::AnyMethod;
use serde_json::Value;
use std::fs;

const CASES: usize = 2000;

/// A method that is taken says what it is, in words that give the same method.
#[test]
fn damaged_methods() {
    let mut suite = Suite::new();
    let seeds = [
        "ranksvm[lambda=1,scale=query]",
        "rankmatch[places=5,lambda=auto]",
        "quadrank[places=2,core=2,scale=query,lambda=0.1]",
        "cstar[trainer=margin,loss=p@3]",
        "matchmap[null=true,lambda=0.5]",
    ];
    let (mut random, mut read) = (damage(800), 0);
    for turn in 0..CASES {
        let (text, told) = mutate::text(seeds[turn % seeds.len()].as_bytes(), &mut random);
        let Ok(text) = String::from_utf8(text) else { continue };
        let taken =
            suite.run(&format!("method {turn} ({told})"), text.as_bytes(), || match text.parse::<AnyMethod>() {
                Err(error) => {
                    ensure!(!error.to_string().is_empty(), "an error without words", "{error:?}");
                    Ok(false)
                }
                Ok(method) => {
                    let again = method.to_string().parse::<AnyMethod>();
                    ensure!(again.is_ok_and(|again| again == method), "another method", "{method}");
                    Ok(true)
                }
            });
        read += usize::from(taken == Some(true));
    }
    suite.finish();
    assert!(read > 20, "{read} were taken");
}

/// Whole lines that are taken are JSON with numbers in a row; a half line at the end is left out.
#[test]
fn damaged_answers() {
    let mut suite = Suite::new();
    let set = Scenes { items: 10, ..Scenes::default() }.make();
    let questions = LabelQuestions::new(&set).expect("labels");
    let path = suite.path("answers.jsonl");
    {
        let (mut labelling, _) = Labelling::open(&questions, &path).expect("a new file");
        for unit in 0..8 {
            let answer = Answer { subject: Subject { unit, thing: unit % 3 }, yes: Some(unit % 2 == 0), asked: true };
            let said = Said { by: Some("ann"), at: std::time::SystemTime::UNIX_EPOCH, key: None };
            labelling.answer(answer, Default::default(), said).expect("an answer");
        }
    }
    let whole = fs::read(&path).expect("a file");
    let (mut random, mut read) = (damage(900), 0);
    for turn in 0..CASES {
        let (text, told) = mutate::text(&whole, &mut random);
        fs::write(&path, &text).expect("a file");
        let taken =
            suite.run(&format!("answers {turn} ({told})"), &text, || match Labelling::open(&questions, &path) {
                Err(error) => clear(&error, &[(&path, &text)]).map(|()| false),
                Ok((labelling, _)) => {
                    drop(labelling);
                    let lines =
                        text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
                    let lines: Vec<Option<Value>> = lines.map(|line| serde_json::from_slice(line).ok()).collect();
                    let torn = lines.iter().rev().skip(1).any(Option::is_none);
                    ensure!(!torn, "a line that is no JSON was taken", "");
                    let numbers: Vec<u64> = lines.iter().flatten().filter_map(|line| line["n"].as_u64()).collect();
                    ensure!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "lines out of order", "{numbers:?}");
                    Ok(true)
                }
            });
        read += usize::from(taken == Some(true));
    }
    suite.finish();
    assert!(read > 20, "{read} were taken");
}
