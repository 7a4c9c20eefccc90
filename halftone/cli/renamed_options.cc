// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/renamed_options.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace halftone::cli {
namespace {

struct Renamed {
  std::string_view before;
  std::string_view now;
};

/// Of `train` and `distill`.
constexpr std::array<Renamed, 6> kRenamed = {{{"--rate", "--learning-rate"},
                                              {"--level-rate", "--level-rate-factor"},
                                              {"--most-gradient", "--clip-grad-norm"},
                                              {"--hold-out", "--validation-split"},
                                              {"--warm-up", "--warmup-epochs"},
                                              {"--decay", "--schedule-decay"}}};

}  // namespace

std::vector<std::string> with_current_names(std::vector<std::string> arguments) {
  if (arguments.empty()) return arguments;
  if (arguments.front() != "train" && arguments.front() != "distill") return arguments;
  for (std::string& argument : arguments) {
    const std::size_t end = std::min(argument.find('='), argument.size());
    const std::string_view name = std::string_view(argument).substr(0, end);
    const auto* const found = std::ranges::find(kRenamed, name, &Renamed::before);
    if (found != kRenamed.end()) argument.replace(0, end, found->now);
  }
  return arguments;
}

}  // namespace halftone::cli
