// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/given_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace halftone::cli {

std::vector<CLI::Option*> options_from(CLI::App& verb, std::size_t first) {
  const std::vector<CLI::Option*> all = verb.get_options();
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
}

const CLI::Option* given_of(const std::vector<CLI::Option*>& options) {
  const auto found =
      std::ranges::find_if(options, [](const CLI::Option* each) { return !each->empty(); });
  return found == options.end() ? nullptr : *found;
}

void refuse_given(const std::vector<CLI::Option*>& options, const std::string& reason) {
  const CLI::Option* given = given_of(options);
  if (given != nullptr) throw CLI::ValidationError(given->get_name(), reason);
}

}  // namespace halftone::cli
