# SPDX-License-Identifier: Apache-2.0
# Made by tools/completions. bash: source it, or put it in /usr/share/bash-completion/completions as "colshuf".
# What is not completed by words here, readline completes as file names.
_colshuf() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "write read cat head stats convert extract merge repack inspect verify diff clean bench --help --version" -- "$word"))
    return
  fi
  if [ "$word" = "=" ]; then
    word=
  elif [ "$before" = "=" ]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  case $before in
    --codec) words="lz4 zstd snappy none" ;;
    --checksum) words="adler32 crc32 crc32c none" ;;
    --compat) words="comet comet-1.1 arrow" ;;
    --format | -f) words="stream file csv json" ;;
    --compress) words="none lz4 zstd" ;;
    --offsets) words="auto plain lengths" ;;
    --layout) words="compact arrow-rs" ;;
    --rules) words="spark comet" ;;
    --scratch | --spill-dir) compopt -o dirnames +o default 2>/dev/null; return ;;
    --block-rows | --block-size | --columns | --hash | --memory-limit | --partition | --partition-id | --partitions | --range | --rows | --seed | --target-rows | --task-id | --threads | -c | -m | -p) compopt +o default 2>/dev/null; return ;;
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    write) options="--output -o --partitions -n --hash --range --round-robin --single --partition-id --codec --memory-limit -m --block-size --block-rows --checksum --spill-dir --threads --compat --offsets --layout --no-dictionary --rules --bounds --save-bounds --seed --task-id --sort-first --allow-map-keys --native-index --json --help -h" ;;
    read) options="--partition -p --partitions --columns -c --output -o --format -f --compress --memory-limit -m --target-rows --threads --any-order --keep-dictionaries --verify-checksums --skip-corrupt --trusted --help -h" ;;
    cat) options="--rows -n --partition -p --partitions --columns -c --skip-corrupt --wide -w --json --help -h" ;;
    head) options="--rows -n --partition -p --partitions --columns -c --skip-corrupt --wide -w --json --help -h" ;;
    stats) options="--partition -p --partitions --columns -c --json --help -h" ;;
    convert) options="--output -o --format -f --compress --partition -p --partitions --columns -c --memory-limit -m --target-rows --threads --any-order --keep-dictionaries --verify-checksums --skip-corrupt --trusted --help -h" ;;
    extract) options="--partition -p --partitions --columns -c --output -o --format -f --compress --memory-limit -m --target-rows --threads --any-order --keep-dictionaries --verify-checksums --skip-corrupt --trusted --help -h" ;;
    merge) options="--output -o --partitions --checksum --native-index --json --help -h" ;;
    repack) options="--output -o --codec --memory-limit -m --block-size --block-rows --checksum --compat --offsets --layout --no-dictionary --native-index --json --help -h" ;;
    inspect) options="--blocks -b --deep --index --html --json --help -h" ;;
    verify) options="--json --threads --help -h" ;;
    diff) options="--rows -n --ordered --whole --json --help -h" ;;
    clean) options="--json --help -h" ;;
    bench) options="--codec --partitions -n --hash --memory-limit -m --threads --scratch --json --help -h" words="decode encode write" ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [ "${COMP_WORDS[1]}" = clean ]; then
    compopt -o dirnames +o default 2>/dev/null
  fi
}
complete -o default -F _colshuf colshuf
