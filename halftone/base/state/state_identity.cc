// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/state/state_identity.h"

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone {

std::string hash_text(std::uint64_t hash) { return "hash " + std::to_string(hash); }

nlohmann::ordered_json to_json(const JobIdentity& identity) {
  auto json = nlohmann::ordered_json::object();
  for (const JobPart& part : identity) json[part.name] = part.value;
  return json;
}

void check_identity(const std::string& what, const nlohmann::ordered_json& found,
                    const JobIdentity& expected) {
  for (const JobPart& part : expected) {
    const auto value = found.value(part.name, std::string());
    if (value == part.value) continue;
    fail(ErrorKind::kFormat, "has " + what + " of another job: expected " + part.name + " '" +
                                 part.value + "', found '" + printable(value) +
                                 "'; name another file");
  }
}

}  // namespace halftone
