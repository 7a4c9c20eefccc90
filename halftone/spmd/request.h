// SPDX-License-Identifier: Apache-2.0
// A lane's call of a collective, and the computation of the results from all calls.
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
  std::size_t concat_axis = 0;  ///< kAllToAll: the axis along which pieces are joined
  std::vector<std::pair<std::size_t, std::size_t>> permutation{};  ///< from, to
  std::vector<Array> leaves{};

  /// "psum over 'devices' of float32[3]".
  [[nodiscard]] std::string to_string() const;
  /// Whether both can belong to one collective: all but the values are equal.
  [[nodiscard]] bool matches(const Request& other) const;
  /// @param num_lanes  number of participants
  /// @throws Error kShape or kUsage if an option does not fit the leaves
  void check(std::size_t num_lanes) const;
};

// Three functions define each collective: lane `to` gets one piece of each leaf from every lane in
// sources(to), and its result is the combination of the pieces of a leaf. Jobs and exchanges
// between ranks follow this definition; a result that all lanes share is computed once.

/// The lanes whose leaves the result of lane `to` depends on, in the order of put_together().
std::vector<std::size_t> sources(const Request& request, std::size_t to, std::size_t num_lanes);
/// The piece of a leaf that lane `to` gets. If the leaf is cut along an axis, this is entry `to`,
/// or, tiled, part `to` of num_lanes equal parts.
Array piece(const Request& request, const Array& leaf, std::size_t to, std::size_t num_lanes);
/// @param like  an array of the type of the leaf, for zeros where a lane has no source
Array put_together(const Request& request, const Array& like, const std::vector<Array>& pieces);

/// The work of a collective, in pieces that several threads may run in parallel.
struct Job {
  std::vector<std::vector<Array>> results;  ///< of each lane; all lanes share a single one
  std::size_t num_pieces = 0;
  std::size_t num_bytes = 0;  ///< approximate bytes read and written
  std::function<void(std::size_t)> work;
};

/// @param brought  the leaves of each lane, of the same types
Job make_job(const Request& request, std::vector<std::vector<Array>> brought);

}  // namespace halftone::spmd::internal
