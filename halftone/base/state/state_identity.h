// SPDX-License-Identifier: Apache-2.0
// What a state belongs to. Every file of a state uses this.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace halftone {

/// A part of a job on which its result depends.
struct JobPart {
  std::string name;   ///< for messages: "network", "text", "seed"
  std::string value;  ///< equal where the part is; of long parts a hash
};
using JobIdentity = std::vector<JobPart>;

/// The value of a part that is known by a hash.
std::string hash_text(std::uint64_t hash);

nlohmann::ordered_json to_json(const JobIdentity& identity);

/// @param what   what is kept of the job: "sensitivities"
/// @param found  JSON of another identity
/// @throws Error kFormat that names the first part which differs; Json::exception if `found` is no
///         identity
void check_identity(const std::string& what, const nlohmann::ordered_json& found,
                    const JobIdentity& expected);

}  // namespace halftone
