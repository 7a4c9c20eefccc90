#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manual has no error that man or mandoc sees, and names every option of the help. bash and zsh
# complete verbs, options, values and files. Tools that are absent are left out.
#
#     tests/command_texts.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "command_texts.sh: $*" >&2
  exit 1
}
expect() { # expect NAME WANTED FOUND
  [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}
has() { command -v "$1" > /dev/null; }

"$program" --completion bash > "$work/halftone.bash"
"$program" --completion zsh > "$work/_halftone"
"$program" --man-pages "$work"
mapfile -t verbs < <("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "${#verbs[@]}" -ge 12 ] || fail "verbs: ${verbs[*]}"
options() { "$program" "$@" --help | sed -n 's/^  \(-[-a-z,]*\)[ {]*.*/\1/p' | tr ',' '\n' | sort -u; }

# bash: complete WORD ... [CURRENT] prints what can replace the last word.
mkdir "$work/files" "$work/files/folder"
touch "$work/files/my net.onnx"
complete_bash() {
  # shellcheck disable=SC2016 # for the bash in there
  (cd "$work/files" && bash --norc -u -c 'source ../halftone.bash; COMP_WORDS=(halftone "$@")
    COMP_CWORD=$#; _halftone; printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | paste -sd ' ')
}
expect "bash: verbs" "${verbs[*]}" "$(complete_bash '')"
expect "bash: a verb" "quantize" "$(complete_bash qu)"
expect "bash: options of the program" "--completion" "$(complete_bash --c)"
expect "bash: shells" "bash zsh" "$(complete_bash --completion '')"
expect "bash: options" "--weight-bits --weight-scheme" "$(complete_bash quantize --weight)"
expect "bash: values" "train test" "$(complete_bash quantize --split '')"
expect "bash: values of another verb" "data tensor pipeline" "$(complete_bash estimate --split '')"
expect "bash: values after =" "test" "$(complete_bash quantize --split = te)"
expect "bash: none after =" "train test" "$(complete_bash quantize --split =)"
expect "bash: number systems" "nvfp4" "$(complete_bash quantize --scheme nvf)"
expect "bash: number systems alone" "nvfp4" "$(complete_bash systems nvf)"
expect "bash: hardware" "edge-2bit" "$(complete_bash estimate --accelerator edge-2)"
expect "bash: devices" "pcm" "$(complete_bash distill --crossbar pc)"
expect "bash: files" "my net.onnx" "$(complete_bash quantize my)"
expect "bash: files of an option" "my net.onnx" "$(complete_bash eval x.onnx --data my)"
expect "bash: folders" "folder" "$(complete_bash run x.onnx -o '')"
expect "bash: numbers" "" "$(complete_bash quantize --limit '')"
expect "bash: an unknown verb" "" "$(complete_bash frobnicate '')"
for verb in "${verbs[@]}"; do
  expect "bash: options of $verb" "$(options "$verb" | paste -sd ' ')" \
    "$(complete_bash "$verb" - | tr ' ' '\n' | sort | paste -sd ' ')"
done
if has shellcheck; then shellcheck --shell=bash "$work/halftone.bash"; fi

# The manual.
for page in "$work"/*.1; do
  if has man; then
    warnings=$(MANWIDTH=80 LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$page" \
      2>&1 > /dev/null)
    expect "man $page" "" "$warnings"
  fi
  if has mandoc; then mandoc -T lint -W warning "$page" || fail "mandoc $page"; fi
done
for verb in "${verbs[@]}"; do
  for option in $(options "$verb"); do
    grep -qF -- "\\fB${option//-/\\-}\\fR" "$work/halftone-$verb.1" || fail "manual: $verb $option"
  done
done

# zsh, as a user types: a function named halftone prints the line that completion made.
if has zsh; then
  zsh -n "$work/_halftone"
  cat > "$work/type.zsh" << 'ZSH'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "cd files; PS1= PS2=; autoload -Uz compinit; compinit -u -D; source ../_halftone"
zpty -w shell 'halftone() { print -r -- "<$1 ${@:2}>" }; print -r -- BE""GIN'
zpty -r -m shell text '*BEGIN*' 
for typed in "$@"; do
  zpty -w -n shell "halftone $typed"$'\n'
  zpty -r -m shell text '*<*>*' || exit 1
  print -r -- ${${text##*<}%%>*}
done
zpty -d shell
ZSH
  mapfile -t typed < <(cd "$work" && timeout 60 zsh -f type.zsh $'qu\t' $'quantize --weight-b\t' \
    $'estimate --split=te\t' $'quantize --scheme nvf\t' $'quantize my\t' $'run a -o fo\t' \
    $'distill --crossbar pc\t' $'estimate --accelerator=edge-2\t')
  wanted=("quantize " "quantize --weight-bits" "estimate --split=tensor" "quantize --scheme nvfp4"
    "quantize my net.onnx" "run a -o folder" "distill --crossbar pcm"
    "estimate --accelerator=edge-2bit")
  for i in "${!wanted[@]}"; do expect "zsh" "${wanted[i]}" "${typed[i]:-}"; done
fi
echo "command_texts.sh: passed"
