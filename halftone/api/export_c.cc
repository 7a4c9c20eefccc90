// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/export_c.h"

#include <string>
#include <utility>

#include "halftone/api/made_files.h"
#include "halftone/api/sample_shapes.h"
#include "halftone/base/base64.h"
#include "halftone/base/child.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/export_c/export_c.h"

namespace halftone {
namespace {

/// Calls write(graph, codes) for the network as it runs, with its name in errors.
template <typename Write>
auto written_as_c(Network network, const Write& write) {
  const std::string name = network.name;
  const export_c::BorderCodes codes = export_c::border_codes(network.graph);
  const ir::Graph graph = prepared(std::move(network), Purpose::kRun);
  return with_context(name, [&] { return write(graph, codes); });
}

/// Inserts a section, which browsers ignore, with the mark of exports behind the header of a
/// module.
std::string marked(const std::string& module) {
  constexpr std::size_t kHeaderBytes = 8;
  std::string section(1, '\0');
  section += static_cast<char>(export_c::kMark.size() + 1);
  section += static_cast<char>(export_c::kMark.size());
  section += export_c::kMark;
  return module.substr(0, kHeaderBytes) + section + module.substr(kHeaderBytes);
}

void check_compiler() {
  for (const char* program : {"clang", "wasm-ld"}) {
    if (has_program(program)) continue;
    fail(ErrorKind::kUnsupported, std::string("a module for browsers needs ") + program +
                                      ", which is not in PATH: install Debian's packages clang "
                                      "and lld");
  }
}

std::string text_of(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The module that C sources become.
std::string compiled(const std::vector<export_c::CFile>& sources) {
  const TemporaryFolder folder;
  const std::string module = folder.path() / "net.wasm";
  std::vector<std::string> words = {"clang",
                                    "--target=wasm32",
                                    "-std=c99",
                                    "-O2",
                                    "-nostdlib",
                                    "-ffreestanding",
                                    "-ffp-contract=off",
                                    "-fvisibility=hidden",
                                    "-I" + folder.path().string(),
                                    "-Wl,--no-entry",
                                    "-Wl,--export=arena",
                                    "-Wl,--export=run",
                                    "-Wl,--export=reset",
                                    "-Wl,--strip-all",
                                    "-o",
                                    module};
  for (const export_c::CFile& file : sources) {
    write_file(folder.path() / file.name, file.text);
    if (file.name.ends_with(".c")) words.push_back(folder.path() / file.name);
  }
  const std::filesystem::path log = folder.path() / "log";
  if (run_program(words, log) == 0) return text_of(module);
  const std::string said = text_of(log);
  fail(ErrorKind::kUnsupported, "clang makes no module: " + said.substr(0, said.find('\n')));
}

}  // namespace

v0::CExport export_c_sources(Network network, const std::filesystem::path& folder,
                             const v0::ExportCOptions& options) {
  const auto sources =
      written_as_c(std::move(network), [&](const ir::Graph& graph, const auto& codes) {
        return export_c::export_network(graph, options, codes);
      });
  write_made_files(folder, sources.files);
  return sources.report;
}

v0::CExport sizes_as_c(Network network, const v0::ExportCOptions& options) {
  return written_as_c(std::move(network), [&](const ir::Graph& graph, const auto& /*codes*/) {
    return export_c::program_sizes(graph, options);
  });
}

WasmModule wasm_module(Network network, v0::ExportCOptions options) {
  check_compiler();
  options.core = "wasm";
  auto web = written_as_c(std::move(network), [&](const ir::Graph& graph, const auto& codes) {
    return export_c::export_web(graph, options, codes);
  });
  WasmModule module{marked(compiled(web.sources)), std::move(web.script), std::move(web.report)};
  module.report.module_bytes = module.bytes.size();
  return module;
}

LiveModule live_module(Network network, const data::Dataset* data) {
  const std::string name = network.name;
  if (data != nullptr) network = with_samples(std::move(network), *data);
  WasmModule module = wasm_module(std::move(network));
  if (module.bytes.size() <= kMaxLiveBytes) {
    return {std::move(module.bytes), module.script + export_c::live_script(),
            std::string(export_c::live_style())};
  }
  fail(ErrorKind::kUnsupported, name + ": its module takes " + std::to_string(module.bytes.size()) +
                                    " bytes, and a page at most " + std::to_string(kMaxLiveBytes) +
                                    ": fewer bits take less");
}

v0::CExport export_wasm_files(Network network, const std::filesystem::path& folder,
                              const v0::ExportCOptions& options) {
  WasmModule module = wasm_module(std::move(network), options);
  const export_c::CFile files[] = {
      {options.name + ".wasm", module.bytes},
      {options.name + ".js", module.script},
      {"index.html", export_c::page_text(options.name, to_base64(module.bytes))}};
  write_made_files(folder, files);
  for (const export_c::CFile& file : files) module.report.files.push_back(file.name);
  return module.report;
}

}  // namespace halftone
