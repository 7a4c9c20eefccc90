// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/devices.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/cli/command.h"
#include "halftone/report/report.h"

namespace halftone::cli {

void add_devices(CLI::App& app, Action& action) {
  const auto common = std::make_shared<CommonOptions>();
  CLI::App* verb =
      add_verb(app, "devices", "List what this machine can compute with, and what is missing",
               "halftone devices", *common);
  verb->final_callback([common, &action] {
    action = [common](const Machine& machine) {
      if (!machine.is_first()) return;
      const auto devices = list_devices();
      std::cout << (common->json ? report::to_json(devices) : report::to_text(devices));
    };
  });
}

}  // namespace halftone::cli
