// SPDX-License-Identifier: Apache-2.0
// Checks that all ranks run the same program; sends small messages from every rank to all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/spmd/transport.hpp"

namespace halftone::spmd::internal {

/// The first message of each rank.
struct Header {
  std::uint64_t program = 0;  ///< hash of the name of the program that the rank runs
  std::uint64_t state = 0;
  std::uint64_t detail = 0;

  bool operator==(const Header&) const = default;
};
std::uint64_t hash(std::string_view text);  ///< see Hash
/// The headers of all ranks.
std::vector<Header> all_headers(Transport& transport, const Header& mine);
/// The bytes of all ranks; lengths may differ.
std::vector<std::vector<std::byte>> all_bytes(Transport& transport,
                                              std::span<const std::byte> mine);
/// Nothing if all ranks run the same program; else a message that names two ranks that differ and
/// their programs.
std::optional<std::string> difference(Transport& transport, const std::vector<Header>& headers,
                                      const std::string& program);

}  // namespace halftone::spmd::internal
