# SPDX-License-Identifier: Apache-2.0
# Prints one value of a JSON document, however it is laid out:
#   awk -v path=latency_us.median -f scripts/json_value.awk bench.json
# A path joins keys and array indices with dots. Exit 1 with a line on stderr when there is no such value.

function stop(message) {
  print "json_value: " FILENAME ": " message > "/dev/stderr"
  failed = 1
  exit 1
}

function skip_space() {
  while (substr(text, at, 1) ~ /[ \t\r\n]/) at++
}

function expect(character) {
  skip_space()
  if (substr(text, at, 1) != character) stop("expected " character " at byte " at)
  at++
}

# The text between the quotes, escapes left as they are.
function parse_string(    begin) {
  expect("\"")
  begin = at
  while (at <= length(text) && substr(text, at, 1) != "\"") at += substr(text, at, 1) == "\\" ? 2 : 1
  at++
  return substr(text, begin, at - 1 - begin)
}

function parse_members(prefix, close_mark,    index_, key) {
  at++
  skip_space()
  for (index_ = 0; substr(text, at, 1) != close_mark; index_++) {
    if (index_ > 0) expect(",")
    key = index_
    if (close_mark == "}") { key = parse_string(); expect(":") }
    parse_value(prefix == "" ? key : prefix "." key)
    skip_space()
    if (at > length(text)) stop("ends inside " (prefix == "" ? "the document" : prefix))
  }
  at++
}

function parse_value(name,    first) {
  skip_space()
  first = substr(text, at, 1)
  if (first == "{") parse_members(name, "}")
  else if (first == "[") parse_members(name, "]")
  else if (first == "\"") values[name] = parse_string()
  else if (match(substr(text, at), /^[-+.a-zA-Z0-9]+/)) {
    values[name] = substr(text, at, RLENGTH)
    at += RLENGTH
  } else stop("no value at byte " at)
}

{ text = text $0 "\n" }

END {
  if (failed) exit 1
  at = 1
  parse_value("")
  if (failed) exit 1
  if (!(path in values)) stop("no value " path)
  print values[path]
}
