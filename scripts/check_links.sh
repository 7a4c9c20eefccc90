#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The links of all documents: files, folders and headings exist, addresses elsewhere are well formed
# (nothing is fetched), and links lead from README.md to every document of docs/.
#
#     scripts/check_links.sh [FOLDER]      the repository, or another tree that begins with a README.md
. "$(dirname "$0")/lib.sh"

cd "${1:-.}"
mapfile -t documents < <(find . -name build -prune -o -name .git -prune -o -name '*.md' -print |
  sed 's|^\./||' | sort)
[ "${#documents[@]}" -gt 0 ] || die "no documents found"

find . -name build -prune -o -name .git -prune -o -print | sed 's|^\./||' | awk '
  function breach(text) { print text; bad = 1 }
  # folder/../a and folder/./a are a.
  function resolve(folder, path,    parts, kept, n, i, count, text) {
    n = split(folder == "" ? path : folder "/" path, parts, "/")
    for (i = 1; i <= n; ++i) {
      if (parts[i] == "" || parts[i] == ".") continue
      if (parts[i] == ".." && count > 0 && kept[count] != "..") --count
      else kept[++count] = parts[i]
    }
    text = count ? kept[1] : "."
    for (i = 2; i <= count; ++i) text = text "/" kept[i]
    return text
  }
  # The name of a heading as GitHub makes it.
  function anchor(heading) {
    heading = tolower(heading)
    gsub(/\]\([^)]*\)/, "", heading)
    gsub(/[^a-z0-9 _-]/, "", heading)
    gsub(/ /, "-", heading)
    return heading
  }
  function note(target) {
    ++links
    from[links] = FILENAME
    line[links] = FNR
    to[links] = target
  }
  FILENAME == "-" { exists[$0] = 1; next }
  FNR == 1 { fenced = 0 }
  /^```/ { fenced = !fenced; next }
  fenced || /^    / { next }
  /^#+ / {
    name = anchor(substr($0, index($0, " ") + 1))
    key = FILENAME "#" name
    has[key (key in seen ? "-" seen[key] : "")] = 1
    ++seen[key]
  }
  /^\[[^]]*\]: / { breach(FILENAME ":" FNR ": write [text](target); references are not checked") }
  {
    rest = $0
    gsub(/`[^`]*`/, "", rest)
    while (match(rest, /\]\([^)]*\)/)) {
      note(substr(rest, RSTART + 2, RLENGTH - 3))
      rest = substr(rest, RSTART + RLENGTH)
    }
  }
  function check(i,    target, heading, file, folder) {
    target = to[i]
    if (target ~ /^[a-z]+:/) {
      if (target !~ /^https?:\/\/[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(\/[^ ]*)?$/)
        breach(from[i] ":" line[i] ": " target " is no address of a page")
      return
    }
    heading = target
    if (sub(/^[^#]*#/, "", heading) == 0) heading = ""
    sub(/#.*/, "", target)
    folder = from[i]
    if (sub(/\/[^\/]*$/, "", folder) == 0) folder = ""
    file = target == "" ? from[i] : resolve(folder, target)
    if (!(file in exists)) breach(from[i] ":" line[i] ": there is no " file)
    else if (heading != "" && !((file "#" heading) in has))
      breach(from[i] ":" line[i] ": " file " has no heading #" heading)
    ++num_next[from[i]]
    next_of[from[i], num_next[from[i]]] = file
  }
  END {
    for (i = 1; i <= links; ++i) check(i)
    queue[1] = "README.md"
    reached["README.md"] = 1
    last = 1
    for (first = 1; first <= last; ++first)
      for (i = 1; i <= num_next[queue[first]]; ++i) {
        file = next_of[queue[first], i]
        if (!(file in reached)) { reached[file] = 1; queue[++last] = file }
      }
    for (file in exists)
      if (file ~ /^docs\/.*\.md$/ && !(file in reached)) breach(file ": no link leads here from README.md")
    exit bad
  }
' - "${documents[@]}" >&2 || die "links that lead nowhere, or documents that nothing leads to"
