// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/export_c.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/export_c/files.h"
#include "halftone/export_c/layer_costs.h"
#include "halftone/export_c/program.h"
#include "halftone/export_c/vectors.h"
#include "halftone/export_c/web.h"
#include "halftone/ir/code_parameters.h"
#include "halftone/ir/stages.h"

namespace halftone::export_c {
namespace {

constexpr std::array<std::string_view, 38> kKeywords = {
    "auto",     "break",  "case",   "char",         "const",    "continue", "default",  "do",
    "double",   "else",   "enum",   "extern",       "float",    "for",      "goto",     "if",
    "inline",   "int",    "long",   "register",     "restrict", "return",   "short",    "signed",
    "sizeof",   "static", "struct", "switch",       "typedef",  "union",    "unsigned", "void",
    "volatile", "while",  "main",   "test_vectors", "ht",       "NET"};

bool is_identifier(const std::string& name) {
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 128;
  };
  if (name.empty() || !is_letter(name.front())) return false;
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return std::ranges::all_of(name, fits) && std::ranges::count(kKeywords, name) == 0 &&
         !name.starts_with("ht_");
}

void check(const v0::ExportCOptions& options) {
  constexpr std::size_t kLongest = 40;
  if (!is_identifier(options.name) || options.name.size() > kLongest) {
    fail(ErrorKind::kUsage,
         "name: expected a C identifier of at most 40 characters that no "
         "keyword and no kernel has, such as net, found '" +
             options.name + "'");
  }
  if (options.vectors < 1 || options.vectors > 100) {
    fail(ErrorKind::kUsage, "vectors: expected 1 to 100, found " + std::to_string(options.vectors));
  }
}

/// Adds what codes mean to inputs or outputs.
void add_codes(std::vector<ArenaPort>& ports,
               const std::vector<std::optional<ir::AffineParameters>>& codes) {
  for (std::size_t i = 0; i < std::min(ports.size(), codes.size()); ++i) ports[i].codes = codes[i];
}

std::vector<v0::CPort> ports_of(const std::vector<ArenaPort>& ports) {
  std::vector<v0::CPort> all;
  for (const ArenaPort& port : ports) {
    const auto dims = port.type.shape.dims();
    v0::CPort& to = all.emplace_back();
    to.name = port.name;
    to.type = std::string(ir::to_string(port.type.encoding.element));
    to.shape.assign(dims.begin(), dims.end());
    to.levels = port.levels;
    if (port.taken) {
      to.scale = static_cast<double>(port.taken->scale);
      to.offset = static_cast<double>(port.taken->offset);
    }
    if (!port.codes) continue;
    to.scale = static_cast<double>(port.codes->scales.front());
    to.zero_point = port.codes->zero_points.front();
  }
  return all;
}

v0::CExport sizes_of(const Program& program, const std::string& core) {
  v0::CExport sizes;
  sizes.core = core;
  for (const PlacedLayer& placed : program.layers) {
    v0::CLayer layer{placed.layer.name, placed.layer.op, placed.layer.kernel};
    layer.ram_bytes = placed.ram_bytes;
    for (const ConstantArray& array : placed.layer.arrays) {
      (array.is_table ? layer.table_bytes : layer.weight_bytes) += array.bytes;
    }
    layer.instructions = static_cast<std::uint64_t>(
        static_cast<double>(placed.runs) * instructions(placed.layer.work, core_named(core)) + 0.5);
    sizes.instructions += layer.instructions;
    sizes.weight_bytes += layer.weight_bytes;
    sizes.table_bytes += layer.table_bytes;
    sizes.layers.push_back(std::move(layer));
  }
  sizes.inputs = ports_of(program.inputs);
  sizes.outputs = ports_of(program.outputs);
  sizes.code_bytes = code_bytes(program);
  sizes.arena_bytes = program.arena_bytes;
  return sizes;
}

void check_ram(const v0::CExport& sizes, std::uint64_t limit) {
  if (limit == 0 || sizes.arena_bytes <= limit) return;
  const auto most = std::ranges::max_element(sizes.layers, {}, &v0::CLayer::ram_bytes);
  fail(ErrorKind::kUnsupported,
       "the arena takes " + std::to_string(sizes.arena_bytes) + " bytes, allowed are " +
           std::to_string(limit) + ": most live at '" + most->name + "' (" +
           std::to_string(most->ram_bytes) + " bytes); activations of fewer bits take less");
}

}  // namespace

BorderCodes border_codes(const ir::Graph& graph) {
  const std::map<ir::ValueId, ir::AffineParameters> known = ir::code_parameters(graph).of_value;
  const auto codes_of = [&](std::span<const ir::ValueId> ids) {
    std::vector<std::optional<ir::AffineParameters>> codes;
    for (const ir::ValueId id : ids) {
      const auto found = known.find(id);
      const bool is_one = found != known.end() && found->second.scales.size() == 1 &&
                          !graph.value(id).type.is_dense(ir::ElementType::kFloat32);
      codes.push_back(is_one ? std::optional(found->second) : std::nullopt);
    }
    return codes;
  };
  return {codes_of(graph.inputs()), codes_of(graph.outputs())};
}

namespace {

Program checked_program(const ir::Graph& graph, const v0::ExportCOptions& options,
                        const BorderCodes& codes) {
  check(options);
  ir::require_no_definitions(graph, "C");
  Program program = make_program(graph, options);
  add_codes(program.inputs, codes.inputs);
  add_codes(program.outputs, codes.outputs);
  return program;
}

/// @throws Error kUnsupported if the arena is too large
v0::CExport checked_sizes(const Program& program, const v0::ExportCOptions& options) {
  v0::CExport sizes = sizes_of(program, options.core);
  check_ram(sizes, options.ram_bytes);
  return sizes;
}

}  // namespace

v0::CExport program_sizes(const ir::Graph& graph, const v0::ExportCOptions& options) {
  return checked_sizes(checked_program(graph, options, {}), options);
}

WebSources export_web(const ir::Graph& graph, const v0::ExportCOptions& options,
                      const BorderCodes& codes) {
  const Program program = checked_program(graph, options, codes);
  WebSources web{{}, {}, checked_sizes(program, options)};
  const FileContext context{program, options.name, web.report};
  const std::string& name = options.name;
  web.sources = {{name + ".h", header_text(context)},
                 {name + ".c", source_text(context)},
                 {name + "_weights.h", weights_header(context)},
                 {name + "_weights.c", weights_source(context)},
                 {"wasm.c", module_source_text(context)},
                 {"string.h", module_string_header()}};
  web.script = module_script(context);
  return web;
}

CSources export_network(const ir::Graph& graph, const v0::ExportCOptions& options,
                        const BorderCodes& codes) {
  const Program program = checked_program(graph, options, codes);
  CSources sources{{}, checked_sizes(program, options)};
  const FileContext context{program, options.name, sources.report};
  const std::string& name = options.name;
  sources.files = {{name + ".h", header_text(context)},
                   {name + ".c", source_text(context)},
                   {name + "_weights.h", weights_header(context)},
                   {name + "_weights.c", weights_source(context)},
                   {"test_vectors.h",
                    vectors_text(context, run_vectors(graph, program.inputs, options.vectors))},
                   {"main.c", test_text(context)},
                   {"CMakeLists.txt", cmake_text(context)},
                   {"README.md", readme_text(context)}};
  for (const CFile& file : sources.files) sources.report.files.push_back(file.name);
  return sources;
}

}  // namespace halftone::export_c
