// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/export_c.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "halftone/report/json.h"
#include "halftone/report/table.h"

namespace halftone::report {

std::string to_text(const v0::CExport& written, const std::string& folder) {
  using Align = Table::Align;
  const bool is_c = written.module_bytes == 0;
  std::vector<Table::Column> columns = {
      {"layer", Align::kLeft}, {"operator", Align::kLeft}, {"weights"}, {"tables"}, {"RAM"}};
  if (is_c) columns.push_back({"instructions"});
  columns.push_back({"kernel", Align::kLeft});
  Table table(std::move(columns));
  for (const v0::CLayer& layer : written.layers) {
    std::vector<std::string> row = {
        clipped(layer.name), layer.op, std::to_string(layer.weight_bytes),
        std::to_string(layer.table_bytes), std::to_string(layer.ram_bytes)};
    if (is_c) row.push_back(std::to_string(layer.instructions));
    row.push_back(layer.kernel);
    table.add_row(std::move(row));
  }
  if (!is_c) {
    return table.to_text() +
           fmt::format("\n{}: {} files\nmodule: {} bytes, memory of values: {} bytes\n", folder,
                       written.files.size(), written.module_bytes, written.arena_bytes);
  }
  return table.to_text() +
         fmt::format(
             "\n{}: {} files\nflash: {} bytes: weights {}, tables {}, code about {}\n"
             "RAM: {} bytes, and a small stack\n{}: about {} instructions\n",
             folder, written.files.size(), written.flash_bytes(), written.weight_bytes,
             written.table_bytes, written.code_bytes, written.arena_bytes, written.core,
             written.instructions);
}

namespace {

Json c_ports_json(const std::vector<v0::CPort>& ports) {
  Json all = Json::array();
  for (const v0::CPort& port : ports) {
    Json each = {{"name", port.name}, {"type", port.type}, {"shape", port.shape}};
    if (port.scale > 0) {
      each["scale"] = port.scale;
      each["zero_point"] = port.zero_point;
      each["offset"] = port.offset;
    }
    if (!port.levels.empty()) each["levels"] = port.levels;
    all.push_back(each);
  }
  return all;
}

}  // namespace

std::string to_json(const v0::CExport& written) {
  Json layers = Json::array();
  for (const v0::CLayer& layer : written.layers) {
    layers.push_back({{"name", layer.name},
                      {"operator", layer.op},
                      {"kernel", layer.kernel},
                      {"weight_bytes", layer.weight_bytes},
                      {"table_bytes", layer.table_bytes},
                      {"ram_bytes", layer.ram_bytes},
                      {"instructions", layer.instructions}});
  }
  const Json flash = {{"bytes", written.flash_bytes()},
                      {"weights", written.weight_bytes},
                      {"tables", written.table_bytes},
                      {"code", written.code_bytes}};
  Json all = {{"core", written.core},
              {"flash", flash},
              {"ram", {{"bytes", written.arena_bytes}}},
              {"instructions", written.instructions},
              {"files", written.files},
              {"inputs", c_ports_json(written.inputs)},
              {"outputs", c_ports_json(written.outputs)},
              {"layers", layers}};
  if (written.module_bytes > 0) all["module_bytes"] = written.module_bytes;
  return dump(all);
}

}  // namespace halftone::report
