// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "halftone/base/near_names.h"

namespace halftone::cli {

/// Accepts some values. The message for another one ends with the closest of them.
class OneOf : public CLI::IsMember {
 public:
  explicit OneOf(std::vector<std::string> names) : CLI::IsMember(names) {
    func_ = [inner = func_, names = std::move(names)](std::string& text) {
      const std::string message = inner(text);
      return message.empty() ? message : message + meant_name(text, names);
    };
  }
};

}  // namespace halftone::cli
