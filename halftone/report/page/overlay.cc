// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/overlay.h"

#include <cmath>

#include "halftone/report/json.h"

namespace halftone::report::page {
namespace {

constexpr const char* kPlain = "#ffffff";
constexpr const char* kMarked = "#f0883e";

Json stop(int at, bool is_marked) {
  return {{"stop", at}, {"bgColor", is_marked ? kMarked : kPlain}, {"textColor", "#1f2328"}};
}

}  // namespace

std::string node_data(const Overlay& overlay) {
  Json results = Json::object();
  for (const auto& [node, value] : overlay.values) {
    if (!std::isfinite(value) || results.contains(node)) continue;
    results[node] = {{"value", value}};
  }
  Json json = {{"name", overlay.name},
               {"results", results},
               {"gradient", {stop(0, overlay.high_is_good), stop(1, !overlay.high_is_good)}}};
  if (overlay.high_is_good) json["hideAggregatedStats"] = Json::array({"sum"});
  return dump(json);
}

}  // namespace halftone::report::page
