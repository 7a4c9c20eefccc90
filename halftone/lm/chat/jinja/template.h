// SPDX-License-Identifier: Apache-2.0
// Templates in Jinja, as transformers renders those of chats: Jinja 3.1 in its immutable sandbox
// with trim_blocks, lstrip_blocks, loop controls, {% generation %}, and the functions
// raise_exception and strftime_now. What Halftone does not follow is an error that names it.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/lm/chat/jinja/syntax.h"
#include "halftone/lm/chat/jinja/value.h"

namespace halftone::lm::jinja {

/// Names that a template is given, with their values.
using Variables = std::vector<std::pair<std::string, Value>>;

class Template {
 public:
  /// @param source  UTF-8
  /// @throws Error kFormat "line 3: expected ..." of what is no template; kUnsupported of tags that
  ///         chat templates do not have
  explicit Template(std::string_view source);

  /// The text that the template makes: at most 2^26 characters in all, in a bounded number of
  /// steps.
  /// @param now  what strftime_now() takes for the time
  /// @throws Error kUsage "line 3: ..." if the template calls raise_exception(); kUnsupported of
  ///         what Python refuses, of functions, filters and tests that are not there, and above
  ///         the bounds
  [[nodiscard]] Text render(const Variables& variables, const std::tm& now) const;

 private:
  std::shared_ptr<const std::vector<Statement>> statements_;
};

}  // namespace halftone::lm::jinja
