//! What was typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Learns to put things in order: train, measure, explain and compare models that rank documents, give labels, or match two sides.
#[derive(Parser, Debug)]
#[command(name = "ordain", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Start with `ordain demo`, or with your own file: `ordain fit ranksvm train.txt -o model.ordain`, `ordain fit cstar train.arff -o model.ordain`, `ordain fit matchmap edges.csv -o model.ordain`."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args, Debug, Clone, Default)]
pub(crate) struct Common {
    /// One JSON document (or JSON lines) on standard output instead of tables
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Nothing on standard error but errors
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// More on standard error
    #[arg(short, long, global = true, help_heading = "Output", conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Number of threads [default: all cores]; no result depends on it
    #[arg(long, global = true, value_name = "N", help_heading = "Output", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Warnings about the data that are read are errors
    ///
    /// A file without its last line end, columns that lose digits, features or labels that a model does not know
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) strict: bool,
    /// The most bytes of one line of text, unpacked [default: 67108864]
    #[arg(long, global = true, value_name = "BYTES", help_heading = "Output", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub(crate) max_line: Option<u64>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Train a model
    Fit(Fit),
    /// Score documents, give labels or match two sides with a model, or print ranked lists
    Predict(Predict),
    /// Measure a model, scores, one feature or a TREC run
    Evaluate(Evaluate),
    /// Train and test methods side by side
    Compare(Compare),
    /// Say what each method is good for, with a figure
    Methods(Methods),
    /// Show what a model file or a data file holds
    Inspect(Inspect),
    /// Say why one document, or one label of an item, stands above another, or why an item is matched with one and not with another
    Explain(Explain),
    /// Write a model for another program: ONNX, a search engine, a database, Python, XGBoost or LightGBM
    Export(Export),
    /// Convert between LETOR text, CSV, TSV and TREC qrels, or ARFF, CSV, TSV and text of labels, or edges and points of matching; packed or not; or make queries of items (--queries)
    Convert(Convert),
    /// Replay labelling from known labels: what each question is worth
    Simulate(Simulate),
    /// Label items, or the pairs of a matching, in the terminal, asked the best question next
    ///
    /// Answers are y, n and skip; undo and redo; accept takes the best guess over and goes on; next and back go to other items; +LABEL and -LABEL say something that was not asked (of pairs +LEFT = RIGHT and -LEFT = RIGHT); quit ends, and what was said stays
    Ask(Ask),
    /// Serve models over HTTP, and with --items a page on which people label
    Serve(Serve),
    /// Link the records of two tables: who in the one is who in the other
    Link(Link),
    /// Make up data to try things on
    Make(Make),
    /// Turn pictures, sequences of frames or tensors into a table of features
    Features(Features),
    /// Make data, train, compare and write a report: nothing else is needed
    Demo(Demo),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

#[derive(Args, Debug)]
pub(crate) struct Fit {
    #[arg(help = crate::help::methods())]
    pub(crate) method: String,
    /// Training files; - is standard input
    ///
    /// Packed (gzip, zstd) or not. To rank: LETOR text, CSV or TSV; to annotate: ARFF, CSV, TSV or text; to match: CSV or TSV with a row per edge (problem, left, right, features, matched) or a row per point (problem, side, id, x, y; or frame, point, x, y with --pairs)
    #[arg(required = true)]
    pub(crate) train: Vec<PathBuf>,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) output: PathBuf,
    /// Validation file for choices [default: every fifth unit of training]
    #[arg(long, value_name = "FILE")]
    pub(crate) valid: Option<PathBuf>,
    /// A setting of the method, as in --set lambda=0.1
    ///
    /// Repeat it for more; METHOD[lambda=0.1] does the same.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) choosing: Choosing,
    #[command(flatten)]
    pub(crate) rules: Rules,
    #[arg(long, help = "Go on from the interrupted model at the output", long_help = crate::help::resume())]
    pub(crate) resume: bool,
    /// Of kernel=given: the kernel of the items with one another
    ///
    /// A .npy file (rows and columns in the order of the items) or a table with the id of an item first and a column for each item by its id
    #[arg(long, value_name = "FILE", conflicts_with = "valid")]
    pub(crate) gram: Option<PathBuf>,
    /// The newest fifth of the units chooses, by a column of moments
    ///
    /// Instead of every fifth; of a table. The column of the moment, numbers or dates, is no feature. A query or problem is as new as its newest row
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["valid", "pairs", "gram"])]
    pub(crate) split_by: Option<String>,
    /// Of fit auto: how long to try methods, as in 60s, 5m or 2h
    ///
    /// The last fit is included as far as can be told. Only the number of candidates depends on it; --candidates with that number, which is said and stored in the model, repeats it
    #[arg(long, value_name = "TIME", conflicts_with = "candidates")]
    pub(crate) budget: Option<String>,
    /// Of fit auto: how many candidates of the list to try [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) candidates: Option<usize>,
    /// Of quadrank and ccrf: links between documents
    ///
    /// A table with the columns qid, doc_a, doc_b and a column for each feature of the pair. Of quadrank the link of a pair is v times its features, and v is learned; of ccrf each feature, at least 0, says how alike the two are, and how much they pull at each other's scores by it is learned
    #[arg(long, value_name = "FILE")]
    pub(crate) links: Option<PathBuf>,
    /// Of scorer=trees: the scores of another model, which trees are added to
    ///
    /// One per line, in the order of the rows of the training files and then of the validation file
    #[arg(long, value_name = "SCORES")]
    pub(crate) start: Option<PathBuf>,
    /// Of methods of pairs: which of two documents is better, not grades
    ///
    /// A table with the columns qid, winner, loser and, if they do not all count alike, weight. A pair weighs what its row says, and twice as much where it stands there twice; weights of documents have no part in it. What is open is chosen by pairs, the share of their weight in the right order. For ranksvm (of trees with loss=logistic), ranknet, rankboost, frank and qbrank
    #[arg(long, value_name = "FILE", conflicts_with = "clicks")]
    pub(crate) preferences: Option<PathBuf>,
    /// Of methods of pairs: clicks, weighed against what stood on top
    ///
    /// `ips[,eta=1][,clip=10][,position=COLUMN]`: the training table has the columns clicked (1 or 0; --label names another) and position (from 1), and each of its queries is one list that was shown. A clicked document is preferred to all above it that were not clicked and to the next one below; a pair weighs position^eta of its clicked document, at most clip
    #[arg(long, value_name = "ips[,eta=1]")]
    pub(crate) clicks: Option<String>,
    /// Answers of people, as ask and serve write them
    ///
    /// They stand in place of what the data say of these items, pairs and documents; what nobody answered is not known, and never counts as no
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) columns: Columns,
    #[command(flatten)]
    pub(crate) points: Points,
}

#[derive(Args, Debug)]
pub(crate) struct Choosing {
    /// The metric of the choice by validation
    ///
    /// (default: ndcg@10, of labels bep, of matches hamming, with null=true f1)
    #[arg(long, value_name = "METRIC")]
    pub(crate) choose_by: Option<String>,
    /// No last fit on training and validation together after a choice
    ///
    /// Keep the fit on the training part.
    #[arg(long)]
    pub(crate) no_refit: bool,
    /// Seed of whatever is random
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Reading {
    /// What an empty value, NULL or nan means
    ///
    /// A model remembers it [default: error; of matchers indicator, if there are gaps]
    #[arg(long, value_enum)]
    pub(crate) missing: Option<MissingArg>,
    /// Which columns are labels of items
    ///
    /// FILE.xml for ARFF, names a,b,c for CSV and TSV, FILE.txt with a name per line for text [default: the only .xml in the folder; the column labels, or with a model its labels; labels.txt]
    #[arg(long, value_name = "FILE|NAMES")]
    pub(crate) labels: Option<String>,
}

/// Which columns of a table mean what. A model remembers them.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Columns of a table")]
pub(crate) struct Columns {
    /// The column of the grade of a document [default: label, else relevance, grade, rel, target]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// The column of the query of a document [default: qid, else query, query_id, group]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) query: Option<String>,
    /// The column of the id of a document or an item [default: docid, else doc_id, docno, id; of items id, else item]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// The column of the weight of a document; a pair counts the root of the product of its two, and a query whose documents all have one weight counts that [default: weight]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) weight: Option<String>,
    /// The column of the problem of an edge [default: problem]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) problem: Option<String>,
    /// The column of the left item of an edge [default: left]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) left: Option<String>,
    /// The column of the right item of an edge [default: right]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) right: Option<String>,
    /// The column that says whether an edge is matched: 1, 0, or nothing where it is not known [default: matched]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) matched: Option<String>,
    /// Columns that are left out, such as titles; names with commas in quotes
    #[arg(long, value_name = "COLUMN,…", conflicts_with = "features")]
    pub(crate) ignore: Option<String>,
    /// The columns that are features; all others that have no meaning are left out [default: all others]
    #[arg(long, value_name = "COLUMN,…")]
    pub(crate) features: Option<String>,
    /// What the cells of a column are, of which the training part teaches how to make numbers: COLUMN:text (TF-IDF of words; title:text[words=2,letters=3,most=20000] adds pairs of words and runs of letters, hash=65536 needs no vocabulary), COLUMN:category, COLUMN:date, COLUMN:vector (numbers between blanks or commas; COLUMN:vector=FILE.npy takes the rows of a file), A,B:vectors (product, cosine and differences of two columns of vectors), COLUMN:image (paths of pictures, from the folder of the table; photo:image[colour=64,edges=16,grid=4,fisher=16] says which features) or COLUMN:number; repeat it for more columns
    #[arg(long = "input", value_name = "COLUMN:KIND")]
    pub(crate) inputs: Vec<String>,
}

/// How points are read, of which matching makes edges.
#[derive(Args, Debug, Default)]
pub(crate) struct Points {
    /// What a pair of points is compared by: shape-context, shape-context-abs, coordinates, degree, descriptors (all other columns); a model knows its own [default: shape-context, and descriptors if there are any]
    #[arg(long, value_name = "NAME,…", help_heading = "Matching")]
    pub(crate) point_features: Option<String>,
    /// Which frames of points are matched with one another: CSV with the columns frame_a, frame_b and, if wanted, split (train, validate, test)
    #[arg(long, value_name = "FILE", help_heading = "Matching")]
    pub(crate) pairs: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq)]
pub(crate) enum MissingArg {
    /// It is refused
    Error,
    /// It is 0
    Zero,
    /// It is the mean of its column in the training data
    Mean,
    /// It is that mean, and a column NAME_missing beside each column with gaps says where they were
    Indicator,
    /// It stays missing: for trees alone (scorer=trees), which learn where it goes
    Keep,
}

#[derive(Args, Debug)]
pub(crate) struct Predict {
    /// The model
    pub(crate) model: PathBuf,
    /// The data
    pub(crate) data: PathBuf,
    /// Print the K best documents of each query instead of one score per row, the K best labels of each item instead of those it would be given (by probability, with trainer=margin by margin; their score is without links), or the K best candidates of each left item instead of the matches
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) top: Option<u32>,
    /// Print probabilities too: of documents that of each head place and of the head, and the expected rank; of labels their own (not with trainer=margin); matches show theirs without being asked
    #[arg(long, conflicts_with = "run")]
    pub(crate) probabilities: bool,
    /// Of a matcher: print the N most doubtful matches of all problems, the most doubtful first, for a person to check
    #[arg(long, value_name = "N", conflicts_with_all = ["top", "run"], value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) check: Option<u32>,
    /// Print a TREC run with this tag instead
    #[arg(long, value_name = "TAG", conflicts_with = "json")]
    pub(crate) run: Option<String>,
    /// What the answer is best for, instead of what the model was fitted for. The labels that an item is given: f1, hamming, count or threshold. Matches: map (the likeliest matching) or marginals (the most items that are expected to be matched rightly)
    #[arg(long, value_name = "WHAT")]
    pub(crate) decide: Option<String>,
    /// Of a matcher: drop matches that are less likely than P; their items stay unmatched
    #[arg(long, value_name = "P", value_parser = share)]
    pub(crate) min_probability: Option<f64>,
    /// Of a matcher: drop matches that are less likely than the least probability at which the matches of validation were as precise as P (.99: 99 of 100 right), as the model remembers them
    #[arg(long, value_name = "P", value_parser = share, conflicts_with_all = ["min_probability"])]
    pub(crate) precision: Option<f64>,
    /// Of quadrank: places that are known beforehand, a table with the columns qid, docid and place (from 1)
    #[arg(long, value_name = "FILE")]
    pub(crate) pin: Option<PathBuf>,
    /// Print ranked lists under rules: pins, exclusions and caps, a table with the columns rule, qid, docid, place, column, most, first, or JSON
    ///
    /// pin: docid stands at place (from 1). exclude: docid is left out. Both hold for one query, or without qid for all. cap: at most MOST documents with one value of COLUMN of the data among the FIRST places; a document without a value is not limited. The order is the best one under the rules; with caps on several columns --json says how far from it another could be
    #[arg(long, value_name = "FILE", conflicts_with = "probabilities")]
    pub(crate) rules: Option<PathBuf>,
    /// Of a model with kernel=given: the kernel of the items with its training items, .npy or a table with the id of an item first and a column for each training item by its id
    #[arg(long, value_name = "FILE")]
    pub(crate) gram: Option<PathBuf>,
    /// Of a model that was fitted with --links: the features of pairs of documents, as there (qid, doc_a, doc_b, features)
    #[arg(long, value_name = "FILE")]
    pub(crate) links: Option<PathBuf>,
    /// Of a model that was fitted with --start: the scores of the same other model on these rows, one per line
    #[arg(long, value_name = "SCORES")]
    pub(crate) start: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) columns: Columns,
    #[command(flatten)]
    pub(crate) points: Points,
}

#[derive(Args, Debug)]
pub(crate) struct Evaluate {
    /// MODEL DATA…, or DATA… alone with --scores or --feature; a folder stands for its parts S1, S2 …
    #[arg(value_name = "MODEL|DATA")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Scores to measure, one per row of DATA; of items a line per item with one score per label
    #[arg(long, value_name = "FILE", conflicts_with_all = ["feature", "run"])]
    pub(crate) scores: Option<PathBuf>,
    /// A feature to rank or match by, by number or name; of a distance between two sides --feature=-NAME
    #[arg(long, value_name = "N|NAME", conflicts_with = "run")]
    pub(crate) feature: Option<String>,
    /// A TREC run to measure
    #[arg(long, requires = "qrels")]
    pub(crate) run: Option<PathBuf>,
    /// The judgements for --run
    #[arg(long, requires = "run")]
    pub(crate) qrels: Option<PathBuf>,
    /// Answers of several people on DATA, as ask and serve write them: how far they agree (Cohen's kappa of each two, Krippendorff's alpha of all; grades that are close count as half agreed); needs the model that they were asked with
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scores", "feature", "run", "importance", "per_query"])]
    pub(crate) answers: Option<PathBuf>,
    /// Every query, item or problem by itself too
    #[arg(long)]
    pub(crate) per_query: bool,
    /// What each feature is worth to the model: by how much ndcg@10 (else the first metric) gets worse when its values are exchanged between queries, items or problems, the mean of three draws
    #[arg(long, conflicts_with_all = ["scores", "feature", "run"])]
    pub(crate) importance: bool,
    /// What the answer is best for, instead of what the model was fitted for. The labels that an item is given: f1, hamming, count or threshold. Matches: map (the likeliest matching) or marginals (the most items that are expected to be matched rightly)
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["scores", "feature", "run"])]
    pub(crate) decide: Option<String>,
    /// Of a matcher: drop matches that are less likely than P; their items stay unmatched
    #[arg(long, value_name = "P", value_parser = share, conflicts_with_all = ["scores", "feature", "run"])]
    pub(crate) min_probability: Option<f64>,
    /// Of a matcher: drop matches that are less likely than the least probability at which the matches of validation were as precise as P (.99: 99 of 100 right), as the model remembers them
    #[arg(long, value_name = "P", value_parser = share, conflicts_with_all = ["min_probability", "scores", "feature", "run"])]
    pub(crate) precision: Option<f64>,
    /// Of a model by quadrank: places that are known beforehand, a table with the columns qid, docid and place (from 1)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scores", "feature", "run"])]
    pub(crate) pin: Option<PathBuf>,
    /// Of a model that was fitted with --links: the features of pairs of documents, as there (qid, doc_a, doc_b, features)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scores", "feature", "run"])]
    pub(crate) links: Option<PathBuf>,
    /// Which of two documents is better, in place of grades (qid, winner, loser, weight); measured by pairs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scores", "feature", "run"])]
    pub(crate) preferences: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) metrics: Metrics,
    /// Of a model with kernel=given: the kernel of the items with its training items, .npy or a table with the id of an item first and a column for each training item by its id
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scores", "feature", "run"])]
    pub(crate) gram: Option<PathBuf>,
    /// Of a model that was fitted with --start: the scores of the same other model on these rows, one per line
    #[arg(long, value_name = "SCORES", conflicts_with_all = ["scores", "feature", "run"])]
    pub(crate) start: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) columns: Columns,
    #[command(flatten)]
    pub(crate) points: Points,
}

#[derive(Args, Debug)]
pub(crate) struct Metrics {
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Metrics: ndcg@k, ndcg, dcg@k, map, p@k, recall@k, mrr, err@k, wta, bep, kendall, pairs; of labels bep (the model is told the true number of labels of each item, an oracle as in the paper, and its answer for that number is measured), bep_learned (the model ranks labels without being told; the first k of that ranking are counted, with k the true number), p@k, ap, rankloss, coverage (of that ranking), hamming, f1 (by the number that the model itself chose); of matches hamming (share matched wrongly), accuracy, precision, recall, f1, nll, ece (default: ndcg@1,ndcg@3,ndcg@5,ndcg@10,map; of labels bep,bep_learned,p@5,ap,rankloss,f1; of matches all of them)
    #[arg(long = "metric", value_name = "METRIC", value_delimiter = ',')]
    pub(crate) metric: Vec<String>,
    #[command(flatten)]
    pub(crate) rules: Rules,
}

/// The rules of metrics; those of a fit are the rules of its choice.
#[derive(Args, Debug, Default)]
pub(crate) struct Rules {
    /// Rules of the metrics, of rankings and of labels: standard, letor2, letor4, trec, sklearn, lightgbm, xgboost [default: standard]
    #[arg(long, value_name = "NAME", help_heading = "Conventions")]
    pub(crate) convention: Option<String>,
    /// What a grade is worth: exp is 2^grade − 1
    #[arg(long, value_enum, help_heading = "Conventions")]
    pub(crate) gain: Option<GainArg>,
    /// What a place is worth: log2 is 1/log2(1 + rank), letor counts ranks 1 and 2 fully
    #[arg(long, value_enum, help_heading = "Conventions")]
    pub(crate) discount: Option<DiscountArg>,
    /// What a query without a relevant document counts
    #[arg(long, value_enum, help_heading = "Conventions")]
    pub(crate) empty: Option<EmptyArg>,
    /// What NDCG@k is with fewer than k documents
    #[arg(long, value_enum, help_heading = "Conventions")]
    pub(crate) short: Option<ShortArg>,
    /// How documents of the same score stand
    #[arg(long, value_enum, help_heading = "Conventions")]
    pub(crate) ties: Option<TiesArg>,
    /// A document is relevant from this grade on [default: above 0]
    #[arg(long, value_name = "GRADE", help_heading = "Conventions")]
    pub(crate) relevant_from: Option<f64>,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum GainArg {
    Exp,
    Linear,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum DiscountArg {
    Log2,
    Letor,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum EmptyArg {
    Skip,
    Zero,
    One,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum ShortArg {
    Keep,
    Zero,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum TiesArg {
    Average,
    Input,
    Id,
}

#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Methods, with settings in brackets: ranksvm 'ranksvm[weight=pair,lambda=1]'
    #[arg(required = true)]
    pub(crate) methods: Vec<String>,
    /// Training file; with --pairs that have a split the points of all parts, and then no --test
    #[arg(long, value_name = "FILE", conflicts_with_all = ["folds", "cv"])]
    pub(crate) train: Option<PathBuf>,
    /// Validation file [default: every fifth training query, item or problem]
    #[arg(long, value_name = "FILE", requires = "train")]
    pub(crate) valid: Option<PathBuf>,
    /// The newest fifth of the training file is the test part (without --test), and the newest fifth of the rest chooses; of a table. The column of the moment, numbers or dates; it is no feature
    #[arg(long, value_name = "COLUMN", requires = "train", conflicts_with_all = ["valid", "pairs", "cv", "folds"])]
    pub(crate) split_by: Option<String>,
    /// Test file
    #[arg(long, value_name = "FILE", requires = "train")]
    pub(crate) test: Option<PathBuf>,
    /// A folder of folds: Fold1..FoldN with train, vali and test, or parts S1..S5
    #[arg(long, value_name = "DIR", conflicts_with = "cv")]
    pub(crate) folds: Option<PathBuf>,
    /// Cross-validation, as in --cv 5 train.txt: query i is tested in fold i mod K
    #[arg(long, num_args = 2, value_names = ["K", "FILE"])]
    pub(crate) cv: Option<Vec<String>>,
    /// Permute the queries before --cv
    #[arg(long, value_name = "SEED", requires = "cv")]
    pub(crate) shuffle: Option<u64>,
    /// Only this fold: with --cv fold 0 to K-1 (unit i is tested in fold i mod K), with --folds Fold1 to FoldN
    #[arg(long, value_name = "I")]
    pub(crate) only_fold: Option<usize>,
    #[command(flatten)]
    pub(crate) choosing: Choosing,
    /// Fit again on training and validation after a choice [default: except with --folds]
    #[arg(long, conflicts_with = "no_refit")]
    pub(crate) refit: bool,
    /// Fit a method that draws so many times, with seeds from --seed on, and take the mean of each query, item or problem; one whose results do not change with the seed is fitted once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: u64,
    /// Figures of others to print and draw beside: a table with the columns algorithm, metric and value, and perhaps set (rows other than test are left out) and fold (the mean of those with a number is taken)
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) published: Option<PathBuf>,
    /// Of quadrank and ccrf: links between documents, a table with the columns qid, doc_a, doc_b and a column for each feature of the pair
    #[arg(long, value_name = "FILE")]
    pub(crate) links: Option<PathBuf>,
    /// Of methods of pairs: which of two documents is better, not grades
    ///
    /// A table with the columns qid, winner, loser and, if they do not all count alike, weight, of all queries that train, choose and test. What is measured is pairs, the share of their weight in the right order, unless --metric says otherwise
    #[arg(long, value_name = "FILE")]
    pub(crate) preferences: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) asking: Asking,
    #[command(flatten)]
    pub(crate) metrics: Metrics,
    /// Of kernel=given: the kernel of the items with one another, .npy (rows and columns in the order of the items) or a table with the id of an item first and a column for each item by its id
    #[arg(long, value_name = "FILE", requires = "cv")]
    pub(crate) gram: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) columns: Columns,
    #[command(flatten)]
    pub(crate) points: Points,
}

/// Questions about the labels of test items.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Questions")]
pub(crate) struct Asking {
    /// Of labels: ask about every test item as well, answer from its known labels, and give the break-even precision before the first question (Auto) and after so many, as in --questions 1,5,10
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(crate) questions: Vec<usize>,
    /// Which label is asked: expected, paper, entropy, random [default: expected]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "questions")]
    pub(crate) strategy: Vec<String>,
    /// How many labels an item has: told, as in the paper, or learned [default: oracle]
    #[arg(long, value_enum, requires = "questions")]
    pub(crate) count: Option<CountArg>,
}

#[derive(Args, Debug)]
pub(crate) struct Methods {
    /// Only those of this task
    #[arg(long, value_enum)]
    pub(crate) task: Option<TaskArg>,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum TaskArg {
    /// Documents in order
    Rank,
    /// Labels of items
    Annotate,
    /// Two sides
    Match,
}

#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// A model file or a data file
    pub(crate) file: PathBuf,
    /// Another part of the data: what stands in both, which a test part should not
    pub(crate) other: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) columns: Columns,
    #[command(flatten)]
    pub(crate) points: Points,
}

#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// The model
    pub(crate) model: PathBuf,
    /// The data
    pub(crate) data: PathBuf,
    /// The query, the item (--item) or the problem (--problem), by its id; items without ids count from 1; a file with a single problem needs none
    #[arg(long, visible_aliases = ["item", "problem"], value_name = "ID")]
    pub(crate) query: Option<String>,
    /// Of a matcher: the left item to explain [default: that of the most doubtful match of the problem]
    #[arg(long, value_name = "ID")]
    pub(crate) left: Option<String>,
    /// The document above: its id, or #N for the N-th of the query in the file; of an item a label; of a left item a right one [default: the first of the ranking, or the match]
    #[arg(long)]
    pub(crate) above: Option<String>,
    /// The document, label or right item below [default: the second of the ranking, or the next best candidate]
    #[arg(long)]
    pub(crate) below: Option<String>,
    /// Of a model that was fitted with --links: the features of pairs of documents, as there (qid, doc_a, doc_b, features)
    #[arg(long, value_name = "FILE")]
    pub(crate) links: Option<PathBuf>,
    /// Of a model with kernel=given: the kernel of the items with its training items, as for predict
    #[arg(long, value_name = "FILE")]
    pub(crate) gram: Option<PathBuf>,
    /// Of a model that was fitted with --start: the scores of the same other model on these rows, one per line
    #[arg(long, value_name = "SCORES")]
    pub(crate) start: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) points: Points,
}

#[derive(Args, Debug)]
pub(crate) struct Export {
    /// The model
    pub(crate) model: PathBuf,
    /// onnx, elasticsearch, opensearch, solr, sql, json, python, xgboost or lightgbm
    #[arg(long, value_name = "TARGET")]
    pub(crate) to: String,
    /// The file to write; FILE.check.json beside it holds rows and their scores, to be tried there
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Data for the self-check [default: made-up rows]
    #[arg(long, value_name = "DATA")]
    pub(crate) check: Option<PathBuf>,
    /// Rows of the data in the self-check, whole queries of them
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) rows: usize,
    /// The name of the model there [default: ordain]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Elasticsearch and OpenSearch: the feature set, for what is said
    #[arg(long, value_name = "NAME")]
    pub(crate) featureset: Option<String>,
    /// Solr: the feature store [default: _DEFAULT_]
    #[arg(long, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// Another name of a column there; repeat it for more
    #[arg(long, value_name = "COLUMN=NAME")]
    pub(crate) map: Vec<String>,
    /// Search engines: add a constant by a feature ordain_shift, so that no score of the self-check is below 1
    #[arg(long)]
    pub(crate) shift: bool,
    /// SQL: sqlite, duckdb, postgres or bigquery
    #[arg(long, default_value = "sqlite")]
    pub(crate) dialect: String,
    /// SQL: the table [default: documents]
    #[arg(long)]
    pub(crate) table: Option<String>,
    /// SQL: the column that names the query [default: qid; of matchers problem]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) group: Option<String>,
    /// SQL: the columns that name a row [default: docid; of items id; of edges left,right]
    #[arg(long, value_name = "COLUMN,…")]
    pub(crate) key: Option<String>,
    /// ONNX: every call holds the rows of one query, so that scale=query and scale=minmax can be written
    #[arg(long)]
    pub(crate) one_query_per_call: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Args, Debug)]
pub(crate) struct Convert {
    /// The files to read, joined in this order
    #[arg(required = true)]
    pub(crate) input: Vec<PathBuf>,
    /// What wrote the files, where it was another program: its columns become those of a table
    ///
    /// es-log: answers of _search with a feature log (Learning to Rank for Elasticsearch and OpenSearch), one or one per line; solr: answers with `[features]`; each answer is one query, named by its member qid, of Solr else by q, else by its file. splink: predicted edges; comparisons (gamma_…) and match_weight become features, and a problem is what edges join
    #[arg(long, value_enum, value_name = "PROGRAM", conflicts_with_all = ["queries", "missing", "label", "query", "id", "weight", "problem", "left", "right", "matched", "ignore", "features", "inputs", "point_features", "pairs"])]
    pub(crate) from: Option<FromArg>,
    /// With --from es-log or solr: the grades, as TREC qrels; a document that is not in them has grade 0
    ///
    /// With --from splink --labels FILE has them: unique_id_l, unique_id_r, clerical_match_score
    #[arg(long, value_name = "FILE", requires = "from")]
    pub(crate) qrels: Option<PathBuf>,
    /// Write edges of matching for another program: splink (unique_id_l, unique_id_r, features, clerical_match_score)
    #[arg(long, value_enum, value_name = "PROGRAM", conflicts_with_all = ["from", "queries", "missing"])]
    pub(crate) to: Option<ToArg>,
    /// The file to write; its name says the format: .txt, .csv, .tsv or .qrels, of labels .arff, .csv, .tsv or .txt, of matching .csv or .tsv, then .gz or .zst to pack it
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) columns: Columns,
    #[command(flatten)]
    pub(crate) points: Points,
    #[command(flatten)]
    pub(crate) items: Items,
}

/// How queries are made of items.
#[derive(Args, Debug, Default)]
pub(crate) struct Items {
    /// Make ranking data of items with features: category=COLUMN makes every category a query and all items its documents, relevant where they have it; labels does so of every label; image=COLUMN makes every item a query and the others its documents, relevant where the category is the same, with the features |x - y|; image does so where they share a label
    #[arg(long, value_name = "WHAT", help_heading = "Queries of items")]
    pub(crate) queries: Option<String>,
    /// Which items are taken, by their place in the files, from 0: two halves are even and odd
    #[arg(long, value_enum, default_value_t = RowsArg::All, requires = "queries", help_heading = "Queries of items")]
    pub(crate) rows: RowsArg,
    /// At most this many items of each category, the first; of labels an item is taken while one of its labels has room
    #[arg(long, value_name = "K", requires = "queries", help_heading = "Queries of items", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) per_category: Option<u32>,
    /// Only this many labels, the commonest
    #[arg(long, value_name = "N", requires = "queries", help_heading = "Queries of items", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) commonest: Option<u32>,
    /// Only labels that are on at most this many items
    #[arg(long, value_name = "P", requires = "queries", help_heading = "Queries of items", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) at_most: Option<u32>,
    /// Count labels for --commonest and --at-most only in the first R items
    #[arg(long, value_name = "R", requires = "queries", help_heading = "Queries of items", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) among_first: Option<u32>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq)]
pub(crate) enum FromArg {
    /// Feature logs of Elasticsearch and OpenSearch
    EsLog,
    /// Features of Solr
    Solr,
    /// Edges of splink
    Splink,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq)]
pub(crate) enum ToArg {
    /// Edges for splink
    Splink,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum RowsArg {
    /// All items
    #[default]
    All,
    /// The first, the third, …
    Even,
    /// The second, the fourth, …
    Odd,
}

#[derive(Args, Debug)]
pub(crate) struct Simulate {
    /// The model
    pub(crate) model: PathBuf,
    /// Items whose labels are known
    pub(crate) data: PathBuf,
    /// Numbers of questions after which to measure
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,5,10")]
    pub(crate) questions: Vec<usize>,
    /// Which label is asked: paper (the smallest difference of scores), entropy (the most uncertain label), expected (the largest expected precision), random
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "expected,paper,entropy,random")]
    pub(crate) strategy: Vec<String>,
    /// Another model to put beside it, such as an independent one
    #[arg(long, value_name = "MODEL2")]
    pub(crate) against: Option<PathBuf>,
    /// Only the first N items
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<usize>,
    /// How many labels an item has: told, as in the paper, or learned
    #[arg(long, value_enum, default_value_t = CountArg::Oracle)]
    pub(crate) count: CountArg,
    /// Seed of the random strategy
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Write an HTML report with the curves
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Of a model with kernel=given: the kernel of the items with its training items, .npy or a table with the id of an item first and a column for each training item by its id
    #[arg(long, value_name = "FILE")]
    pub(crate) gram: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq)]
pub(crate) enum CountArg {
    /// The model is told the true number of labels
    Oracle,
    /// The model goes by what it has learned about the number of labels
    Learned,
}

#[derive(Args, Debug)]
pub(crate) struct Ask {
    /// The model
    pub(crate) model: PathBuf,
    /// The items, or the problems of a matcher; what is known of them already is not looked at
    pub(crate) data: PathBuf,
    /// Where answers are written, one line each before the next question; an existing file is continued
    #[arg(short, long, value_name = "FILE", default_value = "answers.jsonl")]
    pub(crate) output: PathBuf,
    /// Questions per item or problem [default: 10 per item, all doubtful pairs of a problem]
    #[arg(long, value_name = "N")]
    pub(crate) questions: Option<usize>,
    /// Which item or problem comes next
    #[arg(long, value_enum, default_value_t = AskOrder::File)]
    pub(crate) order: AskOrder,
    /// Who answers: stands beside every answer, and undo takes back answers of this person alone
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Columns of the table to show with each item or pair, such as its title or the path of its picture; of a pair those of both sides (left.name and right.name, name_l and name_r) beside each other [default: texts, categories, dates and pictures that the model reads]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) show: Vec<String>,
    /// Which label is asked: expected, entropy, paper, random
    #[arg(long, value_name = "NAME", default_value = "expected")]
    pub(crate) strategy: String,
    /// Seed of the random strategy and the random order
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Of a model with kernel=given: the kernel of the items with its training items, .npy or a table with the id of an item first and a column for each training item by its id
    #[arg(long, value_name = "FILE")]
    pub(crate) gram: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Models, each with a name if it is to have another than its file
    #[arg(required = true, value_name = "MODEL[=NAME]")]
    pub(crate) models: Vec<String>,
    /// Read a model again when its file changes, as SIGHUP does
    #[arg(long)]
    pub(crate) watch: bool,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", help_heading = "Access")]
    pub(crate) bind: std::net::SocketAddr,
    /// Who may ask: a file of lines TOKEN or NAME:TOKEN, env:VARIABLE with such lines, or none on a loopback address [default: a token made up at the start]
    #[arg(long, value_name = "FILE|env:NAME|none", help_heading = "Access")]
    pub(crate) token: Option<String>,
    /// A name by which the server may be called, beside its address; repeat it for more
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    pub(crate) allow_host: Vec<String>,
    /// What people label on the page, with the one model that is served
    #[arg(long, value_name = "DATA", help_heading = "Labelling")]
    pub(crate) items: Option<PathBuf>,
    /// Where the labels of the items are, as in fit
    #[arg(long, value_name = "FILE|NAMES", requires = "items", help_heading = "Labelling")]
    pub(crate) labels: Option<String>,
    /// Where answers are written; an existing file is continued
    #[arg(long, value_name = "FILE", default_value = "answers.jsonl", help_heading = "Labelling")]
    pub(crate) answers: PathBuf,
    /// Columns of the table to show with each item [default: texts, categories, dates and pictures that the model reads, else its features]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "items", help_heading = "Labelling")]
    pub(crate) show: Vec<String>,
    /// Of matches: two tables whose column id has the items of the left and of the right, to show their records field by field
    #[arg(long, value_names = ["LEFT", "RIGHT"], num_args = 2, requires = "items", help_heading = "Labelling")]
    pub(crate) records: Vec<PathBuf>,
    /// A folder of pictures: a cell of a column that is shown is a picture of it, if it ends as one (png, jpg, gif, webp, bmp)
    #[arg(long, value_name = "FOLDER", requires = "items", help_heading = "Labelling")]
    pub(crate) media: Option<PathBuf>,
    /// Which label is asked: expected, entropy, paper, random
    #[arg(long, value_name = "NAME", default_value = "expected", help_heading = "Labelling")]
    pub(crate) strategy: String,
    /// Nobody sees what the model thinks before the answer
    #[arg(long, requires = "items", help_heading = "Labelling")]
    pub(crate) blind: bool,
    /// How many people are offered the same item
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Labelling", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) overlap: u16,
    /// The expected precision, and share of right control questions, that is enough
    #[arg(long, value_name = "P", default_value_t = 0.95, help_heading = "Labelling")]
    pub(crate) target: f64,
    /// After every N answers, fit the model's method on all of them beside those who go on; it is served, and saved as MODEL.learned.ordain, if it is not worse on answers that were held out
    #[arg(long, value_name = "N", requires = "items", help_heading = "Labelling", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) learn: Option<u32>,
    /// With --learn: data with known labels, matches or grades to learn from as well, such as those that the model was fitted on; --items needs a column of labels too then, which may be empty
    #[arg(long, value_name = "DATA", requires = "learn", help_heading = "Labelling")]
    pub(crate) teach: Option<PathBuf>,
    /// Serve the contract of a machine learning backend of Label Studio; with =complete a label that is not chosen there counts as no
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "chosen", value_name = "HOW", help_heading = "Other programs")]
    pub(crate) label_studio: Option<LabelStudioArg>,
    /// Serve the REST interface of Annif
    #[arg(long, requires = "vocabulary", help_heading = "Other programs")]
    pub(crate) annif: bool,
    /// The subjects that an Annif client knows: lines of a URI, a tab and a label, as annif load-vocab reads them
    #[arg(long, value_name = "FILE", requires = "annif", help_heading = "Other programs")]
    pub(crate) vocabulary: Option<PathBuf>,
    /// Write what clients of Annif teach (/learn) to the answers
    #[arg(long, requires = "annif", requires = "items", help_heading = "Other programs")]
    pub(crate) accept_learn: bool,
    /// The language of the vocabulary
    #[arg(long, value_name = "CODE", default_value = "en", help_heading = "Other programs")]
    pub(crate) language: String,
    /// The most bytes of a request
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20, help_heading = "Limits")]
    pub(crate) max_body: usize,
    /// The most rows of a request: documents, items or edges
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = "Limits")]
    pub(crate) max_rows: usize,
    /// The most seconds of a request
    #[arg(long, value_name = "SECONDS", default_value_t = 30, help_heading = "Limits", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelStudioArg {
    /// Labels that are chosen apply; nothing is known of the others
    Chosen,
    /// Labels that are not chosen do not apply
    Complete,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskOrder {
    /// Those that the model is least sure of first
    Doubtful,
    /// As the file has them
    File,
    /// At random, by the seed
    Random,
}

#[derive(Args, Debug)]
pub(crate) struct Link {
    /// The left table: CSV, TSV, Parquet or Feather, packed or not
    pub(crate) left: PathBuf,
    /// The right table; columns of the same names are compared
    pub(crate) right: PathBuf,
    /// The column of the ids of records, in both tables
    #[arg(long, value_name = "COLUMN", default_value = "id")]
    pub(crate) id: String,
    /// Pairs that are known: a table with the columns left, right and, if wanted, matched (1 or 0; a match says that neither record matches any other), or answers of ask
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    /// Which pairs are looked at: those that share COLUMN, COLUMN:N (its first N characters) or COLUMN:soundex, or several of these joined by +; or sort:COLUMN:N (neighbours in its order). Repeat it for more rules [default: rules that follow from the tables]
    #[arg(long, value_name = "RULE")]
    pub(crate) block: Vec<String>,
    /// How columns are compared: COLUMN:HOW, with more after commas; HOW is exact, jaro, levenshtein, tokens, ngrams, number, date or frequency (rare values that agree count for more) [default: by what the columns hold]
    #[arg(long, value_name = "COLUMN:HOW,…")]
    pub(crate) compare: Vec<String>,
    /// Where to write the links: left, right and probability, the most doubtful first; an item that stays alone has an empty side. Candidate pairs (.pairs.csv) and the model (.ordain) are written beside it
    #[arg(short, long, value_name = "LINKS")]
    pub(crate) output: PathBuf,
    /// Write an HTML report
    #[arg(long, value_name = "FILE", requires = "known")]
    pub(crate) report: Option<PathBuf>,
    /// Several left records may belong to the same right one
    #[arg(long)]
    pub(crate) right_many: bool,
    /// Drop links that are less likely than P, other than known ones; their records stay alone
    #[arg(long, value_name = "P", value_parser = share, requires = "known")]
    pub(crate) min_probability: Option<f64>,
}

#[derive(Args, Debug)]
pub(crate) struct Make {
    /// What to make
    #[arg(value_enum)]
    pub(crate) what: MakeArg,
    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// How many records, of either side
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) records: u32,
    /// How many matches are known
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) known: u32,
    /// How many pictures or sequences of each class [default: 20 pictures, 347 sequences in all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) each: Option<u32>,
    /// Videos: pictures to make the sequences of, a folder for each class, in place of made-up silhouettes
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Seed
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum MakeArg {
    /// Two registers of people to link: left.csv, right.csv, known.csv (some matches) and truth.csv (all)
    Linkage,
    /// Queries whose documents have three levels of relevance in the plane: train.txt and test.txt
    Levels,
    /// Pictures of silhouettes, a folder for each of 10 classes, and pictures.csv with their paths
    Silhouettes,
    /// Sequences of five frames in which a silhouette turns, leans and grows, a folder each, in folders of 10 classes
    Videos,
}

#[derive(Args, Debug)]
pub(crate) struct Features {
    /// Folders of pictures (PNG, JPEG, GIF, BMP, WebP), also in folders below, which become categories; single pictures; with --tensor folders of frames, or one .npy array whose first dimension counts the samples
    #[arg(required = true)]
    pub(crate) input: Vec<PathBuf>,
    /// The table to write, .csv or .tsv, then .gz or .zst to pack it; - is standard output
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) output: PathBuf,
    /// Colour histogram of N bins, N/8 of hue x 2 of saturation x 4 of value
    #[arg(long, value_name = "N", help_heading = "Features")]
    pub(crate) colour: Option<usize>,
    /// Mean colour (Y, Cb, Cr) of each cell of the grid
    #[arg(long, help_heading = "Features")]
    pub(crate) layout: bool,
    /// Pixels on edges in each of N directions, in each cell of the grid
    #[arg(long, value_name = "N", help_heading = "Features")]
    pub(crate) edges: Option<usize>,
    /// Histogram of gradients of N directions, in each cell of the grid
    #[arg(long, value_name = "N", help_heading = "Features")]
    pub(crate) gradients: Option<usize>,
    /// Shape of a silhouette: Fourier descriptors, moments, proportions
    #[arg(long, help_heading = "Features")]
    pub(crate) shape: bool,
    /// Fisher vector of N Gaussians, learned from the pictures
    #[arg(long, value_name = "N", help_heading = "Features")]
    pub(crate) fisher: Option<usize>,
    /// Cells of the grid each way [default: 1]
    #[arg(long, value_name = "N", help_heading = "Features")]
    pub(crate) grid: Option<usize>,
    /// Divide counts of pixels by the number of pixels: for pictures of different sizes
    #[arg(long, help_heading = "Features")]
    pub(crate) shares: bool,
    /// Reduce sequences or tensors to this size in every dimension but that of the samples, as in 5x5x4
    #[arg(long, value_name = "AxBxC", help_heading = "Features", conflicts_with_all = ["colour", "layout", "edges", "gradients", "shape", "fisher", "grid", "shares"])]
    pub(crate) tensor: Option<String>,
    /// Frames are reduced to this many pixels each way
    #[arg(long, value_name = "N", default_value_t = 40, requires = "tensor", help_heading = "Features", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub(crate) side: u32,
    /// Keep what was learned (by --fisher or --tensor) in this file, for other pictures
    #[arg(long, value_name = "FILE", help_heading = "Features")]
    pub(crate) keep: Option<PathBuf>,
    /// Take the features and what was learned for them from a file of --keep
    #[arg(long, value_name = "FILE", help_heading = "Features", conflicts_with_all = ["colour", "layout", "edges", "gradients", "shape", "fisher", "grid", "shares", "tensor", "keep"])]
    pub(crate) learned: Option<PathBuf>,
    /// Seed of what is drawn at random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// What to show
    #[arg(value_enum, default_value_t = DemoArg::Rank)]
    pub(crate) what: DemoArg,
    /// The folder to write to
    #[arg(long, value_name = "DIR", default_value = "ordain-demo")]
    pub(crate) out: PathBuf,
    /// Rank: pictures that it draws itself, by example, from pixels to a ranking
    #[arg(long)]
    pub(crate) pictures: bool,
    /// Serve: where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub(crate) bind: std::net::SocketAddr,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum DemoArg {
    /// Ranking documents
    Rank,
    /// Giving labels to items
    Annotate,
    /// Matching two sides
    Match,
    /// Labelling pictures that it draws, in a browser, at the address that it prints
    Serve,
    /// The first three
    All,
}

/// A share, or a probability.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|x| (0.0..=1.0).contains(x));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}
