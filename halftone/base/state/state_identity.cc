// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/state/state_identity.h"

#include "halftone/base/error.h"
#include "halftone/base/hash.h"
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

std::string checksum(std::string_view name, std::span<const std::byte> bytes) {
  Hash hash;
  hash.add(std::to_string(name.size()) + " ");
  hash.add(name);
  hash.add(bytes);
  return std::to_string(hash.value());
}

std::string checksum(std::string_view name, std::string_view text) {
  return checksum(name, std::as_bytes(std::span(text.data(), text.size())));
}

void check_record(std::string_view name, const std::string& found, const std::string& expected) {
  if (found == expected) return;
  fail(ErrorKind::kFormat, "is damaged: the checksum of '" + printable(name) +
                               "' differs; remove it or name another file");
}

}  // namespace halftone
