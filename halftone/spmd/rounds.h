// SPDX-License-Identifier: Apache-2.0
// The messages that ranks exchange when none of their lanes can continue.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/spmd/lane.h"
#include "halftone/spmd/transport.hpp"

namespace halftone::spmd::internal {

/// A collective that lanes wait in.
struct OpenCall {
  std::string key;                   ///< Address::key(), the same on all ranks
  std::string text;                  ///< the call, as in messages
  std::vector<std::string> waiting;  ///< labels of lanes
  std::vector<std::string> missing;
};
std::vector<OpenCall> describe(const std::vector<std::shared_ptr<Meeting>>& meetings);
/// "psum over 'devices' of float32[3]: devices=0 waits for devices=1, which has ended".
/// @pre a call has missing lanes
std::string why_stuck(const std::vector<OpenCall>& calls);

/// As why_stuck(), for one lane that waits for another, given by their positions.
std::string why_ended(const Meeting& meeting, std::size_t position, std::size_t missing);

/// The result of a round; the same on all ranks.
struct Round {
  std::vector<std::shared_ptr<Meeting>> complete;  ///< those of this rank, in the common order
  std::optional<Failure> failure;
  bool is_last = false;  ///< all lanes of all ranks have ended or must end
};
/// Exchanges the state of all ranks. Each rank calls it when all its lanes have ended or wait.
/// @param program  name of the program of this rank
/// @param open     the collectives that its lanes wait in
/// @param failure  the reason why its lanes ended, if any
Round exchange_round(Transport& transport, const std::string& program,
                     const std::vector<std::shared_ptr<Meeting>>& open,
                     const std::optional<Failure>& failure);

}  // namespace halftone::spmd::internal
