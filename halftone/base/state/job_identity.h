// SPDX-License-Identifier: Apache-2.0
// What a state belongs to.
#pragma once

#include <string>
#include <vector>

namespace halftone {

/// A part of a job on which its result depends.
struct JobPart {
  std::string name;   ///< for messages: "network", "text", "seed"
  std::string value;  ///< equal where the part is; of long parts a hash
};
using JobIdentity = std::vector<JobPart>;

}  // namespace halftone
