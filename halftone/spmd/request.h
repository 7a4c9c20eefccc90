// SPDX-License-Identifier: Apache-2.0
// What a lane brings to a collective, and what the collective makes of what all have brought.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/spmd/reduction.h"

namespace halftone::spmd::internal {

enum class Operation { kReduce, kReduceScatter, kAllGather, kAllToAll, kPermute };

/// One lane's call of a collective.
struct Request {
  Operation operation = Operation::kReduce;
  const char* name = "";  ///< as the user wrote it: "psum"
  std::vector<std::string> axes{};
  std::vector<std::vector<std::size_t>> groups{};
  Reduction reduction = Reduction::kSum;
  bool mean = false;
  bool tiled = false;
  std::size_t axis = 0;         ///< of the leaves: cut along it, or gathered along it
  std::size_t concat_axis = 0;  ///< kAllToAll: where the pieces are put together
  std::vector<std::pair<std::size_t, std::size_t>> permutation{};  ///< from, to
  std::vector<Array> leaves{};

  /// "psum over 'devices' of float32[3]".
  [[nodiscard]] std::string to_string() const;
  /// Whether both may meet: all but the values are equal.
  [[nodiscard]] bool matches(const Request& other) const;
  /// @param num_lanes  how many meet
  /// @throws Error kShape or kUsage that says what does not fit the leaves
  void check(std::size_t num_lanes) const;
};

/// What lane `index` of n gets of an array that is cut along an axis: entry `index`, or, tiled, the
/// index-th of n equal parts.
Array cut(const Array& array, const Request& request, std::size_t index, std::size_t num_lanes);
/// Arrays put together along an axis: a new one, or, tiled, one they have.
Array assembled(const std::vector<Array>& arrays, std::size_t axis, bool tiled);
Array zeros_like(const Array& array);

/// The work of a collective, in pieces that several threads may do at once.
struct Job {
  std::vector<std::vector<Array>> results;  ///< of each lane; a single one is everybody's
  std::size_t num_pieces = 0;
  std::size_t num_bytes = 0;  ///< read and written, about
  std::function<void(std::size_t)> work;
};

/// @param brought  of each lane, leaves alike
Job make_job(const Request& request, std::vector<std::vector<Array>> brought);

}  // namespace halftone::spmd::internal
