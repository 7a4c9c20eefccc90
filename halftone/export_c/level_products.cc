// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/level_products.h"

#include <algorithm>
#include <span>
#include <vector>

#include "halftone/export_c/pack/pack.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"

namespace halftone::export_c {
namespace {

constexpr int kMaxLevelBits = 4;

/// The weights of a group of inputs.
struct GroupWeights {
  numerics::BitPlanes codes;
  numerics::MatrixEncoding encoding;  ///< a block for each output
};

GroupWeights group_of(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
                      std::size_t group) {
  const std::size_t first = group * encoding.group_size;
  const std::size_t count = std::min(encoding.group_size, codes.cols - first);
  GroupWeights part{numerics::BitPlanes(codes.rows, count, codes.bits), encoding};
  part.encoding.granularity = numerics::Granularity::kChannel;
  part.encoding.group_size = 0;
  part.encoding.allocate(codes.rows, count);
  for (std::size_t o = 0; o < codes.rows; ++o) {
    part.encoding.set_levels(o, encoding.levels(o, group, codes.cols));
    for (std::size_t k = 0; k < count; ++k) part.codes.set_code(o, k, codes.code(o, first + k));
  }
  return part;
}

/// The words of all groups, one behind the other; empty if a kernel cannot hold their levels.
std::vector<std::uint32_t> words_of(Kernel kernel, std::span<const GroupWeights> groups) {
  std::vector<std::uint32_t> words;
  for (const GroupWeights& each : groups) {
    const auto packed = pack_levels_for(kernel, each.codes, each.encoding);
    if (!packed) return {};
    words.insert(words.end(), packed->words.begin(), packed->words.end());
  }
  return words;
}

/// Of one group.
Product product_of(std::span<const GroupWeights> groups) {
  return {.inputs = groups[0].codes.cols, .outputs = groups[0].codes.rows};
}

LevelProducts add_packed_groups(Scope& scope, std::span<const GroupWeights> groups,
                                const std::string& suffix) {
  Kernel kernel = pack_levels(groups[0].codes, groups[0].encoding, scope.what().core).kernel;
  std::vector<std::uint32_t> words = words_of(kernel, groups);
  if (words.empty()) {
    kernel = Kernel::kLevelTable;
    words = words_of(kernel, groups);
  }
  if (words.empty()) scope.refuse("these levels of weights in groups");
  scope.multiplies(kernel, product_of(groups), groups.size());
  const std::string name(name_of(kernel));
  LevelProducts products{name, "ht_" + name, scope.array<std::uint32_t>("weights" + suffix, words),
                         ""};
  products.stride = pack_levels_for(kernel, groups[0].codes, groups[0].encoding)->words.size();
  return products;
}

/// u less 128 is a byte: 2 u - steps = 2 (u - 128) + (256 - steps).
LevelProducts add_bytes(Scope& scope, std::span<const GroupWeights> groups,
                        const std::string& suffix) {
  constexpr int kMiddle = 128;
  std::vector<std::uint32_t> words;
  std::size_t stride = 0;
  for (const GroupWeights& each : groups) {
    const auto [outputs, inputs] = std::pair(each.codes.rows, each.codes.cols);
    std::vector<std::int8_t> weights;
    for (std::size_t o = 0; o < outputs; ++o) {
      const kernels::LevelGrid grid = kernels::weight_grid(each.encoding.levels(o, 0, 1));
      for (std::size_t k = 0; k < inputs; ++k) {
        weights.push_back(static_cast<std::int8_t>(grid.u[each.codes.code(o, k)] - kMiddle));
      }
    }
    const PackedWeights packed =
        pack_bytes(MatrixView<const std::int8_t>(weights.data(), outputs, inputs, inputs));
    if (words.empty()) stride = packed.words.size();
    words.insert(words.end(), packed.words.begin(), packed.words.end());
  }
  scope.multiplies(Kernel::kBytes, product_of(groups), groups.size());
  const int odd = 2 * kMiddle - groups[0].encoding.weight_steps();
  LevelProducts products{"levels_8", "ht_levels_8",
                         scope.array<std::uint32_t>("weights" + suffix, words),
                         ", " + std::to_string(odd)};
  products.stride = stride;
  return products;
}

}  // namespace

LevelProducts add_level_products(Scope& scope, const numerics::BitPlanes& codes,
                                 const numerics::MatrixEncoding& encoding,
                                 const std::string& suffix) {
  std::vector<GroupWeights> groups;
  const std::size_t count = encoding.groups_per_row(codes.cols);
  const bool is_grouped = encoding.granularity == numerics::Granularity::kGroup;
  if (!is_grouped) groups.push_back({codes, encoding});
  for (std::size_t g = 0; is_grouped && g < count; ++g) {
    groups.push_back(group_of(codes, encoding, g));
  }
  LevelProducts products = codes.bits <= kMaxLevelBits ? add_packed_groups(scope, groups, suffix)
                                                       : add_bytes(scope, groups, suffix);
  products.groups = count;
  products.group = groups[0].codes.cols;
  return products;
}

void add_group_sums(Scope& scope, const LevelProducts& how, const GroupOperands& of,
                    const std::string& products, const std::string& sums) {
  const std::string width = std::to_string(how.group);
  const bool is_even = of.inputs % how.group == 0;
  const std::string part = of.q + " + g * " + width;
  const std::string at = " + g * " + std::to_string(of.outputs);
  scope.line("  for (int32_t g = 0; g < " + std::to_string(how.groups) + "; ++g) {");
  if (!is_even) {
    const std::string rest = std::to_string(of.inputs - (how.groups - 1) * how.group);
    scope.line("    const int32_t some = g + 1 < " + std::to_string(how.groups) + " ? " + width +
               " : " + rest + ";");
  }
  const std::string some = is_even ? width : "some";
  const std::string cast = is_even ? some : "(uint32_t)some";
  scope.needs(how.text);
  scope.named_for(how.text);
  scope.line(
      "    " + how.kernel + "(" +
      arguments(part, how.weights + " + g * " + std::to_string(how.stride), cast, of.outputs) +
      how.last + ", " + products + ");");
  scope.needs("sum_i8");
  scope.needs("fold_levels_f32");
  scope.takes_steps("fold_levels_f32", scope.rows() * how.groups * of.outputs);
  scope.line("    ht_fold_levels_f32(" +
             arguments(products, "ht_sum_i8(" + arguments(part, some) + ")", of.outputs,
                       of.half_steps + at, of.centers == "0" ? "0" : of.centers + at, sums) +
             ");");
  scope.line("  }");
}

}  // namespace halftone::export_c
