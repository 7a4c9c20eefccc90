// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numbers>
#include <string>
#include <vector>

#include "halftone/base/elementary.h"
#include "halftone/lm/model/hf_parts.h"

namespace halftone::lm {
namespace {

constexpr const char* kInnerName = "intermediate_size";
constexpr const char* kSparsity = "activation_sparsity_pattern";

/// The numbers of a list with one of each block.
std::vector<double> numbers_of_blocks(const ConfigReader& config, const char* key,
                                      const Description& d) {
  std::vector<double> numbers = config.needed_numbers(key);
  if (numbers.size() == d.blocks) return numbers;
  config.fail_key(key, "expected one entry for each of " + std::to_string(d.blocks) +
                           " blocks, found " + std::to_string(numbers.size()));
}

/// The x below which a normal variable is with a probability, by bisection.
double normal_quantile(double probability) {
  constexpr int kSteps = 80;  // from 2^7 to below the steps of double
  double low = -64;
  double high = 64;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = (low + high) / 2;
    const bool is_below = elementary::erfc(-middle / std::numbers::sqrt2) / 2 < probability;
    (is_below ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// The first ten blocks of models with more are sparse, unless a file says which.
std::vector<double> sparsities_of(const ConfigReader& config, const Description& d) {
  if (config.has(kSparsity)) return numbers_of_blocks(config, kSparsity, d);
  constexpr std::size_t kUsualBlocks = 10;
  constexpr double kUsual = 0.95;
  std::vector<double> sparsities(std::min<std::size_t>(d.blocks, 1 << 12));
  if (sparsities.size() > kUsualBlocks) std::fill_n(sparsities.begin(), kUsualBlocks, kUsual);
  return sparsities;
}

void read_cutoffs(const ConfigReader& config, Description& d) {
  const std::vector<double> sparsities = sparsities_of(config, d);
  if (std::ranges::all_of(sparsities, [](double share) { return share <= 0; })) return;
  for (const double share : sparsities) {
    if (!(share < 1)) config.fail_key(kSparsity, "expected shares below 1");
    // Both numbers are float32 in transformers.
    const auto rounded = static_cast<float>(share);
    const auto quantile = rounded > 0 ? static_cast<float>(normal_quantile(double{rounded})) : 0.0F;
    d.gate_cutoffs.push_back(rounded > 0 ? double{quantile} : Description::kNoCutoff);
  }
}

}  // namespace

void read_config_inners(const ConfigReader& config, Description& d) {
  const nlohmann::json* value = config.find({kInnerName}).value;
  if (value == nullptr || !value->is_array()) {
    d.inner = config.needed_whole({kInnerName});
    return;
  }
  for (const double number : numbers_of_blocks(config, kInnerName, d)) {
    const bool is_whole = number >= 1 && number <= (1 << 24) &&
                          number == static_cast<double>(static_cast<std::size_t>(number));
    if (!is_whole) config.fail_key(kInnerName, "expected whole numbers from 1 to 2^24");
    d.inners.push_back(static_cast<std::size_t>(number));
  }
  if (d.inners.empty()) return;
  d.inner = d.inners[0];
  const auto is_first = [&](std::size_t inner) { return inner == d.inner; };
  if (std::ranges::all_of(d.inners, is_first)) d.inners.clear();
}

void read_config_streams(const ConfigReader& config, Description& d) {
  config.read(FieldPart::kStreams, d);
  d.scales_first_stream = config.flag("altup_correct_scale", true);
  if (d.streams < 2) config.fail_key("altup_num_inputs", "expected 2 or more");
  if (config.whole({"altup_active_idx"}).value_or(0) != 0) {
    config.fail_key("altup_active_idx",
                    "blocks that work on another stream than the first are not "
                    "described here",
                    ErrorKind::kUnsupported);
  }
  if (d.bypass_rank == 0) config.fail_key("laurel_rank", "expected a number above 0, found 0");
  read_cutoffs(config, d);
}

}  // namespace halftone::lm
