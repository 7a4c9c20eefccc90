#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what tests compare with, in the versions of tests/peers.txt, into build/peers, which no
# other Python sees; and the sources of llama.cpp, with its templates, vocabularies and converter.
# Tests find both from then on. Takes a minute; needs PyPI.
#   scripts/peers.sh        the small ones: ONNX Runtime, LiteRT, tokenizers, gguf, jinja2, ...
#   scripts/peers.sh --all  also PyTorch, transformers, TensorFlow, llama.cpp: 10 GB, half an hour
. "$(dirname "$0")/lib.sh"

list=tests/peers.txt
case "${1:-}" in
  "") ;;
  --all) list=tests/peers_large.txt ;;
  *) die "unknown option $1; see the head of scripts/peers.sh" ;;
esac

peers=build/peers
installed=$peers/installed.txt
if [ -f "$installed" ] && cat tests/peers.txt "$list" | cmp -s - "$installed"; then exit 0; fi
say "Installing the packages of $list into $peers"
[ -x $peers/bin/python ] || python3 -m venv $peers
$peers/bin/pip install --quiet --disable-pip-version-check -r "$list"

# Its binary packages lack the sources.
sources=$peers/llama.cpp
if [ ! -d $sources ]; then
  version=$(sed -n 's/^llama-cpp-python/&/p' tests/peers_large.txt)
  $peers/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
    --dest $peers/downloads "$version"
  mkdir -p $sources.partly
  tar -xzf $peers/downloads/llama_cpp_python-*.tar.gz -C $sources.partly --strip-components 3 \
    --wildcards '*/vendor/llama.cpp'
  mv $sources.partly $sources
fi
if [ "$list" = tests/peers_large.txt ]; then
  $peers/bin/pip download --quiet --disable-pip-version-check --no-deps --dest $peers/packages \
    -r tests/peers_tokenizers.txt
fi
cat tests/peers.txt "$list" > "$installed"
