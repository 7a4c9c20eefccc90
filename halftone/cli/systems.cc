// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/api/number_systems.h"
#include "halftone/cli/command.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct SystemsOptions {
  CommonOptions common;
  std::string name;
  int bits = 0;
};

template <typename Result>
void print(const SystemsOptions& options, const Result& result) {
  std::cout << (options.common.json ? report::to_json(result) : report::to_text(result));
}

void run(const SystemsOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  if (options.name.empty()) {
    print(options, list_number_systems());
  } else {
    print(options, number_system_levels(options.name, options.bits));
  }
}

}  // namespace

void add_systems(CLI::App& app, Action& action) {
  const auto options = std::make_shared<SystemsOptions>();
  CLI::App* verb = add_verb(app, "systems", "List number systems, or the levels of one",
                            "halftone systems nf4", options->common);
  CLI::Option* name =
      verb->add_option("name", options->name, "A number system")->type_name("SYSTEM");
  verb->add_option("--bits", options->bits, "Bits of a code (default: the most, up to 8)")
      ->check(CLI::Range(1, numerics::kMaxCodeBits))
      ->needs(name);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
