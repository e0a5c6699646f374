#compdef colshuf
# SPDX-License-Identifier: Apache-2.0
# Made by tools/completions. zsh: put it in a folder of $fpath as "_colshuf".
_colshuf() {
  if (( CURRENT == 2 )); then
    local -a commands=(
      'write:Arrow data in, shuffle files out'
      'read:partitions of shuffle files as Arrow, CSV or JSON'
      'cat:rows as a table'
      'head:the first rows as a table'
      'stats:nulls, distinct values, minimum, maximum and bytes of each column'
      'convert:rows of any file to an Arrow stream, Arrow file, CSV or JSON'
      'extract:one partition to an Arrow file'
      'merge:many shuffle outputs to one'
      'repack:shuffle files again, with another codec or block size'
      'inspect:partitions, blocks, schema, and where the bytes are'
      'verify:find what is broken, and where'
      'diff:whether two outputs hold the same rows'
      'clean:remove temporary files of killed processes'
      'bench:how fast blocks are decoded and encoded, and rows written'
    )
    _describe command commands
    _arguments '--help[show what there is]' '--version[show the version]'
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
    write)
      _arguments -S \
        '(-o --output)'{-o,--output=}'[makes NAME.data, NAME.index and NAME.checksum.ALGORITHM]:NAME:_files' \
        '(-n --partitions)'{-n,--partitions=}'[number of partitions]:N:' \
        '--hash=[by Spark'\''s hash of these columns\: a,b]:COLS:' \
        '--range=[by ranges of these columns\: a\:desc\:nulls-last,b; bounds are sampled from the input, which is read twice]:COLS:' \
        '--round-robin[one row after another]' \
        '--single[everything to one partition]' \
        '--partition-id=[by the numbers in this column]:COL:' \
        '--codec=[lz4 (default), zstd, snappy or none; zstd\:LEVEL 1 to 22, lz4\:LEVEL 2 to 12]:CODEC:(lz4 zstd snappy none)' \
        '(-m --memory-limit)'{-m,--memory-limit=}'[what the writer may hold \[256M\]; the rest is spilled]:SIZE:' \
        '--block-size=[uncompressed bytes that make a block \[1M\]]:SIZE:' \
        '--block-rows=[rows that make a block]:N:' \
        '--checksum=[adler32 (default), crc32, crc32c or none]:NAME:(adler32 crc32 crc32c none)' \
        '*--spill-dir=[where spill files go \[beside the output\]; may be given several times]:DIR:_files -/' \
        '--threads=[threads that compress, beside the one that routes rows \[0\]]:N:' \
        '--compat=[who must read it\: comet (default), comet-1.1, or arrow for every Arrow type]:NAME:(comet comet-1.1 arrow)' \
        '--offsets=[auto (default), plain or lengths]:FORM:(auto plain lengths)' \
        '--layout=[compact (default) or arrow-rs]:FORM:(compact arrow-rs)' \
        '--no-dictionary[never turn a plain column into a dictionary]' \
        '--rules=[whose partition rules\: spark (default) or comet]:NAME:(spark comet)' \
        '--bounds=[bounds of the ranges, one row of the key columns each]:FILE:_files' \
        '--save-bounds=[writes the sampled bounds, for --bounds of other writers]:FILE:_files' \
        '--seed=[of the sample \[0\]]:N:' \
        '--task-id=[map task, which fixes where round robin starts \[0\]]:N:' \
        '--sort-first[round robin over sorted batches\: a retry gives the same partitions]' \
        '--allow-map-keys[hash map columns too, which Spark refuses by default]' \
        '--native-index[little-endian index, as Comet'\''s native writer leaves it]' \
        '--json[figures as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    read)
      _arguments -S \
        '(-p --partition)'{-p,--partition=}'[this partition only]:P:' \
        '--partitions=[partitions A to B, both included]:A-B:' \
        '(-c --columns)'{-c,--columns=}'[these columns only, in this order\: a,b]:COLS:' \
        '(-o --output)'{-o,--output=}'[where to \[standard output\]]:OUT:_files' \
        '(-f --format)'{-f,--format=}'[stream, file, csv or json \[by the ending of OUT, else stream\]]:FORMAT:(stream file csv json)' \
        '--compress=[compress Arrow output\: none (default), lz4 or zstd]:CODEC:(none lz4 zstd)' \
        '(-m --memory-limit)'{-m,--memory-limit=}'[what the reader may hold \[64M\]]:SIZE:' \
        '--target-rows=[small blocks are joined to batches of at least N rows \[8192\]]:N:' \
        '--threads=[threads that decode ahead \[0\]]:N:' \
        '--any-order[with threads\: each reads inputs of its own, rows come as they arrive]' \
        '--keep-dictionaries[leave dictionary columns as they are]' \
        '--verify-checksums[compare each partition with the checksum file]' \
        '--skip-corrupt[leave corrupt blocks out and go on (exit code 1)]' \
        '--trusted[skip deep checks of values\: files of this machine and user]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    cat)
      _arguments -S \
        '(-n --rows)'{-n,--rows=}'[at most so many rows]:ROWS:' \
        '(-p --partition)'{-p,--partition=}'[this partition only]:P:' \
        '--partitions=[partitions A to B, both included]:A-B:' \
        '(-c --columns)'{-c,--columns=}'[these columns only, in this order\: a,b]:COLS:' \
        '--skip-corrupt[leave corrupt blocks out and go on (exit code 1)]' \
        '(-w --wide)'{-w,--wide}'[do not cut long values]' \
        '--json[columns and rows as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    head)
      _arguments -S \
        '(-n --rows)'{-n,--rows=}'[so many rows \[10\]]:ROWS:' \
        '(-p --partition)'{-p,--partition=}'[this partition only]:P:' \
        '--partitions=[partitions A to B, both included]:A-B:' \
        '(-c --columns)'{-c,--columns=}'[these columns only, in this order\: a,b]:COLS:' \
        '--skip-corrupt[leave corrupt blocks out and go on (exit code 1)]' \
        '(-w --wide)'{-w,--wide}'[do not cut long values]' \
        '--json[columns and rows as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    stats)
      _arguments -S \
        '(-p --partition)'{-p,--partition=}'[this partition only]:P:' \
        '--partitions=[partitions A to B, both included]:A-B:' \
        '(-c --columns)'{-c,--columns=}'[these columns only\: a,b]:COLS:' \
        '--json[everything as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    convert)
      _arguments -S \
        '(-o --output)'{-o,--output=}'[where to; "-" is standard output]:OUT:_files' \
        '(-f --format)'{-f,--format=}'[stream, file, csv or json \[by the ending of OUT, else stream\]]:FORMAT:(stream file csv json)' \
        '--compress=[compress Arrow output\: none (default), lz4 or zstd]:CODEC:(none lz4 zstd)' \
        '(-p --partition)'{-p,--partition=}'[this partition only]:P:' \
        '--partitions=[partitions A to B, both included]:A-B:' \
        '(-c --columns)'{-c,--columns=}'[these columns only, in this order\: a,b]:COLS:' \
        '(-m --memory-limit)'{-m,--memory-limit=}'[what the reader may hold \[64M\]]:SIZE:' \
        '--target-rows=[small blocks are joined to batches of at least N rows \[8192\]]:N:' \
        '--threads=[threads that decode ahead \[0\]]:N:' \
        '--any-order[with threads\: each reads inputs of its own, rows come as they arrive]' \
        '--keep-dictionaries[leave dictionary columns as they are]' \
        '--verify-checksums[compare each partition with the checksum file]' \
        '--skip-corrupt[leave corrupt blocks out and go on (exit code 1)]' \
        '--trusted[skip deep checks of values\: files of this machine and user]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    extract)
      _arguments -S \
        '(-p --partition)'{-p,--partition=}'[this partition only]:P:' \
        '--partitions=[partitions A to B, both included]:A-B:' \
        '(-c --columns)'{-c,--columns=}'[these columns only, in this order\: a,b]:COLS:' \
        '(-o --output)'{-o,--output=}'[where to; "-" is standard output]:OUT:_files' \
        '(-f --format)'{-f,--format=}'[stream, file, csv or json \[by the ending of OUT, else stream\]]:FORMAT:(stream file csv json)' \
        '--compress=[compress Arrow output\: none (default), lz4 or zstd]:CODEC:(none lz4 zstd)' \
        '(-m --memory-limit)'{-m,--memory-limit=}'[what the reader may hold \[64M\]]:SIZE:' \
        '--target-rows=[small blocks are joined to batches of at least N rows \[8192\]]:N:' \
        '--threads=[threads that decode ahead \[0\]]:N:' \
        '--any-order[with threads\: each reads inputs of its own, rows come as they arrive]' \
        '--keep-dictionaries[leave dictionary columns as they are]' \
        '--verify-checksums[compare each partition with the checksum file]' \
        '--skip-corrupt[leave corrupt blocks out and go on (exit code 1)]' \
        '--trusted[skip deep checks of values\: files of this machine and user]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    merge)
      _arguments -S \
        '(-o --output)'{-o,--output=}'[makes NAME.data, NAME.index and NAME.checksum.ALGORITHM]:NAME:_files' \
        '--partitions=[partitions A to B only, both included; the others come out empty]:A-B:' \
        '--checksum=[adler32 (default), crc32, crc32c or none]:NAME:(adler32 crc32 crc32c none)' \
        '--native-index[little-endian index, as Comet'\''s native writer leaves it]' \
        '--json[figures as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    repack)
      _arguments -S \
        '(-o --output)'{-o,--output=}'[makes NAME.data, NAME.index and NAME.checksum.ALGORITHM]:NAME:_files' \
        '--codec=[lz4 (default), zstd, snappy or none; zstd\:LEVEL 1 to 22, lz4\:LEVEL 2 to 12]:CODEC:(lz4 zstd snappy none)' \
        '(-m --memory-limit)'{-m,--memory-limit=}'[what the writer may hold \[256M\]; the rest is spilled]:SIZE:' \
        '--block-size=[uncompressed bytes that make a block \[1M\]]:SIZE:' \
        '--block-rows=[rows that make a block]:N:' \
        '--checksum=[adler32 (default), crc32, crc32c or none]:NAME:(adler32 crc32 crc32c none)' \
        '--compat=[who must read it\: comet (default), comet-1.1, or arrow for every Arrow type]:NAME:(comet comet-1.1 arrow)' \
        '--offsets=[auto (default), plain or lengths]:FORM:(auto plain lengths)' \
        '--layout=[compact (default) or arrow-rs]:FORM:(compact arrow-rs)' \
        '--no-dictionary[never turn a plain column into a dictionary]' \
        '--native-index[little-endian index, as Comet'\''s native writer leaves it]' \
        '--json[figures as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    inspect)
      _arguments -S \
        '(-b --blocks)'{-b,--blocks}'[list every block]' \
        '--deep[decode and validate every block, not only its header and metadata]' \
        '--index=[the index file \[NAME.index beside NAME.data\]]:FILE:_files' \
        '--html=[writes a report with charts and advice as one page]:FILE:_files' \
        '--json[everything as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    verify)
      _arguments -S \
        '--json[everything as JSON]' \
        '--threads=[files checked at the same time \[one a processor\]]:N:' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    diff)
      _arguments -S \
        '(-n --rows)'{-n,--rows=}'[differing rows that are shown of each side \[5\]]:N:' \
        '--ordered[the order of rows within a partition counts too]' \
        '--whole[partitions do not matter, only the rows]' \
        '--json[everything as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files'
      ;;
    clean)
      _arguments -S \
        '--json[figures as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '*:file:_files -/'
      ;;
    bench)
      _arguments -S \
        '--codec=[encode, write\: lz4, zstd\[\:LEVEL\], snappy or none \[that of the first block; lz4\]]:CODEC:(lz4 zstd snappy none)' \
        '(-n --partitions)'{-n,--partitions=}'[write\: number of partitions]:N:' \
        '--hash=[write\: by Spark'\''s hash of these columns \[one row after another\]]:COLS:' \
        '(-m --memory-limit)'{-m,--memory-limit=}'[write\: what the writer may hold \[256M\]; the rest is spilled]:SIZE:' \
        '--threads=[write\: threads that compress, beside the one that routes rows \[0\]]:N:' \
        '--scratch=[write\: where output and spills come and go \[$TMPDIR or /tmp\]]:DIR:_files -/' \
        '--json[figures as JSON]' \
        '(-h --help)'{-h,--help}'[show this]' \
        '1:what:(decode encode write)' \
        '*:file:_files'
      ;;
  esac
}
_colshuf "$@"
