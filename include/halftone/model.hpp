// SPDX-License-Identifier: Apache-2.0
// Networks: from files and memory, what is in them, to files and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/tensor.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// The version of the library: "0.1.0".
  HALFTONE_CPP_API std::string_view version();

  /// What a file leaves open, by the names of inputs.
  struct LoadOptions {
    /// Shapes that replace those of the file; kOpen is the batch.
    std::map<std::string, std::vector<std::int64_t>> shapes{};
    /// Values of inputs, which so become constants and may determine shapes.
    std::map<std::string, Tensor> values{};
    /// Iterations until a loop of the network counts as one without an end.
    std::size_t max_iterations = 1'000'000;
  };

  /// How a network is written.
  struct SaveOptions {
    /// ONNX only: layers of codes as operators of the ONNX standard, in place of Halftone's own.
    bool standard = false;
    /// The same, with com.microsoft.MatMulNBits where a layer can have it.
    bool matmul_nbits = false;
    /// ONNX and TFLite: the whole network as one operator, for ONNX Runtime or LiteRT with
    /// Halftone's library.
    bool one_operator = false;
  };

  /// A layer with weights.
  struct Layer {
    std::string name;
    std::string op;           ///< "FullyConnected", "Conv2D", ...
    std::string weights;      ///< type of the weights: "basis(2 bits, channel, offset)[700, 784]"
    double weight_bits = 32;  ///< 32: float32; 3.5: a code of 7 bits for two weights
    int activation_bits = 32;
    std::size_t weight_bytes = 0;
    std::string arithmetic;  ///< "bits", "integers", "float"; empty for layers without codes
  };

  /// A network. Copies share it; nothing changes it, so any number of threads may use it.
  class HALFTONE_CPP_API Model {
   public:
    [[nodiscard]] const std::string& name() const;    ///< in messages: that of its file
    [[nodiscard]] std::vector<Port> inputs() const;   ///< in the order of the file
    [[nodiscard]] std::vector<Port> outputs() const;  ///< likewise
    [[nodiscard]] std::vector<Layer> layers() const;  ///< in order of execution
    /// Elements of constants that operators read.
    [[nodiscard]] std::size_t num_parameters() const;
    /// The graph, one line per operator.
    [[nodiscard]] std::string text() const;

    /// Writes the network completely or not at all; the extension gives the format: .onnx, .tflite
    /// or .circle. The same network gives the same bytes.
    /// @throws Error kIo if the file cannot be written; kUnsupported if the format cannot hold the
    ///         network; kUsage for another extension
    void save(const std::filesystem::path& path, const SaveOptions& options = {}) const;
    /// The bytes that save() writes.
    /// @param format  "onnx", "tflite" or "circle"
    /// @throws Error as save()
    [[nodiscard]] std::vector<std::byte> to_bytes(std::string_view format,
                                                  const SaveOptions& options = {}) const;

   private:
    friend struct Internals;
    struct State;
    explicit Model(std::shared_ptr<const State> state);
    std::shared_ptr<const State> state_;  // shared by the copies
  };

  /// Reads an ONNX, TFLite or circle file; the extension gives the format.
  /// @throws Error kIo if the file is missing or unreadable; kFormat if it is malformed;
  /// kUnsupported
  ///         for operators that Halftone lacks; kUsage if an option names no input; kShape if it
  ///         does not fit
  HALFTONE_CPP_API Model load(const std::filesystem::path& path, const LoadOptions& options = {});

  /// Reads a file that is in memory; its content gives the format.
  /// @param file  copied
  /// @param name  of the network in messages
  /// @throws Error as for a path
  HALFTONE_CPP_API Model load(std::span<const std::byte> file, const std::string& name = "network",
                              const LoadOptions& options = {});

  /// The network, simplified as quantize() and sessions see it: batch normalisation in its layers,
  /// constants computed.
  /// @param decoded  float32 weights in place of codes, and roundings of activations as operators
  /// that
  ///                 every runtime has
  /// @throws Error kUnsupported if codes cannot be decoded
  HALFTONE_CPP_API Model simplified(const Model& model, bool decoded = false);

}  // namespace v0
}  // namespace halftone
