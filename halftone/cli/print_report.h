// SPDX-License-Identifier: Apache-2.0
// Prints the report of a verb whose result is a file.
#pragma once

#include <iostream>

#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/report/budget.h"
#include "halftone/report/language.h"
#include "halftone/report/report.h"
#include "halftone/report/sensitivity.h"

namespace halftone::cli {

/// As JSON if asked for; as text unless the command is quiet.
template <typename Report>
void print_report(const CommonOptions& common, const Report& report) {
  if (common.json) {
    std::cout << report::to_json(report);
  } else if (!common.quiet) {
    std::cout << printable(report::to_text(report));
  }
}

}  // namespace halftone::cli
