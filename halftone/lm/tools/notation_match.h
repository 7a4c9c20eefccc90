// SPDX-License-Identifier: Apache-2.0
// Parts of a notation in what a model writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "halftone/lm/tools/literal.h"
#include "halftone/lm/tools/tool_notation.h"

namespace halftone::lm {

struct Match {
  Fit fit = Fit::kNo;
  std::size_t end = 0;  ///< behind what fits
};

/// What a call has in place of the signs of a notation.
struct CallMarks {
  std::string name;
  std::string number{};
  std::string key{};  ///< of the value in front
};

/// Whether a part of a notation is somewhere in a text, with any white space.
Match match_part(std::string_view text, std::size_t at, std::string_view part, CallMarks& marks);

}  // namespace halftone::lm
