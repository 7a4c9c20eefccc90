// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other when none of their lanes can go on.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/spmd/lane.h"
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

}  // namespace halftone::spmd::internal
