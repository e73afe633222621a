//! Rules for what is shown: pins, exclusions and caps, from a table or from JSON.

use crate::data::sniff::kind;
use crate::data::source::read_at_most;
use crate::data::strings::{no_json, short};
use crate::data::table::{Format, Row, Table, shown};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The most bytes of rules as JSON.
const LONGEST: usize = 1 << 26;

/// What a list has to look like whatever the scores say.
///
/// ```
/// let rules = ordain::data::Rules::from_json(
///     r#"{"pins": [{"query": "boots", "document": "b3", "place": 1}], "caps": [{"column": "brand", "most": 2, "first": 10}]}"#,
/// )?;
/// assert_eq!((rules.pins[0].place, rules.columns()), (1, vec!["brand"]));
/// assert!(ordain::data::Rules::from_json(r#"{"pin": []}"#).is_err());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Documents with their places.
    pub pins: Vec<PinRule>,
    /// Documents that are left out.
    pub exclusions: Vec<ExclusionRule>,
    /// At most so many documents with one value of a column on top.
    pub caps: Vec<CapRule>,
}

/// A document that stands at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinRule {
    /// The query; none: every query that has the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The document.
    pub document: String,
    /// Its place, from 1.
    pub place: usize,
}

/// A document that is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExclusionRule {
    /// The query; none: every query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The document.
    pub document: String,
}

/// At most so many documents with one value of a column in the first places. A document without a value is not limited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapRule {
    /// The column.
    pub column: String,
    /// How many.
    pub most: usize,
    /// Of how many places, from the top.
    pub first: usize,
}

impl Rules {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty() && self.exclusions.is_empty() && self.caps.is_empty()
    }

    /// The columns that caps go by, each once.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = vec![];
        for cap in &self.caps {
            if !columns.contains(&cap.column.as_str()) {
                columns.push(&cap.column);
            }
        }
        columns
    }

    /// Rules from an object with the lists `pins`, `exclusions` and `caps`.
    pub fn from_json(text: &str) -> Result<Self> {
        let rules: Self = serde_json::from_str(text).map_err(|error| Error::Data {
            expected: "rules as JSON: {\"pins\": [{query, document, place}], \"exclusions\": [{query, document}], \"caps\": [{column, most, first}]}".into(),
            found: no_json(&error),
        })?;
        rules.check()?;
        Ok(rules)
    }

    /// Refuses places and caps that mean nothing.
    pub fn check(&self) -> Result<()> {
        let refuse = |expected: &str, found: String| Err(Error::Data { expected: expected.into(), found });
        if let Some(pin) = self.pins.iter().find(|pin| pin.place == 0) {
            return refuse("places from 1", format!("a pin of {:?} to place 0", short(&pin.document)));
        }
        if let Some(cap) = self.caps.iter().find(|cap| cap.first == 0 || cap.most == 0) {
            return refuse(
                "caps of at least 1 document in at least 1 place (an exclusion leaves documents out)",
                format!("at most {} of {:?} in the first {}", cap.most, short(&cap.column), cap.first),
            );
        }
        if self.is_empty() {
            return refuse("at least one rule", "none".into());
        }
        Ok(())
    }

    /// Reads rules: a file `.json`, or a table with the columns rule (pin, exclude or cap), qid, docid, place, column, most and first, of which each
    /// rule uses its own. A table with qid, docid and place alone has pins, as `--pin` reads them.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] with the line of a rule that is incomplete, [`Error::Content`] without any rule, and those of reading.
    pub fn read(path: &Path) -> Result<Self> {
        if kind(path) == "json" {
            let text = read_at_most(path, LONGEST, "rules as JSON")?;
            let text = String::from_utf8(text).map_err(|_| Error::Content {
                path: path.into(),
                expected: "rules as JSON in UTF-8".into(),
                found: "bytes that are not UTF-8".into(),
            })?;
            return Self::from_json(&text).map_err(|error| match error {
                Error::Data { expected, found } => Error::Content { path: path.into(), expected, found },
                other => other,
            });
        }
        let mut table = Table::open(path, Format::of(path).unwrap_or(Format::Text(b',')))?;
        let header = table.header.clone();
        table.select(&[], &(0..header.len()).collect::<Vec<_>>())?;
        let head = Header::of(&header);
        if head.rule.is_none() && (head.document.is_none() || head.place.is_none()) {
            return Err(Error::Parse {
                path: path.into(),
                line: 1,
                column: 1,
                expected: "a header with the column rule (pin, exclude, cap) and those that rules use: qid, docid, place, column, most, first; or qid, docid and place for pins alone".into(),
                found: shown(&header),
            });
        }
        let mut rules = Self::default();
        while let Some(record) = table.next()? {
            rules.take(&head, &record)?;
        }
        match rules.is_empty() {
            false => Ok(rules),
            true => Err(Error::Content { path: path.into(), expected: "rules".into(), found: "a header alone".into() }),
        }
    }

    /// Takes a row of a table.
    fn take(&mut self, head: &Header, record: &Row) -> Result<()> {
        let kind = match head.rule {
            Some(j) => word(record, j)?.unwrap_or_default(),
            None => "pin".into(),
        };
        let at = head.rule.unwrap_or(0);
        // what a rule uses, and what is said where it is not there
        let needed = |column: Option<usize>, what: &str| -> Result<(usize, String)> {
            let absent = || record.refuse(at, format!("a column {what} for the rule {kind:?}"));
            let j = column.ok_or_else(absent)?;
            Ok((j, word(record, j)?.ok_or_else(|| record.refuse(j, format!("{what} for the rule {kind:?}")))?))
        };
        let whole = |column: Option<usize>, what: &str| -> Result<usize> {
            let (j, _) = needed(column, what)?;
            let number = record.number(j).filter(|x| x.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(x));
            number.map(|x| x as usize).ok_or_else(|| record.refuse(j, format!("{what}, a whole number from 1")))
        };
        let query = head.query.map(|j| word(record, j)).transpose()?.flatten();
        match kind.as_str() {
            "pin" => {
                let document = needed(head.document, "docid")?.1;
                self.pins.push(PinRule { query, document, place: whole(head.place, "place")? });
            }
            "exclude" => self.exclusions.push(ExclusionRule { query, document: needed(head.document, "docid")?.1 }),
            "cap" => {
                if let (Some(j), Some(_)) = (head.query, &query) {
                    return Err(record.refuse(j, "no query for the rule \"cap\", which holds for all"));
                }
                let column = needed(head.column, "column")?.1;
                self.caps.push(CapRule { column, most: whole(head.most, "most")?, first: whole(head.first, "first")? });
            }
            _ => return Err(record.refuse(at, "pin, exclude or cap")),
        }
        Ok(())
    }
}

/// A cell as text; none where it is empty.
fn word(record: &Row, j: usize) -> Result<Option<String>> {
    let word = record.word(j).ok_or_else(|| record.refuse(j, "UTF-8"))?;
    Ok((!word.is_empty()).then(|| word.into_owned()))
}

/// The columns of a table of rules.
struct Header {
    rule: Option<usize>,
    query: Option<usize>,
    document: Option<usize>,
    place: Option<usize>,
    column: Option<usize>,
    most: Option<usize>,
    first: Option<usize>,
}

impl Header {
    fn of(header: &[String]) -> Self {
        let find =
            |names: &[&str]| header.iter().position(|own| names.iter().any(|name| own.eq_ignore_ascii_case(name)));
        Self {
            rule: find(&["rule"]),
            query: find(&["qid", "query"]),
            document: find(&["docid", "document", "id"]),
            place: find(&["place"]),
            column: find(&["column"]),
            most: find(&["most"]),
            first: find(&["first"]),
        }
    }
}
