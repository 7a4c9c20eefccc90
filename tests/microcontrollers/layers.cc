// SPDX-License-Identifier: Apache-2.0
// Writes networks as C programs that print the instructions of each layer, and beside each program
// layers.json: what layer_costs.cc is fitted to by fit_layer_costs.py.
//   microcontroller_layers FOLDER CORE [NETWORK ...]
// The first program has the cases of all operators.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "halftone/api/network.h"
#include "halftone/base/error.h"
#include "halftone/export_c/export_c.h"
#include "halftone/export_c/program.h"
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::export_c {
namespace {

/// The layers whose pixels the lines of a layer compute.
std::vector<int> callees(const LayerFunction& layer) {
  static const std::regex call("net_layer_([0-9]+)\\(net, ");
  std::vector<int> found;
  for (std::sregex_iterator each(layer.body.begin(), layer.body.end(), call), end; each != end;
       ++each) {
    found.push_back(std::stoi((*each)[1]));
  }
  return found;
}

nlohmann::json layers_json(const Program& program) {
  nlohmann::json layers = nlohmann::json::array();
  for (const PlacedLayer& placed : program.layers) {
    const LayerFunction& layer = placed.layer;
    layers.push_back({{"name", layer.name},
                      {"operator", layer.op},
                      {"kernel", layer.kernel},
                      {"products", layer.work.products},
                      {"steps", layer.work.steps},
                      {"elements", layer.work.elements},
                      {"rounds", layer.work.rounds},
                      {"is_by_pixel", layer.is_by_pixel},
                      {"callees", callees(layer)}});
  }
  return layers;
}

constexpr const char* kHook = R"(
#include <stdint.h>
#include <stdio.h>
uint32_t instructions(void);
static uint32_t begin;
static int running = -1;
void hook(int index);
void hook(int index) {
  const uint32_t now = instructions();
  if (running >= 0) printf("layer %d %lu\n", running, (unsigned long)(now - begin));
  running = index;
  begin = instructions();
}
)";

void write(const std::filesystem::path& folder, const ir::Graph& graph, const std::string& core) {
  v0::ExportCOptions options;
  options.core = core;
  options.vectors = 1;
  std::filesystem::create_directories(folder);
  for (CFile& file : export_network(graph, options).files) {
    if (file.name == "net.c") {
      const std::string head = "#define NET_HOOK(index, name) hook(index)\nvoid hook(int index);\n";
      const std::size_t end = file.text.rfind("}\n");
      file.text = head + file.text;
      const std::string last = "  NET_HOOK(" +
                               std::to_string(program_sizes(graph, options).layers.size()) +
                               ", \"end\");\n";
      file.text.insert(end + head.size(), last);
    }
    std::ofstream(folder / file.name) << file.text;
  }
  std::ofstream(folder / "hook.c") << kHook;
  std::ofstream(folder / "layers.json") << layers_json(make_program(graph, options)).dump(1);
}

ir::Graph cases() {
  ir::Graph all;
  for (const ir::test::OperatorCase& test : ir::test::operator_cases()) {
    const ir::Graph one = ir::test::graph_of(test, {.batch = 1, .constants = true}).graph;
    try {
      program_sizes(one);
    } catch (const Error&) {
      continue;
    }
    all.append(one);
  }
  return all;
}

}  // namespace
}  // namespace halftone::export_c

int main(int argc, char** argv) {
  using namespace halftone;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) {
    std::cerr << "expected FOLDER CORE [NETWORK ...]\n";
    return 2;
  }
  const std::filesystem::path folder = arguments[0];
  export_c::write(folder / "cases", export_c::cases(), arguments[1]);
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::filesystem::path file = arguments[i];
    export_c::write(folder / file.stem(), prepared(load(file), Purpose::kRun), arguments[1]);
  }
}
