// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/request.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "halftone/spmd/errors.h"
#include "halftone/spmd/leaves.h"

namespace halftone::spmd::internal {
namespace {

using Brought = std::vector<std::vector<Array>>;

/// Elements of a leaf that one thread reduces at a time.
struct Slice {
  std::size_t leaf;
  std::size_t begin_bytes;
  std::size_t size_bytes;
};
constexpr std::size_t kSliceBytes = 65536;

bool same_types(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Array& x, const Array& y) { return x.same_type(y); });
}

bool is_integer(ElementType type) {
  return type == ElementType::kInt32 || type == ElementType::kInt64;
}

std::size_t bytes_of(const std::vector<Array>& arrays) {
  std::size_t bytes = 0;
  for (const Array& array : arrays) bytes += array.bytes().size();
  return bytes;
}

void reduce_into(const Request& request, std::span<std::byte> dst, ElementType element,
                 const std::vector<std::span<const std::byte>>& sources) {
  reduce(request.reduction, element, dst, sources);
  if (request.mean) divide(element, dst, sources.size());
}

Job reduce_job(const Request& request, std::shared_ptr<const Brought> brought) {
  Job job;
  std::vector<std::span<std::byte>> memory;
  std::vector<Slice> slices;
  job.results.resize(1);
  for (std::size_t l = 0; l < request.leaves.size(); ++l) {
    const Array& leaf = request.leaves[l];
    ArrayDraft result = draft(leaf.element(), leaf.shape());
    for (std::size_t at = 0; at < result.bytes.size(); at += kSliceBytes) {
      slices.push_back({l, at, std::min(kSliceBytes, result.bytes.size() - at)});
    }
    memory.push_back(result.bytes);
    job.results.front().push_back(std::move(result.array));
  }
  job.num_pieces = slices.size();
  job.work = [request, brought = std::move(brought), memory, slices](std::size_t piece) {
    const Slice& slice = slices[piece];
    std::vector<std::span<const std::byte>> sources;
    sources.reserve(brought->size());
    for (const std::vector<Array>& leaves : *brought) {
      sources.push_back(leaves[slice.leaf].bytes().subspan(slice.begin_bytes, slice.size_bytes));
    }
    reduce_into(request, memory[slice.leaf].subspan(slice.begin_bytes, slice.size_bytes),
                request.leaves[slice.leaf].element(), sources);
  };
  return job;
}

Array reduced(const Request& request, const std::vector<Array>& arrays) {
  const ArrayDraft result = draft(arrays.front().element(), arrays.front().shape());
  std::vector<std::span<const std::byte>> sources;
  for (const Array& array : arrays) sources.push_back(array.bytes());
  reduce_into(request, result.bytes, result.array.element(), sources);
  return result.array;
}

Job gather_job(const Request& request, std::shared_ptr<const Brought> brought) {
  Job job;
  std::vector<std::span<std::byte>> memory;
  job.results.resize(1);
  const auto num_lanes = static_cast<std::int64_t>(brought->size());
  for (const Array& leaf : request.leaves) {
    Shape shape = leaf.shape();
    if (request.tiled) {
      shape[request.axis] *= num_lanes;
    } else {
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(request.axis), num_lanes);
    }
    ArrayDraft result = draft(leaf.element(), std::move(shape));
    memory.push_back(result.bytes);
    job.results.front().push_back(std::move(result.array));
  }
  job.num_pieces = brought->size();
  job.work = [tiled = request.tiled, axis = request.axis, brought = std::move(brought), memory,
              results = job.results.front()](std::size_t lane) {
    for (std::size_t l = 0; l < results.size(); ++l) {
      const Array& src = (*brought)[lane][l];
      const std::int64_t extent = tiled ? src.shape()[axis] : 1;
      write_part(memory[l], results[l].shape(), axis, extent * static_cast<std::int64_t>(lane),
                 src);
    }
  };
  return job;
}

/// A result for each lane.
Job lane_job(const Request& request, std::shared_ptr<const Brought> brought) {
  Job job;
  job.results.resize(brought->size());
  for (std::vector<Array>& leaves : job.results) leaves.resize(request.leaves.size());
  job.num_pieces = brought->size();
  // Moving the job does not move the memory of the results.
  job.work = [request, brought = std::move(brought),
              results = job.results.data()](std::size_t lane) {
    const std::vector<std::size_t> from = sources(request, lane, brought->size());
    for (std::size_t l = 0; l < request.leaves.size(); ++l) {
      std::vector<Array> pieces;
      for (const std::size_t source : from) {
        pieces.push_back(piece(request, (*brought)[source][l], lane, brought->size()));
      }
      results[lane][l] = put_together(request, request.leaves[l], pieces);
    }
  };
  return job;
}

/// Entry `to` along the axis, or, tiled, part `to` of num_lanes equal parts.
Array cut(const Request& request, const Array& leaf, std::size_t to, std::size_t num_lanes) {
  const auto at = static_cast<std::int64_t>(to);
  if (!request.tiled) return leaf.slice(request.axis, at);
  const std::int64_t extent = leaf.shape()[request.axis] / static_cast<std::int64_t>(num_lanes);
  return leaf.part(request.axis, at * extent, extent);
}

/// Stacked along a new axis or, tiled, concatenated along an existing one.
Array joined(const std::vector<Array>& arrays, std::size_t axis, bool tiled) {
  return tiled ? concatenate(arrays, axis) : stack(arrays, axis);
}

Array zeros_like(const Array& array) {
  const ArrayDraft result = draft(array.element(), array.shape());
  std::fill(result.bytes.begin(), result.bytes.end(), std::byte{0});
  return result.array;
}

}  // namespace

std::string Request::to_string() const {
  std::string text = std::string(name) + " over ";
  for (std::size_t a = 0; a < axes.size(); ++a) text += (a == 0 ? "'" : ", '") + axes[a] + "'";
  if (!groups.empty()) text += " in " + std::to_string(groups.size()) + " groups";
  text += " of ";
  for (std::size_t l = 0; l < leaves.size(); ++l) text += (l == 0 ? "" : ", ") + leaves[l].type();
  if (leaves.empty()) text += "nothing";
  if (operation == Operation::kAllToAll) {
    text += " from axis " + std::to_string(axis) + " to " + std::to_string(concat_axis);
  } else if (operation == Operation::kReduceScatter || operation == Operation::kAllGather) {
    text += " along axis " + std::to_string(axis);
  }
  for (const auto& [from, to] : permutation) {
    text += " " + std::to_string(from) + ">" + std::to_string(to);
  }
  return tiled ? text + ", tiled" : text;
}

bool Request::matches(const Request& other) const {
  return std::strcmp(name, other.name) == 0 && axes == other.axes && groups == other.groups &&
         tiled == other.tiled && axis == other.axis && concat_axis == other.concat_axis &&
         permutation == other.permutation && same_types(leaves, other.leaves);
}

void Request::check(std::size_t num_lanes) const {
  const bool cuts = operation == Operation::kReduceScatter || operation == Operation::kAllToAll;
  for (const Array& leaf : leaves) {
    if (mean && is_integer(leaf.element())) {
      fail(ErrorKind::kUsage,
           to_string() +
               ": expected floating-point values for a mean, found integers; convert them");
    }
    const std::size_t rank = leaf.rank();
    if ((cuts || (operation == Operation::kAllGather && tiled)) && axis >= rank) {
      fail(ErrorKind::kShape, to_string() + ": " + leaf.type() + " has no such axis");
    }
    if (operation == Operation::kAllGather && axis > rank) {
      fail(ErrorKind::kShape, to_string() + ": the new axis is out of range");
    }
    if (operation == Operation::kAllToAll && concat_axis >= rank) {
      fail(ErrorKind::kShape, to_string() + ": the axis of concatenation is out of range");
    }
    if (!cuts) continue;
    const auto extent = static_cast<std::size_t>(leaf.shape()[axis]);
    if (tiled ? extent % num_lanes != 0 : extent != num_lanes) {
      fail(ErrorKind::kShape, to_string() + ": an extent of " + std::to_string(extent) +
                                  " cannot be divided among " + std::to_string(num_lanes) +
                                  " lanes");
    }
  }
  std::vector<char> reached(num_lanes);
  std::vector<char> sent(num_lanes);
  for (const auto& [from, to] : permutation) {
    if (from >= num_lanes || to >= num_lanes || reached[to]++ != 0 || sent[from]++ != 0) {
      fail(ErrorKind::kUsage, to_string() + ": " + std::to_string(from) + ">" + std::to_string(to) +
                                  " is outside the " + std::to_string(num_lanes) +
                                  " lanes or appears twice");
    }
  }
}

std::vector<std::size_t> sources(const Request& request, std::size_t to, std::size_t num_lanes) {
  std::vector<std::size_t> lanes;
  if (request.operation == Operation::kPermute) {
    for (const auto& [source, target] : request.permutation) {
      if (target == to) lanes.push_back(source);
    }
    return lanes;
  }
  lanes.resize(num_lanes);
  std::iota(lanes.begin(), lanes.end(), std::size_t{0});
  return lanes;
}

Array piece(const Request& request, const Array& leaf, std::size_t to, std::size_t num_lanes) {
  switch (request.operation) {
    case Operation::kReduce:
    case Operation::kAllGather:
    case Operation::kPermute:
      return leaf;
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
      return cut(request, leaf, to, num_lanes);
  }
  fail(ErrorKind::kInternal, "a collective of unknown operation");
}

Array put_together(const Request& request, const Array& like, const std::vector<Array>& pieces) {
  switch (request.operation) {
    case Operation::kReduce:
    case Operation::kReduceScatter:
      return reduced(request, pieces);
    case Operation::kAllGather:
      return joined(pieces, request.axis, request.tiled);
    case Operation::kAllToAll:
      return joined(pieces, request.concat_axis, request.tiled);
    case Operation::kPermute:
      return pieces.empty() ? zeros_like(like) : pieces.front();
  }
  fail(ErrorKind::kInternal, "a collective of unknown operation");
}

Job make_job(const Request& request, std::vector<std::vector<Array>> brought) {
  const std::size_t num_bytes = brought.size() * bytes_of(request.leaves);
  const auto shared = std::make_shared<const Brought>(std::move(brought));
  Job job;
  switch (request.operation) {
    case Operation::kReduce:
      job = reduce_job(request, shared);
      break;
    case Operation::kAllGather:
      job = gather_job(request, shared);
      break;
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
    case Operation::kPermute:
      job = lane_job(request, shared);
      break;
  }
  job.num_bytes = num_bytes;
  return job;
}

}  // namespace halftone::spmd::internal
