// SPDX-License-Identifier: Apache-2.0
// Whether all ranks run the same program, and small messages of every rank to all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/spmd/transport.h"

namespace halftone::spmd::internal {

/// The first message of each rank.
struct Header {
  std::uint64_t program = 0;  ///< hash of the name of the program that it runs
  std::uint64_t state = 0;
  std::uint64_t detail = 0;

  bool operator==(const Header&) const = default;
};
std::uint64_t hash(std::string_view text);  ///< as Hash
/// The headers of all ranks.
std::vector<Header> all_headers(Transport& transport, const Header& mine);
/// The bytes of all ranks, of any lengths.
std::vector<std::vector<std::byte>> all_bytes(Transport& transport,
                                              std::span<const std::byte> mine);
/// Nothing if all ranks run one program, else a message that says which ranks run what.
std::optional<std::string> difference(Transport& transport, const std::vector<Header>& headers,
                                      const std::string& program);

}  // namespace halftone::spmd::internal
