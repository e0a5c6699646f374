//! Ballista's sort-shuffle writer over the batches of an Arrow IPC file, timed as a yardstick for colshuf's map writer.
//!
//! ```text
//! peer_write FILE.arrow --columns l_orderkey --partitions 200 --dir SCRATCH
//!            [--codec lz4|zstd|none] [--memory-limit BYTES] [--batch-rows 8192] [--samples 1]
//! ```
//!
//! The file is read into memory first; only the writing is timed: hashing, gathering, encoding, spilling and the files, on
//! one thread. Every sample writes anew into a folder below SCRATCH, which is removed after it. One JSON object a sample on
//! standard output, with the bytes that were left there and the process's peak resident memory so far, input included.

use arrow::array::RecordBatch;
use arrow::ipc::reader::FileReader;
use ballista_core::execution_plans::sort_shuffle::SortShuffleConfig;
use ballista_core::execution_plans::SortShuffleWriterExec;
use ballista_core::extension::SessionConfigExt;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::context::SessionContext;
use datafusion::physical_expr::expressions::col;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use datafusion::prelude::SessionConfig;
use futures::TryStreamExt;
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: peer_write FILE.arrow --columns a,b --partitions N --dir SCRATCH
                  [--codec lz4|zstd|none] [--memory-limit BYTES] [--batch-rows N] [--samples N]";

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

/// What one run of the writer needs.
struct Job {
    batches: Vec<RecordBatch>,
    columns: Vec<String>,
    n_partitions: usize,
    codec: String,
    config: SortShuffleConfig,
}

impl Job {
    fn from(arguments: &Arguments) -> Outcome<Self> {
        let file = File::open(&arguments.input).map_err(|problem| format!("{}: {problem}", arguments.input))?;
        let batches = FileReader::try_new(file, None)?.collect::<Result<Vec<_>, _>>()?;
        if batches.is_empty() {
            return Err("a file without a record batch".into());
        }
        let memory_limit = arguments.number("memory-limit", 256 << 20)?;
        Ok(Job {
            batches,
            columns: arguments
                .option("columns")
                .ok_or(USAGE)?
                .split(',')
                .map(String::from)
                .collect(),
            n_partitions: arguments.number("partitions", 200)?,
            codec: arguments.option("codec").unwrap_or("lz4").to_string(),
            config: SortShuffleConfig::new(true, arguments.number("batch-rows", 8192)?)
                .with_memory_limit_per_task_bytes(memory_limit),
        })
    }

    /// The writer as the root of a plan whose leaf hands out the batches.
    fn plan(&self, directory: &Path) -> Outcome<Arc<SortShuffleWriterExec>> {
        let schema = self.batches[0].schema();
        let keys = self
            .columns
            .iter()
            .map(|name| col(name, &schema))
            .collect::<Result<Vec<_>, _>>()?;
        let source = MemorySourceConfig::try_new_exec(&[self.batches.clone()], schema, None)?;
        let partitioning = Partitioning::Hash(keys, self.n_partitions);
        let directory = directory.to_string_lossy().into_owned();
        Ok(Arc::new(SortShuffleWriterExec::try_new(
            "peer".into(),
            1,
            source,
            directory,
            partitioning,
            self.config.clone(),
        )?))
    }

    async fn run(&self, directory: &Path) -> Outcome<Duration> {
        let settings = SessionConfig::new_with_ballista().set_str("ballista.shuffle.compression.codec", &self.codec);
        let context = SessionContext::new_with_config(settings).task_ctx();
        let plan = self.plan(directory)?;
        let start = Instant::now();
        // The first stream starts the work; every output partition's stream has to be drained for its summary.
        let streams = (0..self.n_partitions)
            .map(|id| plan.execute(id, context.clone()))
            .collect::<Result<Vec<_>, _>>()?;
        for stream in streams {
            stream.try_collect::<Vec<_>>().await?;
        }
        let elapsed = start.elapsed();
        for metric in plan.metrics().iter().flat_map(|metrics| metrics.iter()) {
            eprintln!("peer_write: {metric}");
        }
        Ok(elapsed)
    }
}

fn size_below(directory: &Path) -> Outcome<u64> {
    let mut size = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        size += if entry.file_type()?.is_dir() {
            size_below(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(size)
}

/// Peak resident memory in bytes, where the system tells.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

fn run(arguments: &Arguments) -> Outcome<()> {
    let job = Job::from(arguments)?;
    let scratch = Path::new(arguments.option("dir").ok_or(USAGE)?).join(format!("peer_write-{}", std::process::id()));
    let n_rows: usize = job.batches.iter().map(RecordBatch::num_rows).sum();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for _ in 0..arguments.number("samples", 1)?.max(1) {
        fs::create_dir_all(&scratch)?;
        let outcome = runtime.block_on(job.run(&scratch));
        let size = size_below(&scratch);
        fs::remove_dir_all(&scratch)?;
        println!(
            "{{\"program\": \"peer_write\", \"operation\": \"write\", \"codec\": \"{}\", \"partitions\": {}, \"rows\": {n_rows}, \
             \"seconds\": {:.3}, \"bytes\": {}, \"peak_memory\": {}, \"memory_limit\": {}}}",
            job.codec,
            job.n_partitions,
            outcome?.as_secs_f64(),
            size?,
            peak_memory(),
            job.config.memory_limit_per_task_bytes,
        );
    }
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
            eprintln!("peer_write: {problem}");
            ExitCode::from(1)
        }
    }
}
