//! What can be damaged.

use super::suite::Suite;
use super::{
    answers, arrays, frames, inputs, label_models, learned, links, match_models, matches, models, options, pictures,
    readers, tags, words,
};

/// One kind of input.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Inputs in a usual run.
    pub(crate) usual: usize,
    #[cfg_attr(not(test), expect(dead_code))] // of tests alone
    /// The least share of a usual run that is taken: damage that nothing survives would test the readers alone.
    pub(crate) taken: f64,
    /// Tries about so many inputs.
    pub(crate) run: fn(&mut Suite, usize),
}

const fn target(name: &'static str, usual: usize, taken: f64, run: fn(&mut Suite, usize)) -> Target {
    Target { name, usual, taken, run }
}

/// All of them.
pub(crate) const TARGETS: &[Target] = &[
    target("rank-text", 9000, 0.25, readers::damaged_text),
    target("rank-sizes", 1000, 0.05, readers::damaged_sizes),
    target("packing", 12_000, 0.0, readers::damaged_packing),
    target("packed-text", 1500, 0.2, readers::packed_damage),
    target("runs", 2000, 0.1, readers::damaged_runs),
    target("label-files", 5600, 0.25, tags::damaged_tags),
    target("label-names", 2100, 0.05, tags::damaged_names),
    target("match-files", 3500, 0.12, matches::damaged_problems),
    target("match-pairs", 700, 0.07, matches::damaged_pairs),
    target("links", 2000, 0.05, links::damaged_links),
    target("pins", 1000, 0.05, links::damaged_pins),
    target("preferences", 1000, 0.05, links::damaged_preferences),
    target("clicks", 1000, 0.05, links::damaged_clicks),
    target("rules", 1500, 0.03, links::damaged_rules),
    target("rules-json", 1500, 0.03, links::damaged_rules_json),
    target("es-log", 1500, 0.02, links::damaged_es_log),
    target("solr", 1500, 0.02, links::damaged_solr),
    target("splink", 1500, 0.03, links::damaged_splink),
    target("known-pairs", 1000, 0.05, links::damaged_known),
    target("records", 1000, 0.05, links::damaged_records),
    target("parquet", 2000, 0.0, frames::damaged_parquet),
    target("feather", 2000, 0.0, frames::damaged_feather),
    target("scores", 1000, 0.05, links::damaged_scores),
    target("inputs", 2000, 0.05, inputs::damaged_inputs),
    target("gram-npy", 1200, 0.05, arrays::damaged_grams),
    target("gram-table", 1200, 0.05, arrays::damaged_gram_tables),
    target("tensor-npy", 1200, 0.05, arrays::damaged_tensors),
    target("vector-npy", 1200, 0.05, arrays::damaged_vectors),
    target("learned", 1500, 0.01, learned::damaged_learned),
    target("pictures", 2000, 0.02, pictures::damaged_pictures),
    target("models", 20_000, 0.0, models::damaged_models),
    target("forged-models", 20_000, 0.01, models::forged_models),
    target("match-models", 12_000, 0.0, match_models::damaged_matchers),
    target("forged-match-models", 5000, 0.01, match_models::forged_matchers),
    target("label-models", 4000, 0.0, label_models::damaged_annotators),
    target("forged-label-models", 4000, 0.01, label_models::forged_annotators),
    target("answers", 2000, 0.02, answers::damaged_answers),
    target("methods", 3000, 0.01, words::damaged_methods),
    target("metrics", 2000, 0.02, words::damaged_metrics),
    target("options", 100, 0.02, options::damaged_options),
];

#[cfg(test)]
mod tests {
    use super::TARGETS;
    use crate::suite::Suite;

    /// Every target in its usual number.
    #[test]
    fn damaged_inputs_are_refused_or_mean_what_they_say() {
        for target in TARGETS {
            let mut suite = Suite::new();
            (target.run)(&mut suite, target.usual);
            let counts = suite.counts(target.name);
            let share = counts.accepted as f64 / counts.tried as f64;
            assert!(share >= target.taken, "{}: {share} of {} were taken", target.name, counts.tried);
            assert!(counts.tried * 10 >= target.usual * 9, "{}: only {} inputs", target.name, counts.tried);
        }
    }
}
