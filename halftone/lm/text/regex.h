// SPDX-License-Identifier: Apache-2.0
// Regular expressions of files of tokenizers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace halftone::lm {

/// A regular expression, where \s, \w, \b and \d mean what Unicode says. Any number of threads may
/// use it.
class Regex {
 public:
  /// @param pattern  in the syntax of Oniguruma (Ruby's), as far as oniguruma_to_pcre() has it
  /// @throws Error kFormat if it is none; kUnsupported as oniguruma_to_pcre()
  explicit Regex(const std::string& pattern);

  [[nodiscard]] const std::string& pattern() const { return pattern_; }
  /// Calls visit(begin, end) for every match, from the front. A match may be empty, but not where
  /// the one before it ends.
  /// @param text  UTF-8
  /// @throws Error kUnsupported if a match takes too long
  void for_each_match(std::string_view text,
                      const std::function<void(std::size_t, std::size_t)>& visit) const;

 private:
  struct Code;
  std::string pattern_;
  std::shared_ptr<const Code> code_;  // shared by copies
};

/// A pattern of Oniguruma in the syntax of PCRE2: what both write in one way and mean in two, such
/// as \h, \w, \Z, {,2} and (?m), is spelled out.
/// Source: doc/RE of Oniguruma 6.9, in Ruby's syntax.
/// @throws Error kUnsupported for what is not known to mean the same; names it
std::string oniguruma_to_pcre(std::string_view pattern);

/// A pattern that matches this text.
std::string escaped_pattern(std::string_view text);

}  // namespace halftone::lm
