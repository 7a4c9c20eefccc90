// SPDX-License-Identifier: Apache-2.0
// A network as C99 that needs nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/types/export_c.hpp"

namespace halftone::export_c {

/// In the first line of each file, by which a later export knows it.
inline constexpr std::string_view kMark = "Made by halftone export";

struct CFile {
  std::string name;
  std::string text;
};

struct CSources {
  std::vector<CFile> files;
  v0::CExport report;
};

/// What the codes of inputs and outputs mean, in their order.
struct BorderCodes {
  std::vector<std::optional<ir::AffineParameters>> inputs;
  std::vector<std::optional<ir::AffineParameters>> outputs;
};

/// Those of a graph before passes::simplify_to_run(), which drops the scales of integers.
BorderCodes border_codes(const ir::Graph& graph);

/// The files of a C program that computes a network for one sample, with the bits of the runtime
/// (float32 layers in the fixed order). The same network and options give the same bytes.
/// @param graph  simplified to run, see passes::simplify()
/// @param codes  of its inputs and outputs, as far as known
/// @throws Error kUsage if the name is no C identifier, a number of runs is out of range or the
/// core
///         unknown;
///         kUnsupported if C has no kernel for a node, or if the arena is larger than allowed
CSources export_network(const ir::Graph& graph, const v0::ExportCOptions& options,
                        const BorderCodes& codes = {});

/// What the program of a network takes, without its texts.
/// @throws Error as export_network()
v0::CExport program_sizes(const ir::Graph& graph, const v0::ExportCOptions& options = {});

/// C sources of a module for browsers, and what calls it.
struct WebSources {
  std::vector<CFile> sources;  ///< to be compiled for wasm32, and the headers that they include
  std::string script;          ///< NAME.js: the class HalftoneNet
  v0::CExport report;          ///< without files
};

/// What a module of WebAssembly is compiled of: exports `memory`, `arena`,
/// `run` and `reset`.
/// @throws Error as export_network()
WebSources export_web(const ir::Graph& graph, const v0::ExportCOptions& options,
                      const BorderCodes& codes = {});

/// A page that runs a network, beside NAME.js.
/// @param module  that was compiled, in base64
std::string page_text(const std::string& name, const std::string& module);
/// Its script and its style: an element with the id halftone-live shows the network, whose module
/// lies in base64 in an element with the id halftone-wasm. The attribute data-classes has the names
/// of classes as a list of JSON.
std::string live_script();
std::string_view live_style();

}  // namespace halftone::export_c
