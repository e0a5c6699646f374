//! Medians of repeated passes, and the line of JSON that reports them.

use crate::{Arguments, Outcome};
use std::time::{Duration, Instant};

pub struct Plan {
    n_samples: usize,
    sample_time: Duration,
}

pub struct Timing {
    /// Nanoseconds of one pass, sample by sample, sorted.
    pub samples: Vec<f64>,
}

impl Plan {
    pub fn from(arguments: &Arguments) -> Outcome<Self> {
        Ok(Plan {
            n_samples: arguments.number("samples", 9)?.max(1),
            sample_time: Duration::from_millis(arguments.number("sample-ms", 20)? as u64),
        })
    }

    pub fn measure(&self, mut pass: impl FnMut() -> Outcome<()>) -> Outcome<Timing> {
        let n_passes = self.warm_up(&mut pass)?;
        let mut samples = Vec::with_capacity(self.n_samples);
        for _ in 0..self.n_samples {
            let start = Instant::now();
            for _ in 0..n_passes {
                pass()?;
            }
            samples.push(start.elapsed().as_nanos() as f64 / n_passes as f64);
        }
        samples.sort_by(f64::total_cmp);
        Ok(Timing { samples })
    }

    /// Runs for one sample's time and returns how many passes fit.
    fn warm_up(&self, pass: &mut impl FnMut() -> Outcome<()>) -> Outcome<usize> {
        let start = Instant::now();
        let mut n_passes = 0;
        while n_passes == 0 || start.elapsed() < self.sample_time {
            pass()?;
            n_passes += 1;
        }
        Ok(n_passes)
    }
}

impl Timing {
    pub fn median(&self) -> f64 {
        let middle = self.samples.len() / 2;
        if self.samples.len() % 2 == 1 {
            self.samples[middle]
        } else {
            (self.samples[middle - 1] + self.samples[middle]) / 2.0
        }
    }
}

/// One JSON object, built field by field; texts are ours and need no escapes but those of file names.
pub struct Report(String);

impl Report {
    pub fn new(operation: &str, cell: &str) -> Self {
        let cell = cell.replace('\\', "\\\\").replace('"', "\\\"");
        Report(format!(
            "{{\"program\": \"peer\", \"operation\": \"{operation}\", \"cell\": \"{cell}\""
        ))
    }

    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.0 += &format!(", \"{name}\": \"{value}\"");
        self
    }

    pub fn number(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.0 += &format!(", \"{name}\": {value}");
        self
    }

    /// Median and extremes of one pass, divided by the number of blocks in it.
    pub fn times(self, timing: &Timing, n_blocks: usize) -> Self {
        let each = |time: f64| format!("{:.1}", time / n_blocks as f64);
        self.number("ns_per_block", each(timing.median()))
            .number("ns_min", each(timing.samples[0]))
            .number("ns_max", each(timing.samples[timing.samples.len() - 1]))
            .number("samples", timing.samples.len())
    }

    pub fn print(self) {
        println!("{}, \"arrow\": \"{}\"}}", self.0, arrow::ARROW_VERSION);
    }
}
