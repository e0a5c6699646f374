//! Block files: where the blocks lie and how their bodies are packed.

use crate::{Arguments, Outcome};
use arrow::buffer::Buffer;
use std::fs;
use std::path::PathBuf;

pub const HEADER_SIZE: usize = 20;
const OFFSETS_AS_LENGTHS: u8 = 0x80;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    None,
    Lz4,
    Zstd(i32),
    Snappy,
}

impl Codec {
    pub fn from_tag(tag: &[u8]) -> Outcome<Self> {
        match tag {
            b"NONE" => Ok(Codec::None),
            b"LZ4_" => Ok(Codec::Lz4),
            b"ZSTD" => Ok(Codec::Zstd(1)),
            b"SNAP" => Ok(Codec::Snappy),
            _ if tag[0] & OFFSETS_AS_LENGTHS != 0 => {
                Err("a block with offsets as lengths: the crates have no reader for it".into())
            }
            _ => Err(format!("unknown codec tag {tag:?}").into()),
        }
    }

    pub fn tag(self) -> &'static [u8; 4] {
        match self {
            Codec::None => b"NONE",
            Codec::Lz4 => b"LZ4_",
            Codec::Zstd(_) => b"ZSTD",
            Codec::Snappy => b"SNAP",
        }
    }

    /// `lz4`, `snappy`, `none`, `zstd` or `zstd:LEVEL`.
    pub fn from_name(name: &str) -> Outcome<Self> {
        match name.split_once(':').unwrap_or((name, "1")) {
            ("none", _) => Ok(Codec::None),
            ("lz4", _) => Ok(Codec::Lz4),
            ("snappy", _) => Ok(Codec::Snappy),
            ("zstd", level) => Ok(Codec::Zstd(level.parse().map_err(|_| format!("zstd level {level}"))?)),
            _ => Err(format!("unknown codec {name}").into()),
        }
    }

    pub fn name(self) -> String {
        match self {
            Codec::Zstd(level) => format!("zstd:{level}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

/// One block without its 20 bytes of header.
pub struct Block {
    pub codec: Codec,
    pub body: Buffer,
}

impl Block {
    /// As it lies in a file. The number of columns, which no reader needs, is left at 0.
    pub fn with_header(&self) -> Vec<u8> {
        let mut bytes = ((HEADER_SIZE - 8 + self.body.len()) as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(self.codec.tag());
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

pub struct Cell {
    pub name: String,
    pub blocks: Vec<Block>,
    pub size: usize,
}

/// All block files of the folder that the options keep, by name.
pub fn cells(arguments: &Arguments) -> Outcome<Vec<PathBuf>> {
    let wanted = arguments.option("cells").unwrap_or("");
    let mut paths: Vec<PathBuf> = fs::read_dir(&arguments.input)
        .map_err(|problem| format!("{}: {problem}", arguments.input))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "blocks"))
        .filter(|path| {
            path.file_stem()
                .is_some_and(|stem| stem.to_string_lossy().contains(wanted))
        })
        .collect();
    paths.sort();
    if paths.is_empty() {
        return Err(format!("{}: no block files", arguments.input).into());
    }
    Ok(paths)
}

pub fn read_cell(path: &PathBuf) -> Outcome<Cell> {
    let bytes = Buffer::from_vec(fs::read(path)?);
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (block, end) =
            read_block(&bytes, at).map_err(|problem| format!("{}, byte {at}: {problem}", path.display()))?;
        blocks.push(block);
        at = end;
    }
    if blocks.is_empty() {
        return Err(format!("{}: no blocks", path.display()).into());
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Cell {
        name,
        blocks,
        size: bytes.len(),
    })
}

pub fn read_block(bytes: &Buffer, at: usize) -> Outcome<(Block, usize)> {
    if bytes.len() - at < HEADER_SIZE {
        return Err("truncated header".into());
    }
    let length = u64::from_le_bytes(bytes[at..at + 8].try_into()?) as usize;
    if length < HEADER_SIZE - 8 || length > bytes.len() - at - 8 {
        return Err(format!("length {length} of {} bytes", bytes.len() - at - 8).into());
    }
    let codec = Codec::from_tag(&bytes[at + 16..at + HEADER_SIZE])?;
    let body = bytes.slice_with_length(at + HEADER_SIZE, length + 8 - HEADER_SIZE);
    Ok((Block { codec, body }, at + 8 + length))
}
