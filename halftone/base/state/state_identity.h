// SPDX-License-Identifier: Apache-2.0
// What a state belongs to, and checksums of what it holds. Every file of a state uses these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "halftone/base/state/job_identity.h"

namespace halftone {

/// The value of a part that is known by a hash.
std::string hash_text(std::uint64_t hash);

nlohmann::ordered_json to_json(const JobIdentity& identity);

/// @param what   what is kept of the job: "sensitivities"
/// @param found  JSON of another identity
/// @throws Error kFormat that names the first part which differs; Json::exception if `found` is no
///         identity
void check_identity(const std::string& what, const nlohmann::ordered_json& found,
                    const JobIdentity& expected);

/// The checksum of a record, which is written beside it: of its name and its bytes. A record with
/// one changed bit has another one.
std::string checksum(std::string_view name, std::span<const std::byte> bytes);
std::string checksum(std::string_view name, std::string_view text);

/// @throws Error kFormat unless the checksum is `expected`
void check_record(std::string_view name, const std::string& found, const std::string& expected);

}  // namespace halftone
