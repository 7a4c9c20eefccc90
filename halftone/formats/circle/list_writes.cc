// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/list_writes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/ir/tensor.h"

namespace halftone::formats::circle {
namespace {

using Integers = std::vector<std::int64_t>;

class WriteFinder {
 public:
  explicit WriteFinder(const FileModel& file) : file_(file), readers_(file.num_tensors(), 0) {
    for (std::size_t op = 0; op < file.num_operators(); ++op) {
      for (const std::size_t tensor : file.outputs(op)) producers_.emplace(tensor, op);
      for (const auto tensor : file.inputs(op)) {
        if (tensor) ++readers_[*tensor];
      }
    }
    for (const std::size_t tensor : file.graph_outputs()) ++readers_[tensor];
  }

  /// The write that a CONCATENATION completes; adds its parts.
  std::optional<ListWrite> write_of(std::size_t op, std::set<std::size_t>& parts) const {
    const auto inputs = tensors_of(op);
    const auto* options = file_.table(op).builtin_options_as<schema::ConcatenationOptions>();
    const bool is_plain =
        options == nullptr || (options->axis() == 0 && options->fused_activation_function() ==
                                                           schema::ActivationFunctionType::NONE);
    if (!is_plain || inputs.size() != 3) return std::nullopt;
    const auto before = slice_of(inputs[0]);
    const auto after = slice_of(inputs[2]);
    const ir::Shape row = file_.shape(inputs[1]);
    if (!before || !after || before->list != after->list || row.rank() == 0 || row[0] != 1) {
      return std::nullopt;
    }
    const Integers zeros(row.rank(), 0);
    const Integers rest(row.rank(), -1);
    const auto position = joined_with(before->sizes, Integers(row.rank() - 1, -1));
    const auto next = joined_with(after->begins, Integers(row.rank() - 1, 0));
    if (integers(before->begins) != zeros || integers(after->sizes) != rest || !position || !next ||
        !follows(*next, *position)) {
      return std::nullopt;
    }
    parts.insert({before->op, after->op});
    return ListWrite{before->list, *position, inputs[1]};
  }

 private:
  struct SlicePart {
    std::size_t op = 0;
    std::size_t list = 0;
    std::size_t begins = 0;
    std::size_t sizes = 0;
  };

  /// The inputs of an operator; empty if one is absent.
  [[nodiscard]] std::vector<std::size_t> tensors_of(std::size_t op) const {
    std::vector<std::size_t> tensors;
    for (const auto tensor : file_.inputs(op)) {
      if (!tensor) return {};
      tensors.push_back(*tensor);
    }
    return tensors;
  }

  [[nodiscard]] std::optional<std::size_t> producer(std::size_t tensor, OperatorCode code) const {
    const auto found = producers_.find(tensor);
    if (found == producers_.end() || file_.code(found->second) != code) return std::nullopt;
    return found->second;
  }

  [[nodiscard]] std::optional<SlicePart> slice_of(std::size_t tensor) const {
    const auto op = producer(tensor, OperatorCode::kSlice);
    if (!op || readers_[tensor] != 1) return std::nullopt;
    const auto inputs = tensors_of(*op);
    if (inputs.size() != 3) return std::nullopt;
    return SlicePart{*op, inputs[0], inputs[1], inputs[2]};
  }

  /// A constant list of integers.
  [[nodiscard]] std::optional<Integers> integers(std::size_t tensor) const {
    const schema::TensorType type = file_.tensor(tensor).type();
    const bool is_integer = type == schema::TensorType::INT32 || type == schema::TensorType::INT64;
    const ir::Shape shape = file_.shape(tensor);
    if (producers_.contains(tensor) || file_.data(tensor).empty() || !is_integer ||
        shape.element_count() > FileModel::kMaxAxes) {
      return std::nullopt;
    }
    const ir::Tensor wide =
        read_tensor(type, shape, file_.shared_data(tensor)).cast(ir::ElementType::kInt64);
    return Integers(wide.as<std::int64_t>().begin(), wide.as<std::int64_t>().end());
  }

  /// The tensor before changes of shape. A file without order may have a cycle of them.
  [[nodiscard]] std::size_t origin(std::size_t tensor) const {
    for (int step = 0; step < 4; ++step) {
      auto op = producer(tensor, OperatorCode::kReshape);
      if (!op) op = producer(tensor, OperatorCode::kExpandDims);
      if (!op || tensors_of(*op).empty()) break;
      tensor = tensors_of(*op)[0];
    }
    return tensor;
  }

  /// The integer that a list has in front of some constants.
  [[nodiscard]] std::optional<std::size_t> joined_with(std::size_t list,
                                                       const Integers& constants) const {
    if (constants.empty()) return origin(list);
    const auto op = producer(list, OperatorCode::kConcatenation);
    const auto parts = op ? tensors_of(*op) : std::vector<std::size_t>{};
    if (parts.size() != 2 || integers(parts[1]) != constants) return std::nullopt;
    return origin(parts[0]);
  }

  /// Whether a tensor is another one plus 1.
  [[nodiscard]] bool follows(std::size_t next, std::size_t position) const {
    const auto op = producer(next, OperatorCode::kAdd);
    const auto terms = op ? tensors_of(*op) : std::vector<std::size_t>{};
    if (terms.size() != 2) return false;
    const auto is_sum = [&](std::size_t a, std::size_t b) {
      return origin(a) == position && integers(b) == Integers{1};
    };
    return is_sum(terms[0], terms[1]) || is_sum(terms[1], terms[0]);
  }

  const FileModel& file_;
  std::map<std::size_t, std::size_t> producers_;  ///< by tensor
  std::vector<std::size_t> readers_;              ///< their number, by tensor
};

}  // namespace

ListWrites find_list_writes(const FileModel& file) {
  ListWrites found;
  std::optional<WriteFinder> finder;
  for (std::size_t op = 0; op < file.num_operators(); ++op) {
    if (file.code(op) != OperatorCode::kConcatenation || file.inputs(op).size() != 3) continue;
    if (!finder) finder.emplace(file);
    if (const auto write = finder->write_of(op, found.parts)) found.writes.emplace(op, *write);
  }
  return found;
}

}  // namespace halftone::formats::circle
