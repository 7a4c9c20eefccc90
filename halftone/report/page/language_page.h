// SPDX-License-Identifier: Apache-2.0
// One page about a language model, of the kind of to_html(Content).
#pragma once

#include <string>
#include <vector>

#include "halftone/api/language_report.h"
#include "halftone/report/page/side_files.h"

namespace halftone::report::page {

/// What the page of a language model shows.
struct LanguageContent {
  LanguageReport report;
  std::vector<SensitivityTable> sensitivities{};
};

/// The page. Equal contents give equal bytes.
std::string to_html(const LanguageContent& content);

/// The numbers of the page, as the page contains them too. The keys are a contract, see
/// docs/cli.md.
std::string to_json(const LanguageContent& content);

}  // namespace halftone::report::page
