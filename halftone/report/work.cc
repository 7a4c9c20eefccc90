// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/work.h"

#include <fmt/format.h>

#include <map>

#include "halftone/report/table.h"

namespace halftone::report {
namespace {

using Align = Table::Align;

/// "float32", "int8", "2 bits", "Q4_0".
std::string encoding_text(const ir::Encoding& encoding) {
  if (encoding.blocks != nullptr) return std::string(encoding.blocks->name);
  if (encoding.is_dense()) return std::string(to_string(encoding.element));
  const int bits = encoding.codes->bits;
  return fmt::format("{} bit{}", bits, bits == 1 ? "" : "s");
}

std::string pair_text(const ir::Work& work) {
  if (work.products() == 0) return "-";
  return encoding_text(work.x) + " x " + encoding_text(work.w);
}

std::string extents_text(const ir::Work& work) {
  if (work.products() == 0) return "-";
  const std::string matrix = fmt::format("{} x {} x {}", work.rows, work.inner, work.cols);
  return work.count == 1 ? matrix : fmt::format("{} of {}", work.count, matrix);
}

std::string count_text(double count) { return fmt::format("{:.0f}", count); }

Json traffic_json(const ir::Traffic& traffic) {
  return {{"encoding", encoding_text(traffic.encoding)}, {"bytes", traffic.bytes}};
}

}  // namespace

std::string work_text(const std::vector<NodeWork>& work) {
  Table table({{"node", Align::kLeft},
               {"operator", Align::kLeft},
               {"rows x inner x columns", Align::kLeft},
               {"products"},
               {"encodings", Align::kLeft},
               {"operations"},
               {"functions"},
               {"bytes read"},
               {"written"}});
  std::map<std::string, double> products;
  for (const NodeWork& node : work) {
    const ir::Work& each = node.work;
    table.add_row({clipped(node.name), node.op, extents_text(each), count_text(each.products()),
                   pair_text(each), count_text(each.elements.operations),
                   count_text(each.elements.functions), count_text(each.bytes_read()),
                   count_text(each.writes.bytes)});
    if (each.products() > 0) products[pair_text(each)] += each.products();
  }
  std::string text = table.to_text() + "\n";
  for (const auto& [pair, count] : products) {
    text += fmt::format("products of {}: {}\n", pair, count_text(count));
  }
  return text;
}

double products_of(const runtime::Plan& plan, const runtime::PlanStep& step) {
  return ir::work_of(plan.graph(), plan.graph().node(step.node)).products();
}

Json work_json(const std::vector<NodeWork>& work) {
  Json list = Json::array();
  for (const NodeWork& node : work) {
    const ir::Work& each = node.work;
    Json reads = Json::array();
    for (const ir::Traffic& traffic : each.reads) reads.push_back(traffic_json(traffic));
    Json json = {{"name", node.name},
                 {"operator", node.op},
                 {"products", each.products()},
                 {"operations", each.elements.operations},
                 {"functions", each.elements.functions},
                 {"reads", reads},
                 {"writes", traffic_json(each.writes)}};
    if (each.products() > 0) {
      json["matrix"] = {{"count", each.count},
                        {"rows", each.rows},
                        {"inner", each.inner},
                        {"columns", each.cols},
                        {"inputs", encoding_text(each.x)},
                        {"weights", encoding_text(each.w)}};
    }
    list.push_back(json);
  }
  return list;
}

}  // namespace halftone::report
