// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other when none of their lanes can go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/spmd/lane.h"
#include "halftone/spmd/program.h"
#include "halftone/spmd/transport.h"

namespace halftone::spmd::internal {

/// A collective that lanes wait in.
struct OpenCall {
  std::string key;                   ///< the same for lanes that are to meet, on all ranks
  std::string text;                  ///< what they call
  std::vector<std::string> waiting;  ///< labels of lanes
  std::vector<std::string> missing;
};
std::vector<OpenCall> describe(const std::vector<std::shared_ptr<Meeting>>& meetings);
/// "psum over 'devices' of float32[3]: devices=0 waits for devices=1, which has ended".
/// @pre a call has missing lanes
std::string why_stuck(const std::vector<OpenCall>& calls);

/// The same of one lane that waits for another, by their positions.
std::string why_ended(const Meeting& meeting, std::size_t position, std::size_t missing);

/// What a round has come to; the same on all ranks.
struct Round {
  std::vector<std::shared_ptr<Meeting>> complete;  ///< of this rank's, in the order all agree on
  std::optional<Failure> failure;
  bool is_last = false;  ///< all lanes of all ranks have ended, or are to
};
/// All ranks call it when their lanes have ended or wait.
/// @param program  what this rank runs
/// @param open     what its lanes wait in
/// @param failure  what ended its lanes before
Round exchange_round(Transport& transport, const std::string& program,
                     const std::vector<std::shared_ptr<Meeting>>& open,
                     const std::optional<Failure>& failure);

/// Gives a collective that is complete over all ranks its results, for the lanes of this rank.
void carry_out_over_ranks(Meeting& meeting, Transport& transport);

/// What each rank says first.
struct Header {
  std::uint64_t program = 0;  ///< which program it runs
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
/// Nothing if all ranks run one program, else a message that says who runs what.
std::optional<std::string> difference(Transport& transport, const std::vector<Header>& headers,
                                      const std::string& program);

}  // namespace halftone::spmd::internal
