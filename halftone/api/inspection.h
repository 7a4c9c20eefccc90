// SPDX-License-Identifier: Apache-2.0
// Inputs, outputs, operators and layers of a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halftone/api/encoding_info.h"
#include "halftone/api/network.h"
#include "halftone/formats/options.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/work.h"

namespace halftone {

struct PortInfo {
  std::string name;
  ir::ValueType type;
};

/// A layer with weights.
struct LayerInfo {
  std::string name;
  std::string op;
  std::string weights;  ///< type of the weights: "basis(2 bits, channel, offset)[700, 784]"
  double weight_bits = 32;
  int activation_bits = 32;
  std::size_t weight_bytes = 0;
  /// As the runtime computes it, by the attribute or by the rule (ir::arithmetic_of()); nothing for
  /// layers without this choice, such as those of integers.
  std::optional<ir::Arithmetic> arithmetic{};
  std::optional<EncodingInfo> weight_encoding{};      ///< nothing: plain numbers
  std::optional<EncodingInfo> activation_encoding{};  ///< of the input, or of states
};

/// What it takes to compute a node.
struct NodeWork {
  std::string name;
  std::string op;
  ir::Work work;
};

struct Inspection {
  std::string format;
  std::uintmax_t file_bytes = 0;  ///< with external data
  std::size_t parameters = 0;     ///< elements of constants that nodes read, without bases
  std::vector<PortInfo> inputs;
  std::vector<PortInfo> outputs;
  std::vector<PortInfo> states;  ///< what the network remembers from run to run, by its input
  std::map<std::string, std::size_t> operators;  ///< how often each occurs
  std::vector<LayerInfo> layers;
  std::vector<NodeWork> work;         ///< in the order of computation; empty unless asked for
  std::vector<std::string> warnings;  ///< about a file that was written
  std::string text;                   ///< the whole graph, as ir::to_text() shows it
};

/// The nodes that inspect() lists as layers, in the same order.
std::vector<ir::NodeId> layers_of(const ir::Graph& graph);

/// @param format      name of the file format, such as "onnx"
/// @param file_bytes  size of the file and its external data
Inspection inspect(const ir::Graph& graph, std::string format, std::uintmax_t file_bytes);

struct InspectOptions {
  bool simplified = false;  ///< inspect the network as quantize() and distill_files() see it
  bool work = false;        ///< count the work of the network as it runs
  std::optional<std::size_t> batch{};  ///< samples of the work; nullopt: 1, or that of the network
  formats::ImportOptions import{};     ///< shapes and values for inputs
};

/// The work of every node of a network as it runs: simplified, its layers fused.
/// @throws Error as graph_to_run()
std::vector<NodeWork> work_of(Network network,
                              const std::optional<std::size_t>& batch = std::nullopt);

/// Inspects a file.
/// @throws Error as load() and prepared()
Inspection inspect_file(const std::filesystem::path& path, const InspectOptions& options = {});

/// The simplified graph of a network.
/// @param decoded  as in ConvertForm
/// @throws Error as prepared() and, with the name of the network, passes::decode_codes()
ir::Graph converted(Network network, bool decoded);

/// How convert() writes a network.
struct ConvertForm {
  formats::ExportOptions form{};
  /// Write float32 weights in place of codes, and roundings of activations with the operators that
  /// every runtime has: passes::decode_codes().
  bool decoded = false;
};

/// Writes a network in the format of a file name, simplified.
/// @return what was written
/// @throws Error as check_output() with the name of the network, converted() and save()
Inspection convert(Network network, const std::filesystem::path& output,
                   const ConvertForm& how = {});

/// A file to convert and the file to write.
struct ConvertJob {
  std::filesystem::path input;
  std::filesystem::path output;
  formats::ImportOptions import{};  ///< shapes and values for inputs
  ConvertForm how{};
};

/// The same from file to file.
/// @throws Error as load() and convert()
Inspection convert(const ConvertJob& job);

}  // namespace halftone
