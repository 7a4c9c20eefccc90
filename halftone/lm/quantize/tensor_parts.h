// SPDX-License-Identifier: Apache-2.0
// Fitted matrices by the tensors of the file that the model comes from.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "halftone/base/byte_stream.h"
#include "halftone/lm/quantize/fit_model.h"
#include "halftone/lm/quantize/folding.h"

namespace halftone::lm {

/// What the codes of a matrix represent in the basis of the model: of experts all.
std::vector<float> decode_unfolded(const Folding& folding, const WeightId& id,
                                   const FittedMatrix& matrix);

/// The type in which a GGUF file holds codes.
/// @throws Error kUsage if GGUF has no such type, with the name of the tensor
const formats::GgufType& gguf_type_of(const std::string& tensor, const WeightType& type);

/// @throws Error kUsage: a tensor whose matrices `message`
[[noreturn]] void fail_parts(const std::string& tensor, const std::string& message);

/// Checks before fitting what writers need: that of the matrices in one tensor all are fitted or
/// none, and for codes in a GGUF file to one type that GGUF has.
/// @param tensor_of  of each matrix, the tensor that holds it
/// @throws Error kUsage as fail_parts() and gguf_type_of()
void check_tensor_types(const TypeChoice& choice, const std::map<WeightId, std::string>& tensor_of,
                        bool has_codes);

/// A part of a tensor that was fitted: a matrix, or one expert of several.
struct FittedPart {
  WeightId id;
  const Weight* weight = nullptr;
  const FittedMatrix* matrix = nullptr;
  std::size_t matrix_row = 0;  ///< first row within the fitted matrix
};

/// Which tensors of a file hold fitted matrices, and their numbers. A file may keep several
/// matrices in one tensor.
class TensorParts {
 public:
  /// @param folding, fitted  must outlive this
  TensorParts(const Folding& folding, const FittedMatrices& fitted);

  /// The parts of a tensor, in the order of its rows; none if it stays as it is.
  /// @throws Error kUsage if it holds matrices that were not fitted
  [[nodiscard]] const std::vector<FittedPart>& of(const std::string& tensor,
                                                  std::size_t num_elements) const;
  /// The one type of the parts. @throws Error kUsage if there are several
  [[nodiscard]] static const WeightType& type_of(const std::vector<FittedPart>& parts);
  /// Whether a tensor is the factor of a fitted one, which holds it now.
  [[nodiscard]] bool is_factor(const std::string& name) const { return factors_.contains(name); }
  /// What the codes of a tensor represent, as float32 in the basis of the model and in the order
  /// of the file.
  /// @param parts  of(), not empty, must outlive the source
  [[nodiscard]] ByteSource decoded(const std::vector<FittedPart>& parts) const;

 private:
  [[nodiscard]] std::vector<float> values(const std::vector<FittedPart>& parts) const;

  const Folding& folding_;
  std::map<std::string, std::vector<FittedPart>, std::less<>> parts_;
  std::set<std::string> factors_;
};

}  // namespace halftone::lm
