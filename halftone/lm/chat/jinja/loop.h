// SPDX-License-Identifier: Apache-2.0
// What templates know as `loop`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "halftone/lm/chat/jinja/value.h"

namespace halftone::lm::jinja {

struct Loop {
  std::vector<Value> items;
  std::size_t index = 0;
  std::size_t depth = 0;                        ///< loops around this one, of a recursive loop
  std::optional<std::vector<Value>> changed{};  ///< what changed() saw last
  std::function<Value(const Value&)> again{};   ///< of a recursive loop; empty: it is none
};

/// loop.first and the others; undefined if there is no such attribute.
Value loop_attribute(const std::shared_ptr<Loop>& loop, const std::string& name);

}  // namespace halftone::lm::jinja
