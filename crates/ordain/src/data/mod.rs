//! Data sets: queries with graded documents ([`RankSet`]), items with labels ([`LabelSet`]) and two sides with candidate
//! edges ([`MatchSet`]). What they hold, and how they are read, split, scaled, written and generated.
//!
//! What serves all three is here; `rank`, `labels` and `matches` hold the set, the readers and the writer of one task.

mod atomic;
mod cells;
mod columns;
mod dates;
mod foreign;
mod groups;
mod labels;
mod layout;
mod losses;
mod matches;
pub(crate) mod notes;
mod npy;
mod number;
mod packing;
#[cfg(feature = "pictures")]
pub mod pictures;
pub mod ranges;
mod rank;
mod records;
pub(crate) mod room;
pub mod scale;
mod set;
mod sniff;
mod source;
pub mod split;
mod strings;
pub mod synthetic;
mod table;
pub mod transform;
mod utf16;

pub use atomic::{abandon_writes, write_whole};
pub use cells::{Cell, Cells, Input, Kept, Kind, Texts, pair_text, vector_text};
pub(crate) use columns::flagged;
pub use columns::{Aligned, Columns, Filled, Missing};
pub use dates::parse_date;
pub use foreign::{Foreign, ForeignTable, read_foreign, write_splink};
pub use groups::Groups;
pub use labels::{ItemQueries, ItemRows, LabelReading, LabelSet, Retrieval, read_labels, side_file, write_labels};
pub use losses::coarse_columns;
pub use matches::{
    Clash, Clashing, Cloud, Context, EdgeRows, MatchReading, MatchSet, PointFeature, Problem, Split, Truth, delaunay,
    delaunay_degrees, is_frames, is_matches, mean_distance, normalised, read_match_splits, read_matches,
    shape_contexts, write_contexts, write_matches,
};
pub use notes::{LONGEST_LINE, Note, max_line, set_max_line, take_notes};
pub use rank::{
    CapRule, ClickFacts, Clicks, DocumentPairs, ExclusionRule, PinRule, Place, PreferenceFacts, Preferences,
    RankReading, RankSet, Rules, check_ids, read, read_parts, read_rank, read_scores, resample, trec, write,
};
pub use records::{Records, RowWriter, fields_of_pairs, read_records, write_records, write_rows};
pub use set::DataSet;
pub use sniff::{Holds, holds, is_labels};
pub use source::{is_stream, read_lines, read_whole};
pub(crate) use source::{peek, read_plain};
pub use strings::Strings;
pub use synthetic::read_contours;
#[cfg(feature = "parquet")]
pub use table::{Frame, Taken};
pub use table::{Role, Roles, all_texts, column_texts, is_table, texts};
