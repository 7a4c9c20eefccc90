#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a link command without its shared libraries, which an object file cannot take in.
#
#     link_archives.sh g++ -r ... modules/base/libhalftone_base.a /usr/lib/libprotobuf-lite.so
for argument in "$@"; do
  shift
  case $argument in
    *.so | *.so.*) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "$@"
