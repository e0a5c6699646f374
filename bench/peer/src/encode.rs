//! Record batches into blocks.

use crate::blocks::{Codec, HEADER_SIZE};
use crate::decode::has_dictionaries;
use crate::timing::{Plan, Report};
use crate::{Arguments, Outcome};
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::ipc::reader::FileReader;
use arrow::ipc::writer::{
    write_message, CompressionContext, DictionaryTracker, IpcDataGenerator, IpcWriteOptions, StreamWriter,
};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;

const END_OF_STREAM: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

pub fn run(arguments: &Arguments) -> Outcome<()> {
    let codec = Codec::from_name(arguments.option("codec").unwrap_or("lz4"))?;
    let schema_mode = arguments.option("schema").unwrap_or("pre").to_string();
    let file = File::open(&arguments.input).map_err(|problem| format!("{}: {problem}", arguments.input))?;
    let batches = FileReader::try_new(file, None)?.collect::<Result<Vec<_>, _>>()?;
    let first = batches.first().ok_or("a file without a record batch")?;
    let mut writer = BlockWriter::new(&first.schema(), codec, &schema_mode)?;
    if let Some(path) = arguments.option("blocks") {
        write_blocks(&mut writer, &batches, path)?;
    }
    let mut out = Vec::new();
    let mut n_bytes = 0;
    let timing = Plan::from(arguments)?.measure(|| {
        n_bytes = 0;
        for batch in &batches {
            out.clear();
            writer.write(batch, &mut out)?;
            n_bytes += black_box(&out).len();
        }
        Ok(())
    })?;
    let cell = Path::new(&arguments.input)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Report::new("encode", &cell)
        .text("codec", &codec.name())
        .text("schema", &schema_mode)
        .number("columns", first.num_columns())
        .number("rows", first.num_rows())
        .number("blocks", batches.len())
        .number("bytes", n_bytes)
        .times(&timing, batches.len())
        .print();
    Ok(())
}

fn write_blocks(writer: &mut BlockWriter, batches: &[RecordBatch], path: &str) -> Outcome<()> {
    let mut out = Vec::new();
    for batch in batches {
        writer.write(batch, &mut out)?;
    }
    Ok(fs::write(path, out)?)
}

struct BlockWriter {
    codec: Codec,
    options: IpcWriteOptions,
    /// The schema message as it stands in the stream; none if every block encodes its own.
    schema_message: Option<Vec<u8>>,
}

impl BlockWriter {
    fn new(schema: &Schema, codec: Codec, schema_mode: &str) -> Outcome<Self> {
        let options = IpcWriteOptions::default();
        let schema_message = match schema_mode {
            "each" => None,
            "pre" if has_dictionaries(schema) => {
                return Err("a schema with a dictionary has to be encoded per block: --schema each".into());
            }
            "pre" => Some(encode_schema(schema, &options)?),
            other => return Err(format!("--schema {other}: pre or each").into()),
        };
        Ok(BlockWriter {
            codec,
            options,
            schema_message,
        })
    }

    /// Appends one block: header with the length left open, body, then the length.
    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Outcome<()> {
        let start = out.len();
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&(batch.num_columns() as u64).to_le_bytes());
        out.extend_from_slice(self.codec.tag());
        debug_assert_eq!(out.len() - start, HEADER_SIZE);
        self.write_body(batch, out)?;
        let length = (out.len() - start - 8) as u64;
        out[start..start + 8].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    fn write_body(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Outcome<()> {
        match self.codec {
            Codec::None => self.write_stream(batch, out)?,
            Codec::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(out);
                self.write_stream(batch, &mut encoder)?;
                encoder.finish()?;
            }
            Codec::Zstd(level) => {
                let mut encoder = zstd::Encoder::new(out, level)?;
                self.write_stream(batch, &mut encoder)?;
                encoder.finish()?;
            }
            Codec::Snappy => {
                let mut encoder = snap::write::FrameEncoder::new(out);
                self.write_stream(batch, &mut encoder)?;
                encoder.into_inner().map_err(|problem| problem.to_string())?;
            }
        }
        Ok(())
    }

    fn write_stream(&self, batch: &RecordBatch, mut out: impl Write) -> Outcome<()> {
        let Some(schema_message) = &self.schema_message else {
            let mut writer = StreamWriter::try_new_with_options(out, &batch.schema(), self.options.clone())?;
            writer.write(batch)?;
            return Ok(writer.finish()?);
        };
        out.write_all(schema_message)?;
        let mut tracker = DictionaryTracker::new(true);
        let mut context = CompressionContext::default();
        let (_, encoded) = IpcDataGenerator::default().encode(batch, &mut tracker, &self.options, &mut context)?;
        write_message(&mut out, encoded, &self.options)?;
        Ok(out.write_all(&END_OF_STREAM)?)
    }
}

fn encode_schema(schema: &Schema, options: &IpcWriteOptions) -> Outcome<Vec<u8>> {
    let mut tracker = DictionaryTracker::new(true);
    let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, options);
    let mut message = Vec::new();
    write_message(&mut message, encoded, options)?;
    Ok(message)
}
