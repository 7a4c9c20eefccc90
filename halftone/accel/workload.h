// SPDX-License-Identifier: Apache-2.0
// What hardware has to do: operations of a network as products, element operations and bytes,
// from a graph or from the shape of a network alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::accel {

/// The format of a factor.
struct Number {
  int bits = 32;
  bool is_float = true;

  bool operator==(const Number&) const = default;
};
std::string to_string(const Number& number);  ///< "float16", "int8"

/// How many pieces of b there are in a, the last one perhaps smaller.
inline std::size_t divide_up(std::size_t a, std::size_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/// What a tensor is for, which decides where memories keep it.
enum class TensorRole : std::uint8_t {
  kWeights,
  kInputs,  ///< of an operation: activations
  kOutputs,
  kStates,  ///< kept from step to step: the keys and values of attention
  kGradients,
  kOptimizer,  ///< states of the optimizer
};
inline constexpr std::size_t kNumRoles = 6;
std::string_view to_string(TensorRole role);  ///< "weights", "inputs", ...

struct Transfer {
  TensorRole role = TensorRole::kInputs;
  double bytes = 0;
};

/// `count` matrix products y[rows, cols] = x[rows, inner] w[inner, cols].
struct Product {
  std::size_t count = 0;
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t cols = 0;
  Number x;
  Number w;
  int y_bits = 32;
  /// Bytes of x in memory over those of its matrix: below 1 where windows of a convolution overlap.
  double x_reuse = 1;
  std::size_t taps = 1;  ///< of a window: inner = taps x channels

  bool operator==(const Product&) const = default;
  [[nodiscard]] double products() const {
    return static_cast<double>(count) * static_cast<double>(rows) * static_cast<double>(inner) *
           static_cast<double>(cols);
  }
};

struct Operation {
  std::string name;
  std::string op;  ///< the operator; "DepthwiseConv" for a Conv of one channel a group
  /// Without a product only its formats count: of an Encode those of the codes, else float32.
  Product product{};
  double operations = 0;          ///< additions and the like on elements
  double functions = 0;           ///< exp, tanh, quotients
  double outputs = 0;             ///< elements of the output
  std::vector<Transfer> reads{};  ///< of a product first x, then w
  std::vector<Transfer> writes{};
  /// In a tensor split, whether chips divide its inner extent: the second product of a pair.
  bool joins_shares = false;
  /// In a tensor split, whether chips divide its elements: it stands between both of a pair.
  bool in_shares = false;
  bool gathers_shares = false;  ///< in a tensor split, all chips get the columns of all
  /// In training, whether its inputs depend on weights, so that they need a gradient.
  bool needs_input_gradient = true;
  bool is_backward = false;             ///< of training; reads weights that were counted before
  bool is_gradient_of_weights = false;  ///< in a data split, summed over chips

  [[nodiscard]] double bytes_read() const;
  [[nodiscard]] double bytes_written() const;
  [[nodiscard]] bool has_product() const { return product.count > 0; }
};

struct Workload {
  std::string name;
  std::size_t batch = 1;
  std::vector<Operation> operations;
  double stored_weight_bytes = 0;  ///< of all weights, also those not read; 0: weight_bytes()
  double state_bytes = 0;          ///< kept from step to step
  double training_bytes = 0;  ///< of gradients, optimizer states, activations kept for the way back

  [[nodiscard]] double products() const;
  [[nodiscard]] double weight_bytes() const;  ///< of all weights, each counted where it is read
  [[nodiscard]] double bytes(TensorRole role) const;  ///< read or written by all operations
};

/// One product y[rows, cols] = x[rows, inner] w[inner, cols] with a result of 32 bits.
/// @param product  its extents and formats
Workload workload_of(const Product& product);

/// The work of one node.
Operation operation_of(const ir::Graph& graph, const ir::Node& node, std::size_t batch = 1);

/// The work of a network as it runs, in the order of computation. Reshapes cost nothing and are
/// left out.
/// @param graph  as prepared to run
Workload workload_of(const ir::Graph& graph, std::string name, std::size_t batch = 1);

}  // namespace halftone::accel
