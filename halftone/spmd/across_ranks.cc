// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/across_ranks.h"

#include <algorithm>
#include <numeric>

#include "halftone/base/byte_reader.h"
#include "halftone/spmd/agreement.h"
#include "halftone/spmd/errors.h"
#include "halftone/spmd/lane.h"
#include "halftone/spmd/leaves.h"

namespace halftone::spmd::internal {
namespace {

/// The type of a tree in words: lengths of vectors, then element type and shape of each leaf.
std::vector<std::uint64_t> kind_of(const Flat& flat) {
  std::vector<std::uint64_t> kind{flat.lengths.size()};
  kind.insert(kind.end(), flat.lengths.begin(), flat.lengths.end());
  for (const Array& leaf : flat.leaves) {
    kind.push_back(static_cast<std::uint64_t>(leaf.element()));
    kind.push_back(leaf.rank());
    for (const std::int64_t extent : leaf.shape()) {
      kind.push_back(static_cast<std::uint64_t>(extent));
    }
  }
  return kind;
}

/// The tree of a type from kind_of(); the values of its leaves are not set.
Flat tree_of(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto next = [&in] { return in.little_endian<std::uint64_t>(); };
  Flat flat;
  flat.lengths.resize(next());
  for (std::size_t& length : flat.lengths) length = next();
  while (in.remaining() != 0) {
    const auto element = static_cast<ElementType>(next());
    Shape shape(next());
    for (std::int64_t& extent : shape) extent = static_cast<std::int64_t>(next());
    flat.leaves.push_back(draft(element, std::move(shape)).array);
  }
  return flat;
}

/// Checks that all ranks are in this call with trees of one type.
/// @return that type, for ranks that have no tree
/// @throws Error  the same on all ranks, so that none keeps waiting
Flat agree(Transport& transport, const std::string& what, const std::vector<Flat>& local) {
  const std::vector<Header> headers = all_headers(transport, {.program = hash(what)});
  if (const auto message = difference(transport, headers, what)) {
    fail(ErrorKind::kUsage, *message);
  }
  // All ranks must learn about an error in one rank's shards.
  std::string wrong;
  std::vector<std::uint64_t> kind;
  try {
    check_alike(local, 0);
    if (!local.empty()) kind = kind_of(local.front());
    if (!local.empty() && !local.front().axes.empty()) wrong = "shards that are sharded themselves";
  } catch (const Error& error) {
    wrong = "rank " + std::to_string(transport.rank()) + ": " + error.what();
  }
  for (const auto& bytes : all_bytes(transport, std::as_bytes(std::span(wrong)))) {
    if (bytes.empty()) continue;
    fail(ErrorKind::kShape, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const auto kinds = all_bytes(transport, std::as_bytes(std::span(kind)));
  const auto known =
      std::find_if(kinds.begin(), kinds.end(), [](const auto& bytes) { return !bytes.empty(); });
  Flat first = tree_of(*known);
  for (const auto& bytes : kinds) {
    if (bytes.empty() || bytes == *known) continue;
    fail(ErrorKind::kShape,
         "ranks differ: one has " + first.types() + ", another " + tree_of(bytes).types());
  }
  return first;
}

RanksClaim claim_outside_of_maps(const Placement& placement) {
  if (Lane::current() != nullptr) {
    fail(ErrorKind::kUsage,
         "shards of several ranks cannot be gathered inside a map; gather them outside");
  }
  return RanksClaim(placement.devices);
}

}  // namespace

std::vector<Flat> all_shards(std::vector<Flat> local, const Placement& placement) {
  const RanksClaim claim = claim_outside_of_maps(placement);
  Transport& transport = *placement.devices.transport();
  const Flat like =
      agree(transport, "gather of " + std::to_string(placement.num_lanes) + " shards", local);
  std::vector<Flat> shards(placement.num_lanes, like);
  Post post(transport);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::size_t owner = placement.rank_of(i);
    if (owner == transport.rank()) shards[i] = std::move(local[i - placement.first_local()]);
    for (Array& leaf : shards[i].leaves) {
      if (owner != transport.rank()) {
        leaf = post.receive(owner, leaf.element(), leaf.shape()).array;
        continue;
      }
      for (std::size_t rank = 0; rank < transport.num_ranks(); ++rank) {
        if (rank != owner) post.send(rank, leaf);
      }
    }
  }
  post.exchange();
  return shards;
}

Flat sum_of_ranks(Flat local, const Nodes& mine, const Placement& placement) {
  const RanksClaim claim = claim_outside_of_maps(placement);
  Transport& transport = *placement.devices.transport();
  std::vector<Flat> trees;
  if (!mine.empty()) trees.push_back(std::move(local));
  Flat sum = agree(transport, "sum of " + std::to_string(placement.num_lanes) + " lanes", trees);
  std::vector<std::size_t> ranks(transport.num_ranks());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::size_t> rank_of;
  for (std::size_t i = 0; i < placement.num_lanes; ++i) rank_of.push_back(placement.rank_of(i));
  sum.leaves =
      RankReduction(transport, Reduction::kSum, ranks, rank_of).reduce_all(mine, sum.leaves);
  return sum;
}

}  // namespace halftone::spmd::internal
