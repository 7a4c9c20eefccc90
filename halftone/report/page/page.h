// SPDX-License-Identifier: Apache-2.0
// One page about a network: HTML that needs no other file and makes no request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halftone/api/export_c.h"
#include "halftone/api/model_report.h"
#include "halftone/report/page/side_files.h"

namespace halftone::report::page {

/// What a page shows.
struct Content {
  ModelReport report;
  std::vector<SensitivityTable> sensitivities{};
  std::vector<SearchFront> searches{};
  std::vector<Training> trainings{};
  std::optional<LiveModule> live{};  ///< of live_module(): the page runs the network
};

/// A content whose report is still to be made: mistakes in files are found before that.
/// @throws Error as sensitivity_of(), search_of() and training_of()
Content content_of(const SideFiles& files);

/// The page. Complete without scripts; these sort tables and switch the theme. Names are escaped,
/// whatever bytes they have. Equal contents give equal bytes.
std::string to_html(const Content& content);

/// The numbers of the page, as the page contains them too. The keys are a contract, see
/// docs/cli.md.
std::string to_json(const Content& content);

/// What overlays() may have files of.
inline constexpr std::array<std::string_view, 5> kOverlayMeasures = {"bits", "bytes", "sqnr",
                                                                     "sqnr-alone", "us"};

/// The values of layers for Google's Model Explorer, which takes one measure per file: bits, bytes
/// and, where they were measured, SQNR and time.
struct OverlayFile {
  std::string measure;  ///< one of kOverlayMeasures: a part of its name
  std::string json;     ///< see node_data()
};
std::vector<OverlayFile> overlays(const NetworkFigures& network);

}  // namespace halftone::report::page
