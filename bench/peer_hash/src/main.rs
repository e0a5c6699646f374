//! Comet's partition keys, by Comet's own crate, timed as a yardstick for colshuf's partitioning.
//!
//! ```text
//! peer_hash FILE.arrow --columns a,b [--partitions N] [--range BOUNDS.arrow [--rule comet|spark]]
//!           [--samples 9] [--sample-ms 50]
//! ```
//!
//! FILE.arrow and BOUNDS.arrow are Arrow IPC files; BOUNDS has the key columns, its rows are the bounds in ascending order
//! with nulls first. One JSON object on standard output; times are medians over all batches, one warm-up before.
//!
//! - By default `create_murmur3_hashes` with seed 42, batch by batch into a buffer that is kept. `checksum` is the sum of
//!   all hashes as unsigned 32-bit numbers.
//! - With `--partitions N` also the remainder, as Comet takes it; `checksum` is then the sum of the ids.
//! - With `--range` the keys go through Arrow's row converter and a binary search over the converted bounds: ids are the
//!   number of bounds not above the key (`comet`) or below the key (`spark`); `checksum` is the sum of the ids.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::ipc::reader::FileReader;
use arrow_row::{OwnedRow, RowConverter, SortField};
use datafusion_comet_spark_expr::murmur3::create_murmur3_hashes;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SEED: u32 = 42;
const USAGE: &str =
    "usage: peer_hash FILE.arrow --columns a,b [--partitions N] [--range BOUNDS.arrow [--rule comet|spark]]
                 [--samples N] [--sample-ms N]";

struct Arguments {
    input: String,
    options: Vec<(String, String)>,
}

impl Arguments {
    fn parse(words: Vec<String>) -> Option<Self> {
        let mut words = words.into_iter();
        let input = words.next()?;
        let mut options = Vec::new();
        while let Some(name) = words.next() {
            options.push((name.strip_prefix("--")?.to_string(), words.next()?));
        }
        Some(Arguments { input, options })
    }

    fn option(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str, default: usize) -> Outcome<usize> {
        match self.option(name) {
            Some(text) => text
                .parse()
                .map_err(|_| format!("--{name} {text}: not a number").into()),
            None => Ok(default),
        }
    }
}

// ---- input ----------------------------------------------------------------------------------------------------------

fn read_batches(path: &str) -> Outcome<Vec<RecordBatch>> {
    let file = File::open(path).map_err(|problem| format!("{path}: {problem}"))?;
    Ok(FileReader::try_new(file, None)?.collect::<Result<Vec<_>, _>>()?)
}

fn key_columns(batch: &RecordBatch, names: &[&str]) -> Outcome<Vec<ArrayRef>> {
    let column = |name: &&str| {
        batch
            .column_by_name(name)
            .cloned()
            .ok_or_else(|| format!("no column {name}").into())
    };
    names.iter().map(column).collect()
}

// ---- what is measured -----------------------------------------------------------------------------------------------

/// One pass over all batches; where asked for, returns the sum that shows what was computed. Timed passes take none.
type PassFn = Box<dyn FnMut(bool) -> Outcome<u64>>;

fn hashes(batches: Vec<Vec<ArrayRef>>, n_partitions: Option<u32>) -> PassFn {
    let mut buffer: Vec<u32> = Vec::new();
    Box::new(move |with_sum| {
        let mut sum = 0u64;
        for keys in &batches {
            buffer.clear();
            buffer.resize(keys[0].len(), SEED);
            create_murmur3_hashes(keys, &mut buffer)?;
            if let Some(n) = n_partitions {
                buffer.iter_mut().for_each(|hash| *hash = pmod(*hash, n));
            }
            let hashes = black_box(&buffer);
            if with_sum {
                sum = sum.wrapping_add(hashes.iter().map(|&value| u64::from(value)).sum());
            }
        }
        Ok(sum)
    })
}

fn pmod(hash: u32, n: u32) -> u32 {
    let (hash, n) = (hash as i32, n as i32);
    let rest = hash % n;
    (if rest < 0 { (rest + n) % n } else { rest }) as u32
}

fn ranges(batches: Vec<Vec<ArrayRef>>, bounds: Vec<ArrayRef>, equal_goes_up: bool) -> Outcome<PassFn> {
    let fields = bounds
        .iter()
        .map(|column| SortField::new(column.data_type().clone()))
        .collect();
    let converter = RowConverter::new(fields)?;
    let converted = converter.convert_columns(&bounds)?;
    let bounds: Vec<OwnedRow> = converted.iter().map(|row| row.owned()).collect();
    if !bounds.is_sorted() {
        return Err("the bounds are not in ascending order".into());
    }
    let mut ids: Vec<u32> = Vec::new();
    Ok(Box::new(move |with_sum| {
        let mut sum = 0u64;
        for keys in &batches {
            let rows = converter.convert_columns(keys)?;
            ids.clear();
            ids.extend(rows.iter().map(|row| {
                bounds.partition_point(|bound| {
                    if equal_goes_up {
                        bound.row() <= row
                    } else {
                        bound.row() < row
                    }
                }) as u32
            }));
            let ids = black_box(&ids);
            if with_sum {
                sum = sum.wrapping_add(ids.iter().map(|&id| u64::from(id)).sum());
            }
        }
        Ok(sum)
    }))
}

fn measure(pass: &mut PassFn, n_samples: usize, sample_time: Duration) -> Outcome<Vec<f64>> {
    let start = Instant::now();
    let mut n_passes = 0;
    while n_passes == 0 || start.elapsed() < sample_time {
        pass(false)?;
        n_passes += 1;
    }
    let mut samples = Vec::with_capacity(n_samples);
    for _ in 0..n_samples {
        let start = Instant::now();
        for _ in 0..n_passes {
            pass(false)?;
        }
        samples.push(start.elapsed().as_nanos() as f64 / n_passes as f64);
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples)
}

// ---- program --------------------------------------------------------------------------------------------------------

fn run(arguments: &Arguments) -> Outcome<()> {
    let names: Vec<&str> = arguments.option("columns").ok_or(USAGE)?.split(',').collect();
    let batches = read_batches(&arguments.input)?;
    let n_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let keys = batches
        .iter()
        .map(|batch| key_columns(batch, &names))
        .collect::<Outcome<Vec<_>>>()?;
    let n_partitions = arguments.number("partitions", 0)? as u32;
    let (operation, mut pass) = match arguments.option("range") {
        Some(path) => {
            let bounds = read_batches(path)?;
            let [bounds] = bounds.as_slice() else {
                return Err("the bounds must be one batch".into());
            };
            let equal_goes_up = arguments.option("rule").unwrap_or("comet") == "comet";
            ("range", ranges(keys, key_columns(bounds, &names)?, equal_goes_up)?)
        }
        None if n_partitions > 0 => ("hash_ids", hashes(keys, Some(n_partitions))),
        None => ("hash", hashes(keys, None)),
    };
    let checksum = pass(true)?;
    let sample_time = Duration::from_millis(arguments.number("sample-ms", 50)? as u64);
    let samples = measure(&mut pass, arguments.number("samples", 9)?.max(1), sample_time)?;
    let per_row = |time: f64| format!("{:.4}", time / n_rows.max(1) as f64);
    println!(
        "{{\"program\": \"peer_hash\", \"operation\": \"{operation}\", \"columns\": \"{}\", \"rows\": {n_rows}, \"ns_per_row\": {}, \
         \"ns_min\": {}, \"ns_max\": {}, \"samples\": {}, \"checksum\": {checksum}, \"arrow\": \"{}\"}}",
        names.join(","),
        per_row(samples[samples.len() / 2]),
        per_row(samples[0]),
        per_row(samples[samples.len() - 1]),
        samples.len(),
        arrow::ARROW_VERSION,
    );
    Ok(())
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::parse(std::env::args().skip(1).collect()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("peer_hash: {problem}");
            ExitCode::from(1)
        }
    }
}
