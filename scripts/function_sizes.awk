# SPDX-License-Identifier: Apache-2.0
# Lists the functions of C++ sources, with tabs between the fields: "file:line", name, lines,
# parameters, and "target" for bodies that are compiled once per SIMD target, else "plain". Lines
# are those from the head to the closing brace; 1 for a declaration without a body.
#
# This is no parser. It relies on clang-format, and takes '{' after ')' outside of parentheses and
# of other functions as the beginning of a body.
#
# clang-tidy's readability-function-size parses headers too: 0.5 to 2.6 seconds a source, half an
# hour for all, and it sees no tests. This takes 0.6 seconds, so it runs before every commit.

function reset() { head = ""; head_line = 0; parens = 0 }

# The text without comments, literals and preprocessor lines.
function stripped(text,    at, end, mark, result) {
  if (in_directive || (!in_comment && text ~ /^[ \t]*#/)) {
    in_directive = text ~ /\\$/
    return ""
  }
  result = ""
  while (text != "") {
    if (in_comment) {
      end = index(text, "*/")
      if (end == 0) return result
      in_comment = 0
      text = substr(text, end + 2)
    } else if (in_raw) {
      end = index(text, raw_end)
      if (end == 0) return result
      in_raw = 0
      text = substr(text, end + length(raw_end))
    } else if (match(text, /\/\/|\/\*|R"[a-zA-Z_]*\(|"([^"\\]|\\.)*"|'([^'\\]|\\.)+'/)) {
      at = RSTART
      end = RLENGTH
      mark = substr(text, at, 2)
      result = result substr(text, 1, at - 1)
      text = substr(text, at)
      if (mark == "//") return result
      if (mark == "/*") {
        in_comment = 1
        text = substr(text, 3)
      } else if (mark == "R\"") {
        in_raw = 1
        raw_end = ")" substr(text, 3, end - 3) "\""
        text = substr(text, end + 1)
      } else {
        # A quote between digits separates them.
        if (substr(mark, 1, 1) == "'" && result ~ /[0-9a-fA-F]$/) {
          text = substr(text, 2)
        } else {
          result = result "0"
          text = substr(text, end + 1)
        }
      }
    } else {
      return result text
    }
  }
  return result
}

# The number of parameters of the declaration, and `name`; -1 if it declares no function.
function num_parameters(text,    i, c, depth, angle, count, any, rest) {
  gsub(/->/, "  ", text)
  gsub(/operator *(\(\)|<=>|<<=?|>>=?|<=?|>=?)/, "operator_", text)
  gsub(/\[\[[a-z_]*\]\]/, "", text)
  while (match(text, /^[ ]*template *</)) {
    depth = 1
    for (i = RSTART + RLENGTH; depth > 0 && i <= length(text); ++i) {
      c = substr(text, i, 1)
      if (c == "<" || c == "(") ++depth
      if (c == ">" || c == ")") --depth
    }
    text = substr(text, i)
  }
  gsub(/(requires|noexcept|alignas|decltype|HWY_ATTR|__attribute__) *\([^()]*\)/, "", text)
  if (!match(text, /[A-Za-z_~0-9]+ *\(/)) return -1
  name = substr(text, RSTART, RLENGTH)
  rest = substr(text, 1, RSTART - 1)
  if (rest ~ /=/ || rest ~ /^ *(using|typedef|friend|return|static_assert)/) return -1
  text = substr(text, RSTART + RLENGTH)
  sub(/ *\($/, "", name)
  if (name ~ /^(TEST|TEST_P|TEST_F|INSTANTIATE_TEST_SUITE_P|static_assert|HWY_[A-Z_]*|BENCHMARK.*|MATCHER.*|HALFTONE_.*)$/) return -1
  depth = 0; angle = 0; count = 0; any = 0
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (depth == 0 && c == ")") break
    if (c == "(" || c == "{" || c == "[") ++depth
    else if (c == ")" || c == "}" || c == "]") --depth
    else if (c == "<") ++angle
    else if (c == ">") --angle
    else if (c == "," && depth == 0 && angle == 0) ++count
    if (c != " ") any = 1
  }
  return any ? count + 1 : 0
}

function report(lines,    n) {
  n = num_parameters(head)
  if (n < 0) return
  printf "%s:%d\t%s\t%d\t%d\t%s\n", file, head_line, name, lines, n, target ? "target" : "plain"
}

function opens_container(text) {
  gsub(/template *<[^{]*>/, "", text)
  return text ~ /^[^(=]*(namespace|class|struct|union|enum)([ {]|$)/ && text !~ /\)[^:]*$/ || text ~ /^ *(inline )?namespace/ || text ~ /extern 0/
}

FNR == 1 {
  file = FILENAME
  depth = 0
  inside = 0  # the depth at which a function or an initializer began, 0 outside of them
  target = file ~ /-inl\.h$/
  in_comment = in_directive = in_raw = 0
  reset()
}
/^HWY_BEFORE_NAMESPACE/ { target = 1; next }
/^HWY_AFTER_NAMESPACE/ { target = file ~ /-inl\.h$/; next }
{
  line = stripped($0)
  while (match(line, /[(){};]/)) {
    before = substr(line, 1, RSTART - 1)
    c = substr(line, RSTART, 1)
    line = substr(line, RSTART + 1)
    if (!inside) {
      if (head_line == 0 && before ~ /[^ ]/) head_line = FNR
      head = head before
    }
    if (c == "{") {
      ++depth
      if (!inside) {
        if (parens == 0 && opens_container(head)) {
          reset()
          continue
        }
        inside = depth
        # Braces of a parameter's default, a variable's initializer or a constructor's list.
        is_body = parens == 0 && head ~ /\)/ && !(head ~ /\) *:[^:]/ && before ~ /[A-Za-z0-9_>]$/) && head !~ /=[^=]*$/
        if (head ~ /operator *[=!<>]+ *\(/ && parens == 0) is_body = 1
      }
      continue
    }
    if (c == "}") {
      if (inside == depth && inside) {
        inside = 0
        if (is_body) {
          report(FNR - head_line + 1)
          reset()
        } else {
          head = head "{}"
        }
      } else if (!inside) {
        reset()
      }
      --depth
      continue
    }
    if (inside) continue
    if (c == "(") ++parens
    if (c == ")") --parens
    if (c == ";" && parens == 0) {
      report(1)
      reset()
      continue
    }
    head = head c
  }
  if (!inside) {
    if (head_line == 0 && line ~ /[^ ]/) head_line = FNR
    if (line ~ /^ *(public|private|protected): *$/) { reset() } else head = head line " "
  }
}
