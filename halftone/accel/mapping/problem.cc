// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/problem.h"

#include <algorithm>

#include "halftone/base/error.h"

namespace halftone::accel::mapping {
namespace {

constexpr std::uint64_t kMaxMacs = std::uint64_t{1} << 48U;

void check_dimensions(const Problem& problem) {
  const std::size_t count = problem.dimensions.size();
  if (count == 0 || count > kMaxDimensions) {
    fail(ErrorKind::kUsage, "problem: expected 1 to " + std::to_string(kMaxDimensions) +
                                " dimensions, found " + std::to_string(count));
  }
  std::uint64_t macs = 1;
  for (const Dimension& dimension : problem.dimensions) {
    if (dimension.extent == 0) {
      fail(ErrorKind::kUsage, "problem: dimension " + dimension.name + " has extent 0");
    }
    if (dimension.extent >= (kMaxMacs + macs - 1) / macs) {
      fail(ErrorKind::kShape,
           "problem: expected less than 2^48 MACs, found more up to dimension " + dimension.name);
    }
    macs *= dimension.extent;
  }
}

void check_space(const Problem& problem, const DataSpace& space) {
  const std::string where = "problem: data space " + space.name;
  if (space.word_bits == 0) fail(ErrorKind::kUsage, where + ": words have 0 bits");
  for (const std::vector<Term>& axis : space.axes) {
    for (const Term& term : axis) {
      if (term.dimension >= problem.dimensions.size()) {
        fail(ErrorKind::kUsage,
             where + ": there is no dimension " + std::to_string(term.dimension));
      }
      if (term.stride == 0) fail(ErrorKind::kUsage, where + ": a stride is 0");
    }
    if (space.is_output && (axis.size() != 1 || axis[0].stride != 1)) {
      fail(ErrorKind::kUsage, where + ": axes of an output are one dimension with stride 1");
    }
  }
}

}  // namespace

std::uint64_t Problem::macs() const {
  std::uint64_t macs = 1;
  for (const Dimension& dimension : dimensions) macs *= dimension.extent;
  return macs;
}

Extents extents_of(const Problem& problem) {
  Extents extents;
  extents.fill(1);
  for (std::size_t d = 0; d < problem.dimensions.size(); ++d) {
    extents[d] = problem.dimensions[d].extent;
  }
  return extents;
}

Problem matrix_product(std::uint64_t m, std::uint64_t n, std::uint64_t k,
                       const std::array<std::uint64_t, 3>& word_bits) {
  constexpr std::size_t kM = 0;
  constexpr std::size_t kN = 1;
  constexpr std::size_t kK = 2;
  return {{{"M", m}, {"N", n}, {"K", k}},
          {{"Inputs", {{{kM}}, {{kK}}}, false, word_bits[0]},
           {"Weights", {{{kK}}, {{kN}}}, false, word_bits[1]},
           {"Outputs", {{{kM}}, {{kN}}}, true, word_bits[2]}}};
}

Problem convolution(const ConvolutionSizes& sizes, const std::array<std::uint64_t, 3>& word_bits) {
  enum : std::size_t { kN, kC, kM, kP, kQ, kR, kS };
  const auto window = [&](std::size_t axis, std::size_t output, std::size_t filter) {
    return std::vector<Term>{{output, sizes.strides[axis]}, {filter, sizes.dilations[axis]}};
  };
  return {{{"N", sizes.n},
           {"C", sizes.c},
           {"M", sizes.m},
           {"P", sizes.p},
           {"Q", sizes.q},
           {"R", sizes.r},
           {"S", sizes.s}},
          {{"Inputs", {{{kN}}, {{kC}}, window(0, kP, kR), window(1, kQ, kS)}, false, word_bits[0]},
           {"Weights", {{{kM}}, {{kC}}, {{kR}}, {{kS}}}, false, word_bits[1]},
           {"Outputs", {{{kN}}, {{kM}}, {{kP}}, {{kQ}}}, true, word_bits[2]}}};
}

void check(const Problem& problem) {
  check_dimensions(problem);
  const std::size_t count = problem.data_spaces.size();
  if (count == 0 || count > kMaxDataSpaces) {
    fail(ErrorKind::kUsage, "problem: expected 1 to " + std::to_string(kMaxDataSpaces) +
                                " data spaces, found " + std::to_string(count));
  }
  for (const DataSpace& space : problem.data_spaces) check_space(problem, space);
  const auto outputs = std::count_if(problem.data_spaces.begin(), problem.data_spaces.end(),
                                     [](const DataSpace& space) { return space.is_output; });
  if (outputs != 1) {
    fail(ErrorKind::kUsage, "problem: expected one output, found " + std::to_string(outputs));
  }
}

bool has_dimension(const DataSpace& space, std::size_t dimension) {
  return (dimension_mask(space) >> dimension & 1U) != 0;
}

unsigned dimension_mask(const DataSpace& space) {
  unsigned mask = 0;
  for (const std::vector<Term>& axis : space.axes) {
    for (const Term& term : axis) mask |= 1U << term.dimension;
  }
  return mask;
}

std::uint64_t tile_words(const DataSpace& space, const Extents& extents) {
  std::uint64_t words = 1;
  for (const std::vector<Term>& axis : space.axes) {
    std::uint64_t length = 1;
    for (const Term& term : axis) length += term.stride * (extents[term.dimension] - 1);
    words *= length;
  }
  return words;
}

std::uint64_t new_words(const DataSpace& space, const Extents& extents, std::size_t dimension,
                        std::uint64_t step) {
  std::uint64_t words = 1;
  std::uint64_t kept = 1;
  for (const std::vector<Term>& axis : space.axes) {
    std::uint64_t length = 1;
    std::uint64_t shift = 0;
    for (const Term& term : axis) {
      length += term.stride * (extents[term.dimension] - 1);
      if (term.dimension == dimension) shift += term.stride * step;
    }
    words *= length;
    kept *= length - std::min(length, shift);
  }
  return words - kept;
}

}  // namespace halftone::accel::mapping
