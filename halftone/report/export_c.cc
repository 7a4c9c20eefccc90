// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/export_c.h"

#include <fmt/format.h>

#include "halftone/report/json.h"
#include "halftone/report/table.h"

namespace halftone::report {

std::string to_text(const v0::CExport& written, const std::string& folder) {
  using Align = Table::Align;
  Table table({{"layer", Align::kLeft},
               {"operator", Align::kLeft},
               {"weights"},
               {"tables"},
               {"RAM"},
               {"kernel", Align::kLeft}});
  for (const v0::CLayer& layer : written.layers) {
    table.add_row({clipped(layer.name), layer.op, std::to_string(layer.weight_bytes),
                   std::to_string(layer.table_bytes), std::to_string(layer.ram_bytes),
                   layer.kernel});
  }
  if (written.module_bytes > 0) {
    return table.to_text() +
           fmt::format("\n{}: {} files\nmodule: {} bytes, memory of values: {} bytes\n", folder,
                       written.files.size(), written.module_bytes, written.arena_bytes);
  }
  return table.to_text() +
         fmt::format(
             "\n{}: {} files\nflash: {} bytes: weights {}, tables {}, code about {}\n"
             "RAM: {} bytes, and a small stack\n",
             folder, written.files.size(), written.flash_bytes(), written.weight_bytes,
             written.table_bytes, written.code_bytes, written.arena_bytes);
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
                      {"ram_bytes", layer.ram_bytes}});
  }
  const Json flash = {{"bytes", written.flash_bytes()},
                      {"weights", written.weight_bytes},
                      {"tables", written.table_bytes},
                      {"code", written.code_bytes}};
  Json all = {{"core", written.core},
              {"flash", flash},
              {"ram", {{"bytes", written.arena_bytes}}},
              {"files", written.files},
              {"inputs", c_ports_json(written.inputs)},
              {"outputs", c_ports_json(written.outputs)},
              {"layers", layers}};
  if (written.module_bytes > 0) all["module_bytes"] = written.module_bytes;
  return dump(all);
}

}  // namespace halftone::report
