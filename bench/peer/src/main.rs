//! What Comet's shuffle reader and writer do, in the crates that Comet uses, timed as a yardstick for colshuf.
//!
//! ```text
//! peer decode DIR --mode trusted|validated|cached|cached-validated|raw [--export]
//! peer reduce DIR [--batch-rows 8192]
//! peer encode FILE.arrow --codec lz4|zstd:LEVEL|snappy|none --schema pre|each [--blocks OUT]
//! common: [--samples 9] [--sample-ms 20] [--cells TEXT]
//! ```
//!
//! DIR holds block files `CELL.blocks`: blocks one after another, all of one codec. FILE.arrow is an Arrow IPC file.
//! One JSON object a line on standard output. Times are the median of the samples, each of which is as many passes over
//! all blocks of the cell as fill `--sample-ms`, after one warm-up sample. `--cells` keeps cells whose name has that text.
//!
//! decode: one block at a time, read and dropped. `trusted` and `validated` are Comet's way: a new codec decoder and a new
//! stream reader for every block. `cached` is the best that arrow-rs allows: the schema message compared with the last
//! block's and not parsed again, the body decompressed into one buffer and sliced, for codec none the input itself sliced.
//! `raw` runs only the codec, into a buffer that is kept. `--export` adds the hand-over as C Data arrays, as Comet does.
//!
//! reduce: Comet's reading side: blocks one by one, batches gathered and concatenated at 8192 rows; from memory, then
//! (`"mode": "files"`) each block from a map output of its own, by its index.
//!
//! encode: one block a batch into a vector that is kept. `pre`: the schema message encoded once and replayed, as Comet
//! writes; `each`: a stream writer per block. `--blocks OUT` also writes the blocks, for others to read.

mod blocks;
mod decode;
mod encode;
mod timing;

use std::error::Error;
use std::process::ExitCode;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: peer decode DIR --mode trusted|validated|cached|cached-validated|raw [--export]
       peer reduce DIR [--batch-rows N]
       peer encode FILE.arrow --codec lz4|zstd:LEVEL|snappy|none --schema pre|each [--blocks OUT]
common: [--samples N] [--sample-ms N] [--cells TEXT]";

/// The command line: two words, then options with or without a value.
pub struct Arguments {
    pub command: String,
    pub input: String,
    options: Vec<(String, String)>,
}

impl Arguments {
    fn parse(words: Vec<String>) -> Option<Self> {
        let mut words = words.into_iter();
        let command = words.next()?;
        let input = words.next()?;
        let mut options = Vec::new();
        while let Some(name) = words.next() {
            let name = name.strip_prefix("--")?.to_string();
            let value = if name == "export" { String::new() } else { words.next()? };
            options.push((name, value));
        }
        Some(Arguments {
            command,
            input,
            options,
        })
    }

    pub fn option(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn number(&self, name: &str, default: usize) -> Outcome<usize> {
        match self.option(name) {
            Some(text) => text
                .parse()
                .map_err(|_| format!("--{name} {text}: not a number").into()),
            None => Ok(default),
        }
    }
}

fn run(arguments: &Arguments) -> Outcome<()> {
    match arguments.command.as_str() {
        "decode" => decode::run(arguments),
        "reduce" => decode::run_reduce(arguments),
        "encode" => encode::run(arguments),
        other => Err(format!("unknown command {other}\n{USAGE}").into()),
    }
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::parse(std::env::args().skip(1).collect()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("peer: {problem}");
            ExitCode::from(1)
        }
    }
}
