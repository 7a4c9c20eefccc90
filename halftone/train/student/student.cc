// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/student.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/shape.h"

namespace halftone::train {
namespace {

using compress::ParameterSpace;
using compress::Scheme;
using numerics::BasisEncoding;
using numerics::Granularity;

ParameterSpace space_of(const BasisEncoding& encoding) {
  return {Scheme::kBasis, encoding.bits, encoding.has_offset};
}

ParameterSpace activation_space_of(const BasisEncoding& encoding) {
  return compress::activation_space(Scheme::kBasis, encoding.bases.front(), encoding.has_offset);
}

/// The numbers as near to `wanted` as they come within the cells of their levels.
void move_within_cells(std::span<float> numbers, std::span<const float> wanted,
                       const numerics::LevelTable& table) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::span<const float> thresholds = table.thresholds();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t level = table.index(numbers[i]);
    // A number on a threshold has the lower level.
    const float low = level == 0 ? -kInfinity : std::nextafter(thresholds[level - 1], kInfinity);
    const float high = level == thresholds.size() ? kInfinity : thresholds[level];
    if (low <= high) numbers[i] = std::clamp(wanted[i], low, high);
  }
}

/// The float constant of a name and shape.
const ir::Tensor* float_constant(const ir::Graph& graph, const ir::Value& like) {
  for (std::size_t i = 0; i < graph.num_values(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    const ir::Constant* constant = graph.constant(id);
    const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
    if (tensor != nullptr && graph.value(id).name == like.name &&
        tensor->element() == ir::ElementType::kFloat32 && tensor->shape() == like.type.shape) {
      return tensor;
    }
  }
  return nullptr;
}

}  // namespace

Student::Student(ir::Graph graph, const ir::Graph* original, const StudentOptions& options)
    : torch_(std::move(graph)) {
  for (const TorchParameter& parameter : torch_.parameters()) {
    parameters_.push_back(parameter.tensor);
  }
  add_weights(original, options.weights);
  add_activations(options.activations);
  const auto add_bases = [&](const auto& learned) {
    for (const auto& each : learned) {
      if (each.quantizer.options().rule == LevelRule::kGradient) {
        parameters_.push_back(each.quantizer.parameters());
      }
    }
  };
  add_bases(weights_);
  add_bases(activations_);
}

void Student::add_weights(const ir::Graph* original, const LevelQuantizerOptions& options) {
  for (const TorchParameter& parameter : torch_.parameters()) {
    const auto* encoded = std::get_if<ir::EncodedTensor>(source().constant(parameter.id));
    if (encoded == nullptr) continue;
    const BasisEncoding& encoding = *encoded->encoding;
    const ir::MatrixExtent extent = ir::matrix_extent(encoded->shape);
    if (encoding.granularity == Granularity::kGroup && extent.cols % encoding.group_size != 0) {
      fail(ErrorKind::kUnsupported,
           "weights '" + parameter.name + "': groups of " + std::to_string(encoding.group_size) +
               " inputs, of which there are " + std::to_string(extent.cols) +
               ", cannot be trained: expected whole groups");
    }
    const at::Tensor& tensor = parameter.tensor;
    const ir::Tensor* wanted =
        original == nullptr ? nullptr : float_constant(*original, source().value(parameter.id));
    if (wanted != nullptr) {
      const std::span<float> numbers(tensor.data_ptr<float>(),
                                     static_cast<std::size_t>(tensor.numel()));
      const std::size_t each = numbers.size() / encoding.bases.size();
      for (std::size_t b = 0; b < encoding.bases.size(); ++b) {
        move_within_cells(numbers.subspan(b * each, each),
                          wanted->as<float>().subspan(b * each, each),
                          numerics::LevelTable(encoding.bases[b]));
      }
    }
    weights_.push_back({parameter.id, tensor, static_cast<std::int64_t>(encoding.bases.size()),
                        LevelQuantizer(space_of(encoding), encoding.bases, options)});
  }
}

void Student::add_activations(const LevelQuantizerOptions& options) {
  for (const ir::NodeId id : source().topological_order()) {
    const ir::Operator& op = source().node(id).op;
    const BasisEncoding* encoding = nullptr;
    if (const auto* encode = std::get_if<ir::Encode>(&op)) encoding = encode->encoding.get();
    if (const auto* recurrent = std::get_if<ir::Recurrent>(&op)) {
      encoding = recurrent->state_encoding.get();
    }
    if (encoding == nullptr) continue;
    activations_.push_back(
        {id, LevelQuantizer(activation_space_of(*encoding), encoding->bases, options)});
  }
}

const Student::Weights* Student::weights_of(ir::NodeId node, std::size_t input) const {
  const ir::ValueId id = source().node(node).inputs[input];
  const auto found = std::ranges::find(weights_, id, &Weights::id);
  return found == weights_.end() ? nullptr : &*found;
}

Student::Pass Student::forward(std::span<const at::Tensor> inputs, bool with_sums) const {
  Pass pass;
  if (with_sums) pass.sums.resize(activations_.size());
  ForwardHooks hooks;
  hooks.input = [&](ir::NodeId node, std::size_t input, const at::Tensor& x) {
    const Weights* weights = weights_of(node, input);
    if (weights == nullptr) return x;
    return weights->quantizer.forward(x.reshape({weights->rows, -1})).reshape(x.sizes());
  };
  hooks.encode = [&](ir::NodeId node, const at::Tensor& x) {
    const auto found = std::ranges::find(activations_, node, &Activations::node);
    if (found == activations_.end()) return x;
    if (with_sums) {
      LevelSums& sums = pass.sums[static_cast<std::size_t>(found - activations_.begin())];
      LevelSums mine = found->quantizer.sums(x);
      // The states of a recurrent layer come step by step.
      if (sums.counts.defined()) {
        sums.counts += mine.counts;
        sums.sums += mine.sums;
      } else {
        sums = std::move(mine);
      }
    }
    return found->quantizer.forward(x);
  };
  pass.outputs = torch_.forward(inputs, hooks);
  return pass;
}

void Student::update(std::span<const LevelSums> sums) {
  for (Weights& weights : weights_) {
    if (weights.quantizer.options().rule == LevelRule::kGradient) {
      weights.quantizer.refresh();
    } else {
      weights.quantizer.update(
          weights.quantizer.sums(weights.tensor.detach().reshape({weights.rows, -1})));
    }
  }
  for (std::size_t i = 0; i < activations_.size(); ++i) {
    LevelQuantizer& quantizer = activations_[i].quantizer;
    if (quantizer.options().rule == LevelRule::kGradient) {
      quantizer.refresh();
    } else if (i < sums.size() && sums[i].counts.defined()) {
      quantizer.update(sums[i]);
    }
  }
}

ir::Graph Student::graph() const {
  ConstantMap codes;
  for (const Weights& weights : weights_) {
    const auto& old = std::get<ir::EncodedTensor>(*source().constant(weights.id));
    BasisEncoding encoding = *old.encoding;
    encoding.bases = weights.quantizer.bases();
    const ir::MatrixExtent extent = ir::matrix_extent(old.shape);
    const at::Tensor numbers = weights.tensor.detach().contiguous();
    const MatrixView<const float> view(
        std::span<const float>(numbers.data_ptr<float>(), extent.rows * extent.cols), extent.rows,
        extent.cols);
    numerics::BitPlanes planes = numerics::encode(view, encoding);
    codes[weights.id] = std::make_shared<const ir::Constant>(ir::EncodedTensor{
        old.shape, std::make_shared<const BasisEncoding>(std::move(encoding)), std::move(planes)});
  }
  ir::Graph result = torch_.graph(codes);
  for (const Activations& activations : activations_) {
    ir::Operator op = result.node(activations.node).op;
    auto* recurrent = std::get_if<ir::Recurrent>(&op);
    auto& place =
        recurrent != nullptr ? recurrent->state_encoding : std::get<ir::Encode>(op).encoding;
    BasisEncoding learned = *place;
    learned.bases = activations.quantizer.bases();
    place = std::make_shared<const BasisEncoding>(std::move(learned));
    result.replace_node(activations.node, std::move(op), result.node(activations.node).inputs);
  }
  result.infer_all();
  return result;
}

}  // namespace halftone::train
