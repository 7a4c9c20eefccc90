// SPDX-License-Identifier: Apache-2.0
// Networks as programs handle them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/formats/options.h"
#include "halftone/ir/graph.h"

namespace halftone {

/// A graph and its name in messages.
struct Network {
  // NOLINTNEXTLINE(google-explicit-constructor): the graph of a result is a network
  Network(ir::Graph the_graph, std::string the_name = "network");

  /// Reads a network with these shapes of inputs, by name.
  using Reader = std::function<ir::Graph(const std::map<std::string, ir::Shape>& shapes)>;

  ir::Graph graph;
  std::string name;               ///< of its file, if load() has read it
  std::uintmax_t file_bytes = 0;  ///< of its file and external data, if load() has read it
  std::string format;             ///< of that file: "onnx", "tflite" or "circle"
  /// Of a network that load() has read and that leaves extents open.
  Reader reader{};
  /// Why it cannot be read before its open extents have numbers: `graph` has its inputs alone.
  /// Empty for others.
  std::string refusal{};
};

/// Reads an ONNX, TFLite or circle file; the extension of the path gives the format.
/// @param options  shapes and values for inputs
/// @param used     as in formats::check_names()
/// @throws Error as formats::load_model()
Network load(const std::filesystem::path& path, const formats::ImportOptions& options = {},
             std::set<std::string>* used = nullptr);

/// Whether inputs have open extents beside the batch.
bool is_open(const Network& network);

/// @throws Error kUsage that says how to give open extents numbers if a network has a refusal
void check_read(const Network& network);

/// The network with numbers for its open extents: those that shapes of inputs show. It is read
/// again where its symbols do not fit them: an extent of 0, or branches that only numbers choose.
/// @param inputs  of the inputs that a caller gives, in order; nullopt: unknown
/// @throws Error kUsage that says how to give them if an extent has no number; kShape if two inputs
///         differ in one, or if the numbers do not fit the network; else as load()
Network with_shapes(Network network, std::span<const std::optional<ir::Shape>> inputs);

/// Reads an ONNX, TFLite or circle file that is in memory; its content gives the format.
/// @param file  constants are views of it where it has an owner: own_bytes()
/// @param name  of the network in messages
/// @throws Error as formats::load_model()
Network load(const SharedBytes& file, const std::string& name = "network",
             const formats::ImportOptions& options = {});

/// Reads networks that are used together. Each takes the options for the inputs that it has.
/// @throws Error as load(); kUsage if no network has an input that the options name
std::vector<Network> load_all(std::span<const std::filesystem::path> paths,
                              const formats::ImportOptions& options);

/// Checks, before the work, that a quantized form of a network can be written to a file, and that
/// this is not the file of the network.
/// @throws Error kUsage; else as prepared() and formats::check_model()
void check_output(const std::filesystem::path& output, const Network& network);

/// Writes a network completely or not at all. The same network gives the same bytes.
/// @return bytes of the file and its external data
/// @throws Error as formats::save_model()
std::uintmax_t save(const Network& network, const std::filesystem::path& path,
                    const formats::ExportOptions& form = {});

/// The bytes that save() writes to a file of this format.
/// @param format  "onnx", "tflite" or "circle"
/// @throws Error kUsage if there is no such format; else as formats::model_bytes()
SharedBytes to_bytes(const Network& network, std::string_view format,
                     const formats::ExportOptions& form = {});

/// The use of a network, which determines how it is simplified.
enum class Purpose : std::uint8_t {
  kConvert,      ///< to be written to a file
  kFit,          ///< to be quantized or trained: integer weights become the floats they represent
  kFitOnFloats,  ///< likewise, and integer inputs and outputs become float32
  kQuantize,     ///< likewise, and weights of bytes alone become the floats they represent
  kRun,          ///< layers between conversions compute with integers
  kRunOnFloats,  ///< likewise, and integer inputs and outputs become float32
};

/// The simplified graph. It computes the same function up to rounding.
/// @throws Error kUsage that says how to give open extents numbers, unless it is to be written;
///         else as passes::simplify()
ir::Graph prepared(Network network, Purpose purpose);

/// The graph that a network of open extents becomes for a purpose, as prepared().
/// @pre network has no refusal
ir::Graph prepared_open(Network network, Purpose purpose);

/// The samples of a run: those asked for, else 1; of a network with a fixed batch, that batch.
/// @throws Error kUsage if the network is fixed to another batch
std::size_t batch_of(const ir::Graph& graph, const std::optional<std::size_t>& wanted);

struct RunGraph {
  ir::Graph graph;
  std::size_t batch = 1;
};
/// The graph that a plan computes: prepared, all extents fixed, activations, residuals and
/// encodings merged into the layers before them.
/// @param batch  as in batch_of()
/// @throws Error as prepared(), batch_of() and runtime::prepare()
RunGraph graph_to_run(Network network, const std::optional<std::size_t>& batch);

}  // namespace halftone
