# SPDX-License-Identifier: Apache-2.0
# Made by tools/completions. bash: source it, or put it in /usr/share/bash-completion/completions as "colshuf".
_colshuf() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "write read cat head stats convert extract merge repack inspect verify diff clean bench --help --version" -- "$word"))
    return
  fi
  case $before in
    --codec) COMPREPLY=($(compgen -W "lz4 zstd snappy none" -- "$word")); return ;;
    --checksum) COMPREPLY=($(compgen -W "adler32 crc32 crc32c none" -- "$word")); return ;;
    --compat) COMPREPLY=($(compgen -W "comet comet-1.1 arrow" -- "$word")); return ;;
    --format) COMPREPLY=($(compgen -W "stream file csv json" -- "$word")); return ;;
    --compress) COMPREPLY=($(compgen -W "none lz4 zstd" -- "$word")); return ;;
    --offsets) COMPREPLY=($(compgen -W "auto plain lengths" -- "$word")); return ;;
    --layout) COMPREPLY=($(compgen -W "compact arrow-rs" -- "$word")); return ;;
    --rules) COMPREPLY=($(compgen -W "spark comet" -- "$word")); return ;;
  esac
  case ${COMP_WORDS[1]} in
    write) options="--output --partitions --hash --range --round-robin --single --partition-id --codec --memory-limit --block-size --block-rows --checksum --spill-dir --threads --compat --offsets --layout --no-dictionary --rules --bounds --save-bounds --seed --task-id --sort-first --allow-map-keys --native-index --json --help" ;;
    read) options="--partition --partitions --columns --output --format --compress --memory-limit --target-rows --threads --keep-dictionaries --verify-checksums --skip-corrupt --trusted --help" ;;
    cat) options="--rows --partition --partitions --columns --skip-corrupt --wide --json --help" ;;
    head) options="--rows --partition --partitions --columns --skip-corrupt --wide --json --help" ;;
    stats) options="--partition --partitions --columns --json --help" ;;
    convert) options="--output --format --compress --partition --partitions --columns --memory-limit --target-rows --threads --keep-dictionaries --verify-checksums --skip-corrupt --trusted --help" ;;
    extract) options="--partition --partitions --columns --output --format --compress --memory-limit --target-rows --threads --keep-dictionaries --verify-checksums --skip-corrupt --trusted --help" ;;
    merge) options="--output --partitions --checksum --native-index --json --help" ;;
    repack) options="--output --codec --memory-limit --block-size --block-rows --checksum --compat --offsets --layout --no-dictionary --native-index --json --help" ;;
    inspect) options="--blocks --deep --index --html --json --help" ;;
    verify) options="--json --threads --help" ;;
    diff) options="--rows --ordered --whole --json --help" ;;
    clean) options="--json --help" ;;
    bench) options="--codec --partitions --hash --memory-limit --threads --scratch --json --help" ;;
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _colshuf colshuf
