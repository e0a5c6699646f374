//! Blocks into record batches, in the ways that `--mode` names.

use crate::blocks::{self, Block, Cell, Codec};
use crate::timing::{Plan, Report};
use crate::{Arguments, Outcome};
use arrow::array::{Array, RecordBatch};
use arrow::buffer::Buffer;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Schema};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow::ipc::reader::{FileDecoder, StreamReader};
use arrow::ipc::{self, convert::fb_to_schema, root_as_message, MessageHeader, MetadataVersion};
use std::fs;
use std::hint::black_box;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const CONTINUATION: [u8; 4] = [0xFF; 4];

pub fn run(arguments: &Arguments) -> Outcome<()> {
    let mode = arguments.option("mode").unwrap_or("trusted").to_string();
    let export = arguments.option("export").is_some();
    let plan = Plan::from(arguments)?;
    for path in blocks::cells(arguments)? {
        let cell = blocks::read_cell(&path)?;
        let mut decode = decoder_of(&mode, export)?;
        let timing = plan.measure(|| cell.blocks.iter().try_for_each(&mut decode))?;
        report("decode", &cell)?
            .text("mode", &mode)
            .number("export", export)
            .times(&timing, cell.blocks.len())
            .print();
    }
    Ok(())
}

pub fn run_reduce(arguments: &Arguments) -> Outcome<()> {
    let batch_rows = arguments.number("batch-rows", 8192)?;
    let plan = Plan::from(arguments)?;
    for path in blocks::cells(arguments)? {
        let cell = blocks::read_cell(&path)?;
        let timing = plan.measure(|| reduce(&cell, batch_rows))?;
        let n_rows: usize = cell
            .blocks
            .iter()
            .map(|block| as_comet(block, true).map(|batch| batch.num_rows()))
            .sum::<Outcome<usize>>()?;
        let outputs = Outputs::write(Path::new(&arguments.input).join("peer-outputs"), &cell)?;
        let from_files = plan.measure(|| reduce_files(&outputs, batch_rows))?;
        for (mode, timing) in [("", &timing), ("files", &from_files)] {
            report("reduce", &cell)?
                .text("mode", mode)
                .number("batch_rows", batch_rows)
                .number("ns_per_row", format!("{:.3}", timing.median() / n_rows.max(1) as f64))
                .times(timing, cell.blocks.len())
                .print();
        }
    }
    Ok(())
}

/// What every report on a cell says; rows and columns are those of its first block.
fn report(operation: &str, cell: &Cell) -> Outcome<Report> {
    let first = as_comet(&cell.blocks[0], false)?;
    Ok(Report::new(operation, &cell.name)
        .text("codec", &cell.blocks[0].codec.name())
        .number("columns", first.num_columns())
        .number("rows", first.num_rows())
        .number("blocks", cell.blocks.len())
        .number("bytes", cell.size))
}

type DecodeFn = Box<dyn FnMut(&Block) -> Outcome<()>>;

fn decoder_of(mode: &str, export: bool) -> Outcome<DecodeFn> {
    let mut cached = Cached::new(mode == "cached");
    let mut raw = Vec::new();
    Ok(match mode {
        "trusted" => Box::new(move |block| finish(as_comet(block, true)?, export)),
        "validated" => Box::new(move |block| finish(as_comet(block, false)?, export)),
        "cached" | "cached-validated" => Box::new(move |block| finish(cached.decode(block)?, export)),
        "raw" => Box::new(move |block| {
            raw.clear();
            decompress(block, &mut raw)?;
            black_box(&raw);
            Ok(())
        }),
        other => return Err(format!("unknown mode {other}").into()),
    })
}

fn finish(batch: RecordBatch, export: bool) -> Outcome<()> {
    if export {
        for column in batch.columns() {
            let data = column.to_data();
            black_box(FFI_ArrowSchema::try_from(data.data_type())?);
            black_box(FFI_ArrowArray::new(&data));
        }
    }
    black_box(batch);
    Ok(())
}

// ---- Comet's way ----------------------------------------------------------------------------------------------------

fn as_comet(block: &Block, trusted: bool) -> Outcome<RecordBatch> {
    let body = block.body.as_slice();
    match block.codec {
        Codec::None => first_batch(body, trusted),
        Codec::Lz4 => first_batch(lz4_flex::frame::FrameDecoder::new(body), trusted),
        Codec::Zstd(_) => first_batch(zstd::Decoder::with_buffer(body)?, trusted),
        Codec::Snappy => first_batch(snap::read::FrameDecoder::new(body), trusted),
    }
}

fn first_batch(stream: impl Read, trusted: bool) -> Outcome<RecordBatch> {
    let reader = StreamReader::try_new(stream, None)?;
    // SAFETY: trusted blocks are this program's own input, made by a writer of valid data.
    let mut reader = unsafe { reader.with_skip_validation(trusted) };
    Ok(reader.next().ok_or("a block without a record batch")??)
}

fn reduce(cell: &Cell, batch_rows: usize) -> Outcome<()> {
    let mut gathered = Gathered::new(batch_rows);
    for block in &cell.blocks {
        gathered.add(as_comet(block, true)?)?;
    }
    gathered.hand_over()
}

/// Each block from a map output of its own: where it lies is read from the index, then the block itself.
fn reduce_files(outputs: &Outputs, batch_rows: usize) -> Outcome<()> {
    let mut gathered = Gathered::new(batch_rows);
    for path in &outputs.paths {
        let index = fs::read(path.with_extension("index"))?;
        let [start, end] = [0, 8].map(|at| u64::from_be_bytes(index[at..at + 8].try_into().unwrap()));
        let mut bytes = vec![0; (end - start) as usize];
        fs::File::open(path)?.read_exact_at(&mut bytes, start)?;
        let (block, _) = blocks::read_block(&Buffer::from_vec(bytes), 0)?;
        gathered.add(as_comet(&block, true)?)?;
    }
    gathered.hand_over()
}

/// Batches until there are enough rows to be made one.
struct Gathered {
    pending: Vec<RecordBatch>,
    n_rows: usize,
    enough: usize,
}

impl Gathered {
    fn new(enough: usize) -> Self {
        Gathered {
            pending: Vec::new(),
            n_rows: 0,
            enough,
        }
    }

    fn add(&mut self, batch: RecordBatch) -> Outcome<()> {
        self.n_rows += batch.num_rows();
        self.pending.push(batch);
        if self.n_rows >= self.enough {
            self.hand_over()?;
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Outcome<()> {
        if let Some(first) = self.pending.first() {
            black_box(concat_batches(&first.schema(), self.pending.iter())?);
            self.pending.clear();
        }
        self.n_rows = 0;
        Ok(())
    }
}

/// The blocks of a cell as map outputs of one partition each, data and index, in a folder that goes with it.
struct Outputs {
    folder: PathBuf,
    paths: Vec<PathBuf>,
}

impl Outputs {
    fn write(folder: PathBuf, cell: &Cell) -> Outcome<Self> {
        fs::create_dir_all(&folder)?;
        let mut outputs = Outputs {
            folder,
            paths: Vec::new(),
        };
        for (i, block) in cell.blocks.iter().enumerate() {
            let path = outputs.folder.join(format!("m{i:05}.data"));
            let bytes = block.with_header();
            let index = [0, bytes.len() as u64].map(u64::to_be_bytes).concat();
            fs::write(path.with_extension("index"), index)?;
            fs::write(&path, bytes)?;
            outputs.paths.push(path);
        }
        Ok(outputs)
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

// ---- arrow-rs at its best -------------------------------------------------------------------------------------------

/// Remembers one schema message and the decoder made for it.
struct Cached {
    trusted: bool,
    schema_message: Vec<u8>,
    decoder: Option<FileDecoder>,
    has_dictionaries: bool,
    size_hint: usize,
}

impl Cached {
    fn new(trusted: bool) -> Self {
        Cached {
            trusted,
            schema_message: Vec::new(),
            decoder: None,
            has_dictionaries: false,
            size_hint: 0,
        }
    }

    fn decode(&mut self, block: &Block) -> Outcome<RecordBatch> {
        let stream = self.stream_of(block)?;
        let metadata_size = metadata_size(&stream)?;
        if stream.len() < metadata_size {
            return Err("truncated schema message".into());
        }
        if self.decoder.is_none() || self.schema_message != stream[..metadata_size] {
            self.learn(&stream[..metadata_size])?;
        }
        self.batch_of(stream.slice(metadata_size))
    }

    /// The decompressed stream, in memory of its own: the batch keeps it. Codec none keeps the input.
    fn stream_of(&mut self, block: &Block) -> Outcome<Buffer> {
        if block.codec == Codec::None {
            return Ok(block.body.clone());
        }
        let mut stream = Vec::with_capacity(self.size_hint);
        decompress(block, &mut stream)?;
        self.size_hint = self.size_hint.max(stream.len());
        Ok(Buffer::from_vec(stream))
    }

    fn learn(&mut self, message: &[u8]) -> Outcome<()> {
        let schema = parse(&message[8..])?
            .header_as_schema()
            .ok_or("the first message is no schema")?;
        let schema = fb_to_schema(schema);
        self.has_dictionaries = has_dictionaries(&schema);
        let decoder = FileDecoder::new(schema.into(), MetadataVersion::V5);
        // SAFETY: as for trusted blocks in Comet's way.
        self.decoder = Some(unsafe { decoder.with_skip_validation(self.trusted) });
        self.schema_message = message.to_vec();
        Ok(())
    }

    fn batch_of(&mut self, mut rest: Buffer) -> Outcome<RecordBatch> {
        let decoder = self.decoder.as_mut().ok_or("no schema")?;
        while self.has_dictionaries {
            let metadata_size = metadata_size(&rest)?;
            let message = parse(rest.get(8..metadata_size).ok_or("truncated message")?)?;
            if message.header_type() != MessageHeader::DictionaryBatch {
                break;
            }
            let message_size = metadata_size + message.bodyLength() as usize;
            if rest.len() < message_size {
                return Err("truncated dictionary".into());
            }
            decoder.read_dictionary(&place_of(metadata_size, message_size), &rest)?;
            rest = rest.slice(message_size);
        }
        let place = place_of(metadata_size(&rest)?, rest.len());
        Ok(decoder
            .read_record_batch(&place, &rest)?
            .ok_or("a block without a record batch")?)
    }
}

/// The decoder's way to say where a message lies in the bytes that it is given: at their start.
fn place_of(metadata_size: usize, message_size: usize) -> ipc::Block {
    ipc::Block::new(
        0,
        metadata_size as i32,
        message_size.saturating_sub(metadata_size) as i64,
    )
}

pub fn has_dictionaries(schema: &Schema) -> bool {
    schema
        .flattened_fields()
        .iter()
        .any(|field| matches!(field.data_type(), DataType::Dictionary(..)))
}

fn parse(metadata: &[u8]) -> Outcome<ipc::Message<'_>> {
    root_as_message(metadata).map_err(|problem| problem.to_string().into())
}

/// Size of the message head at the start, its 8 bytes of framing included.
fn metadata_size(stream: &[u8]) -> Outcome<usize> {
    if stream.len() < 8 || stream[..4] != CONTINUATION {
        return Err("a message without a continuation marker".into());
    }
    Ok(8 + u32::from_le_bytes(stream[4..8].try_into()?) as usize)
}

fn decompress(block: &Block, out: &mut Vec<u8>) -> Outcome<()> {
    let body = block.body.as_slice();
    match block.codec {
        Codec::None => out.extend_from_slice(body),
        Codec::Lz4 => drop(lz4_flex::frame::FrameDecoder::new(body).read_to_end(out)?),
        Codec::Zstd(_) => drop(zstd::Decoder::with_buffer(body)?.read_to_end(out)?),
        Codec::Snappy => drop(snap::read::FrameDecoder::new(body).read_to_end(out)?),
    }
    Ok(())
}
