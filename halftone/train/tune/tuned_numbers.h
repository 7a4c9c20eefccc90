// SPDX-License-Identifier: Apache-2.0
// The numbers of a quantized network that are tuned, and their gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/train/learn/named_tensors.h"
#include "halftone/train/tune/factored_matrix.h"
#include "halftone/train/tune/tuned_basis.h"

namespace halftone::train {

/// Constants of a network by name.
using NamedConstants = std::map<std::string, std::shared_ptr<const ir::Constant>>;

/// Parameters v, zeros at first, of all constants of a network that are tuned:
///
///     factors of the blocks of a matrix   f0 e^v, see FactoredMatrix
///     gains and biases                    w0 + r v, with the root mean square r of w0
///     matrices of vector bases            P0 + r v, rounded by nearest_basis()
///
/// A basis belongs to all matrices of its rate.
class TunedNumbers {
 public:
  /// @param constants  that can_be_tuned(); matrices in vector bases of a rate share a basis
  /// @throws Error kUnsupported if matrices of a rate have several bases
  explicit TunedNumbers(const NamedConstants& constants);

  [[nodiscard]] bool contains(const std::string& name) const {
    return matrices_.contains(name) || vectors_.contains(name);
  }
  /// The current numbers of a constant as a file holds them: float32, without a gradient.
  [[nodiscard]] at::Tensor weights(const std::string& name) const;
  /// The current constants as a file holds them, in memory of their own.
  [[nodiscard]] NamedConstants constants() const;

  /// Adds a gradient with respect to weights(name).
  void add_gradient(const std::string& name, const at::Tensor& gradient);
  /// The gradients of parameters() since the last call; an undefined one if none was added.
  [[nodiscard]] std::vector<at::Tensor> take_gradients();

  /// All parameters, those of bases last.
  [[nodiscard]] std::vector<at::Tensor> parameters() const;
  [[nodiscard]] std::size_t num_bases() const { return bases_.size(); }
  /// Limits factors to what files hold and rounds all numbers; to be called after parameters
  /// change.
  void update();
  /// The parameters by name; they share memory.
  [[nodiscard]] NamedTensors state() const;
  /// @throws Error kFormat as assign()
  void set_state(const NamedTensors& state);

  [[nodiscard]] std::size_t num_scales() const;
  [[nodiscard]] std::size_t num_vector_elements() const;
  [[nodiscard]] std::vector<std::string> bases() const;  ///< their rates

 private:
  struct Parameter {
    at::Tensor value;
    at::Tensor gradient{};  ///< undefined: none
    void add(const at::Tensor& more);
  };
  struct Matrix {
    FactoredMatrix matrix;
    Parameter logarithms;
  };
  struct Vector {
    at::Tensor start;
    double unit = 1;
    Parameter change;
  };
  struct Basis {
    std::shared_ptr<const numerics::VectorBasis> current;
    at::Tensor start;  ///< float32 [d, D]
    double unit = 1;
    Parameter change;
  };
  void add_matrix(const std::string& name, const ir::BlockTensor& blocks);
  void add_basis(const std::string& name, const numerics::VectorBasis& basis);
  void add_vector(const std::string& name, const ir::Tensor& tensor);
  /// All parameters with their names, in the order of parameters().
  template <typename Visit>
  void visit(Visit&& visit) const;

  std::map<std::string, Matrix> matrices_;
  std::map<std::string, Vector> vectors_;
  std::map<std::string, Basis> bases_;  ///< by rate
};

/// Whether TunedNumbers takes a constant: a matrix in blocks with factors, or a float32 vector.
bool can_be_tuned(const ir::Constant& constant);

}  // namespace halftone::train
