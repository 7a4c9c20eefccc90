// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/student.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/shape.h"
#include "halftone/numerics/vector_basis.h"
#include "halftone/train/graph/torch_gradient.h"
#include "halftone/train/graph/torch_tensor.h"
#include "halftone/train/graph/trainable.h"
#include "halftone/train/student/precision.h"

namespace halftone::train {
namespace {

using compress::ParameterSpace;
using numerics::Granularity;
using numerics::MatrixEncoding;

/// @param num_numbers  number of values that share levels
LevelQuantizerOptions with_step_scale(LevelQuantizerOptions options, std::size_t num_numbers,
                                      int bits) {
  options.gradient_scale = step_gradient_scale(num_numbers, bits);
  return options;
}

/// Number of elements per sample.
std::size_t num_elements(const ir::Value& value) {
  return value.type.shape.with_batch(1).element_count();
}

/// Moves each value as close to `wanted` as the cell of its level allows.
void move_within_cells(std::span<float> numbers, std::span<const float> wanted,
                       const numerics::LevelTable& table) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::span<const float> thresholds = table.thresholds();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t level = table.index(numbers[i]);
    // A value on a threshold has the lower level.
    const float low = level == 0 ? -kInfinity : std::nextafter(thresholds[level - 1], kInfinity);
    const float high = level == thresholds.size() ? kInfinity : thresholds[level];
    if (low <= high) numbers[i] = std::clamp(wanted[i], low, high);
  }
}

/// The float constant with the name and shape of `like`.
std::optional<ir::ValueId> float_constant(const ir::Graph& graph, const ir::Value& like) {
  for (std::size_t i = 0; i < graph.num_values(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    const ir::Constant* constant = graph.constant(id);
    const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
    if (tensor != nullptr && graph.value(id).name == like.name &&
        tensor->element() == ir::ElementType::kFloat32 && tensor->shape() == like.type.shape) {
      return id;
    }
  }
  return std::nullopt;
}

/// The normalised outputs of a layer.
/// @param sums  receives their moments
at::Tensor learned(const ChannelNorm& norm, const at::Tensor& x, at::Tensor& sums) {
  ChannelMoments moments;
  at::Tensor y = norm.learn(x, moments);
  sums = moments.sums;
  return y;
}

/// @throws Error kUnsupported if the student cannot learn weights with this encoding
void check_learnable(const MatrixEncoding& encoding, std::size_t cols, const std::string& name) {
  if (encoding.vectors != nullptr) {
    fail(ErrorKind::kUnsupported,
         "weights '" + name + "': expected codes of single numbers, found vectors of " +
             encoding.vectors->rate() + ", which training does not learn; train in another scheme");
  }
  if (encoding.granularity == Granularity::kGroup && cols % encoding.group_size != 0) {
    fail(ErrorKind::kUnsupported,
         "weights '" + name + "': expected a group size that divides the " + std::to_string(cols) +
             " inputs, found " + std::to_string(encoding.group_size));
  }
}

}  // namespace

std::string_view to_string(ComputeDevice device) {
  switch (device) {
    case ComputeDevice::kCpu:
      return "cpu";
    case ComputeDevice::kCuda:
      return "cuda";
  }
  return "unknown";
}

at::Device torch_device(ComputeDevice device) {
  if (device == ComputeDevice::kCpu) return at::kCPU;
  if (!at::hasCUDA()) {
    fail(ErrorKind::kDevice,
         "device cuda: expected a GPU and a libtorch that was built for it, found none");
  }
  return at::kCUDA;
}

Student::Student(ir::Graph graph, const ir::Graph* original, const StudentOptions& options)
    : torch_(std::move(graph), at::kFloat, torch_device(options.device)),
      device_(torch_device(options.device)),
      precision_(options.precision),
      hardware_(options.hardware) {
  add_weights(original, options);
  add_activations(options);
  if (options.normalises && !hardware_.seen) add_norms();
  find_places();
  add_parameters();
}

void Student::find_places() {
  const std::vector<ir::NodeId> order = source().topological_order();
  for (const ir::NodeId id : order) {
    places_[id] = num_layers_;
    if (reads_weights(source().node(id).op)) ++num_layers_;
  }
}

void Student::add_parameters() {
  const auto add = [this](const at::Tensor& tensor, std::size_t layer) {
    parameters_.push_back(tensor);
    layers_.push_back(layer);
  };
  std::map<ir::ValueId, std::size_t> last_reader;
  for (const auto& [id, place] : places_) {
    for (const ir::ValueId input : source().node(id).inputs) {
      last_reader[input] = std::max(last_reader[input], place);
    }
  }
  for (const TorchParameter& each : torch_.parameters()) add(each.tensor, last_reader[each.id]);
  for (const Norm& each : norms_) {
    add(each.norm.gain(), places_[each.node]);
    add(each.norm.shift(), places_[each.node]);
  }
  const std::size_t num_numbers = parameters_.size();
  for (Weights& each : weights_) {
    each.layer = last_reader[each.id];
    if (each.quantizer.options().rule != LevelRule::kGradient) continue;
    add(each.quantizer.parameters(), each.layer);
  }
  for (const Activations& each : activations_) {
    if (each.quantizer.options().rule != LevelRule::kGradient) continue;
    add(each.quantizer.parameters(), places_[each.node]);
  }
  num_levels_ = parameters_.size() - num_numbers;
}

void Student::add_weights(const ir::Graph* original, const StudentOptions& options) {
  for (const TorchParameter& parameter : torch_.parameters()) {
    const auto* encoded = std::get_if<ir::EncodedTensor>(source().constant(parameter.id));
    if (encoded == nullptr) continue;
    const MatrixEncoding& encoding = *encoded->encoding;
    const ir::MatrixExtent extent = ir::matrix_extent(encoded->shape);
    check_learnable(encoding, extent.cols, parameter.name);
    const at::Tensor& tensor = parameter.tensor;
    const auto id = original == nullptr ? std::nullopt
                                        : float_constant(*original, source().value(parameter.id));
    if (id) {
      const auto wanted = std::get<ir::Tensor>(*original->constant(*id)).as<float>();
      at::Tensor moved = tensor.detach().cpu();
      const std::span<float> numbers(moved.data_ptr<float>(),
                                     static_cast<std::size_t>(moved.numel()));
      const std::size_t each = numbers.size() / encoding.num_blocks();
      for (std::size_t b = 0; b < encoding.num_blocks(); ++b) {
        move_within_cells(numbers.subspan(b * each, each), wanted.subspan(b * each, each),
                          numerics::LevelTable(encoding.levels(b)));
      }
      tensor.data().copy_(moved);
    }
    const auto rows = static_cast<std::int64_t>(encoding.num_blocks());
    const auto each = static_cast<std::size_t>(tensor.numel() / rows);
    weights_.push_back({parameter.id, tensor, rows,
                        LevelQuantizer(encoding, ParameterSpace::of(encoding),
                                       with_step_scale(options.weights, each, encoding.bits)),
                        /*layer=*/0});
  }
}

void Student::add_activations(const StudentOptions& options) {
  for (const ir::NodeId id : source().topological_order()) {
    const auto* held = ir::activation_encoding(source().node(id).op);
    if (held == nullptr || *held == nullptr) continue;
    const MatrixEncoding* encoding = held->get();
    const std::size_t each = num_elements(source().value(source().node(id).output));
    activations_.push_back(
        {id, LevelQuantizer(*encoding, compress::activation_space(*encoding),
                            with_step_scale(options.activations, each, encoding->bits))});
  }
}

/// Whether a factor per channel can be folded into the layer's weights, and a term into its bias.
bool Student::can_be_normalised(ir::NodeId id) const {
  constexpr std::size_t kWeights = 1;
  constexpr std::size_t kBias = 2;
  const ir::Node& node = source().node(id);
  const bool is_last = std::ranges::all_of(source().consumers(node.output), [&](ir::NodeId reader) {
    return std::holds_alternative<ir::Softmax>(source().node(reader).op);
  });
  if (!ir::is_layer(node.op) || is_last) return false;
  const auto is_own = [&](std::size_t input) {
    const ir::ValueId value = node.inputs[input];
    return source().constant(value) != nullptr && source().num_uses(value) == 1;
  };
  if (!is_own(kWeights) || node.inputs.size() <= kBias || node.inputs[kBias] == ir::kAbsent ||
      !is_own(kBias)) {
    return false;
  }
  const auto* encoded = std::get_if<ir::EncodedTensor>(source().constant(node.inputs[kWeights]));
  return encoded == nullptr || (encoded->encoding->granularity != Granularity::kTensor &&
                                ParameterSpace::of(*encoded->encoding).takes_any_factor());
}

void Student::add_norms() {
  for (const ir::NodeId id : source().topological_order()) {
    if (!can_be_normalised(id)) continue;
    const ir::ValueId weights = source().node(id).inputs[1];
    norms_.push_back({id, ChannelNorm(source().value(weights).type.shape[0], device_)});
  }
}

const Student::Weights* Student::weights_of(ir::ValueId id) const {
  const auto found = std::ranges::find(weights_, id, &Weights::id);
  return found == weights_.end() ? nullptr : &*found;
}

bool Student::averages_activations() const {
  return !activations_.empty() &&
         activations_.front().quantizer.options().rule == LevelRule::kMovingAverage;
}

/// Zeros: counts and sums of each activation if a moving average needs them, then the moments of
/// each ChannelNorm.
std::vector<at::Tensor> Student::no_statistics(PassKind kind) const {
  const at::TensorOptions type(at::kDouble);
  std::vector<at::Tensor> result;
  if (kind == PassKind::kLearn && averages_activations()) {
    for (const Activations& each : activations_) {
      result.push_back(at::zeros({2, 1, std::int64_t{1} << each.quantizer.space().bits()}, type));
    }
  }
  if (kind == PassKind::kApply) return result;
  for (const Norm& each : norms_) result.push_back(at::zeros({3, each.norm.gain().numel()}, type));
  return result;
}

/// The value of code 0 of the input of a layer.
float Student::lowest_input(const ir::Node& node) const {
  const numerics::Code lowest = 0;
  ir::ValueId value = node.inputs[0];
  for (auto producer = source().producer(value); producer; producer = source().producer(value)) {
    const auto found = std::ranges::find(activations_, *producer, &Activations::node);
    if (found != activations_.end()) return found->quantizer.levels().front().value(lowest);
    value = source().node(*producer).inputs[0];
  }
  return source().value(node.inputs[0]).type.encoding.codes->levels(0).value(lowest);
}

void Student::program(std::uint64_t seed) {
  if (!hardware_.seen) return;
  const at::NoGradGuard no_gradient;
  for (const ir::NodeId id : source().topological_order()) {
    const ir::Node& node = source().node(id);
    const Weights* weights = ir::is_layer(node.op) ? weights_of(node.inputs[1]) : nullptr;
    if (weights == nullptr) continue;
    const std::shared_ptr<const ir::Constant> codes = constant_of(*weights, {});
    const auto seen = hardware_.seen(source(), node, std::get<ir::EncodedTensor>(*codes), seed);
    if (!seen) continue;
    const at::Tensor numbers =
        at::tensor(*seen, at::kFloat).reshape(weights->tensor.sizes()).to(device_);
    seen_[id] = train::inexact_layer(source(), node, to_torch(ir::to_float(*codes)).to(device_),
                                     numbers, lowest_input(node));
  }
}

const InexactLayer* Student::seen_by(ir::NodeId node, PassKind kind) const {
  const auto found = seen_.find(node);
  return kind == PassKind::kMeasure || found == seen_.end() ? nullptr : &found->second;
}

/// The levels of weights, or those that hardware represents; other inputs are as given.
at::Tensor Student::weights_or(const at::Tensor& x, ir::NodeId node, std::size_t input,
                               const InexactLayer* seen) const {
  const Weights* weights = weights_of(source().node(node).inputs[input]);
  if (weights == nullptr) return x;
  const at::Tensor levels =
      weights->quantizer.forward(x.reshape({weights->rows, -1})).reshape(x.sizes());
  return seen == nullptr ? levels : straight_through(levels, seen->weights);
}

Student::Pass Student::forward(std::span<const at::Tensor> inputs, PassKind kind,
                               std::uint64_t seed) const {
  Pass pass;
  pass.statistics = no_statistics(kind);
  const bool sums_up = kind == PassKind::kLearn && averages_activations();
  const std::size_t first_norm = sums_up ? activations_.size() : 0;
  ForwardHooks hooks;
  hooks.input = [&](ir::NodeId node, std::size_t input, const at::Tensor& x) {
    return weights_or(x, node, input, seen_by(node, kind));
  };
  hooks.encode = [&](ir::NodeId node, const at::Tensor& x) {
    const auto found = std::ranges::find(activations_, node, &Activations::node);
    if (found == activations_.end()) return x;
    if (sums_up) {
      // A recurrent layer calls this once per step; the sums accumulate.
      const LevelSums sums = found->quantizer.sums(x);
      pass.statistics[static_cast<std::size_t>(found - activations_.begin())] +=
          at::stack({sums.counts, sums.sums});
    }
    return found->quantizer.forward(x);
  };
  hooks.product = [&](ir::NodeId node, const at::Tensor& products) {
    const InexactLayer* layer = seen_by(node, kind);
    const at::Tensor x = layer == nullptr ? products : products + layer->correction;
    const auto found = std::ranges::find(norms_, node, &Norm::node);
    if (found == norms_.end()) return x;
    const bool learns = kind == PassKind::kLearn && !is_frozen(node);
    if (!learns && kind != PassKind::kMeasure) return found->norm.apply(x);
    at::Tensor& sums =
        pass.statistics[first_norm + static_cast<std::size_t>(found - norms_.begin())];
    if (kind == PassKind::kMeasure) {
      sums = ChannelNorm::measure(x).sums;
      return x;
    }
    return learned(found->norm, x, sums);
  };
  pass.outputs =
      torch_.forward(inputs, with_precision(std::move(hooks), source(), precision_, seed));
  return pass;
}

void Student::start(std::span<const at::Tensor> statistics) {
  HALFTONE_ASSERT(statistics.size() == norms_.size());
  for (std::size_t i = 0; i < norms_.size(); ++i) norms_[i].norm.start_at({statistics[i]});
}

void Student::update(std::span<const at::Tensor> statistics) {
  for (Weights& weights : weights_) {
    if (weights.quantizer.options().rule == LevelRule::kGradient) {
      weights.quantizer.refresh();
    } else if (weights.layer >= num_frozen_) {
      weights.quantizer.update(
          weights.quantizer.sums(weights.tensor.detach().reshape({weights.rows, -1})));
    }
  }
  std::size_t next = 0;
  for (Activations& activations : activations_) {
    if (activations.quantizer.options().rule == LevelRule::kGradient) {
      activations.quantizer.refresh();
      continue;
    }
    const at::Tensor& sums = statistics[next++];
    if (!is_frozen(activations.node)) {
      activations.quantizer.update({sums[0].contiguous(), sums[1].contiguous()});
    }
  }
  for (Norm& each : norms_) {
    const at::Tensor& moments = statistics[next++];
    if (!is_frozen(each.node)) each.norm.update({moments});
  }
}

/// Encodes weights; the levels are multiplied by the factor of their channel.
/// @param factors  float32 [channels], or undefined
std::shared_ptr<const ir::Constant> Student::constant_of(const Weights& weights,
                                                         const at::Tensor& factors) const {
  const auto& old = std::get<ir::EncodedTensor>(*source().constant(weights.id));
  MatrixEncoding encoding = old.encoding->with_levels(weights.quantizer.levels());
  const ir::MatrixExtent extent = ir::matrix_extent(old.shape);
  const at::Tensor numbers = weights.tensor.detach().cpu().contiguous();
  const MatrixView<const float> view(
      std::span<const float>(numbers.data_ptr<float>(), extent.rows * extent.cols), extent.rows,
      extent.cols);
  numerics::BitPlanes planes = numerics::encode(view, encoding);
  if (factors.defined()) {
    const std::int64_t groups = weights.rows / factors.numel();
    encoding = encoding.with_levels(
        weights.quantizer.scaled_levels(factors.cpu().repeat_interleave(groups)));
  }
  return std::make_shared<const ir::Constant>(ir::EncodedTensor{
      old.shape, std::make_shared<const MatrixEncoding>(std::move(encoding)), std::move(planes)});
}

NamedTensors Student::state() const {
  NamedTensors state;
  const auto add = [&](const std::string& what, const std::string& name, const at::Tensor& tensor) {
    state.push_back({what + "/" + std::to_string(state.size()) + "/" + name, tensor.detach()});
  };
  for (const TorchParameter& each : torch_.parameters()) add("numbers", each.name, each.tensor);
  for (const Weights& each : weights_) {
    add("levels", source().value(each.id).name, each.quantizer.parameters());
  }
  for (const Activations& each : activations_) {
    add("levels", source().node(each.node).name, each.quantizer.parameters());
  }
  for (const Norm& each : norms_) {
    const std::string& name = source().node(each.node).name;
    add("gain", name, each.norm.gain());
    add("shift", name, each.norm.shift());
    add("mean", name, each.norm.mean());
    add("variance", name, each.norm.variance());
  }
  return state;
}

void Student::set_state(const NamedTensors& state) {
  assign(this->state(), state);
  for (Weights& each : weights_) each.quantizer.refresh();
  for (Activations& each : activations_) each.quantizer.refresh();
}

/// The values of all parameters of the graph, with every ChannelNorm folded in.
std::map<ir::ValueId, Student::LearnedNumbers> Student::learned_numbers() const {
  std::map<ir::ValueId, LearnedNumbers> result;
  for (const TorchParameter& each : torch_.parameters()) {
    result[each.id].numbers = each.tensor.detach();
  }
  for (const Norm& each : norms_) {
    const std::vector<ir::ValueId>& inputs = source().node(each.node).inputs;
    const ChannelNorm::Folded folded = each.norm.fold();
    LearnedNumbers& weights = result[inputs[1]];
    std::vector<std::int64_t> rows(static_cast<std::size_t>(weights.numbers.dim()), 1);
    rows[0] = weights.numbers.size(0);
    weights = {weights.numbers * folded.factor.reshape(rows), folded.factor};
    at::Tensor& bias = result[inputs[2]].numbers;
    bias = folded.factor * bias + folded.term;
  }
  return result;
}

ir::Graph Student::with_learned_numbers(ir::Graph original) const {
  for (const auto& [id, learned] : learned_numbers()) {
    if (const auto old = float_constant(original, source().value(id))) {
      replace_constant(original, *old,
                       std::make_shared<const ir::Constant>(to_ir(learned.numbers)));
    }
  }
  return original;
}

ir::Graph Student::graph() const {
  ConstantMap constants;
  for (const auto& [id, learned] : learned_numbers()) {
    const Weights* weights = weights_of(id);
    constants[id] = weights != nullptr
                        ? constant_of(*weights, learned.factors)
                        : std::make_shared<const ir::Constant>(to_ir(learned.numbers));
  }
  ir::Graph result = torch_.graph(constants);
  for (const Activations& activations : activations_) {
    ir::Operator op = result.node(activations.node).op;
    auto& encoding = *ir::activation_encoding(op);
    encoding = std::make_shared<const MatrixEncoding>(
        encoding->with_levels(activations.quantizer.levels()));
    result.replace_node(activations.node, std::move(op), result.node(activations.node).inputs);
  }
  result.infer_all();
  return result;
}

}  // namespace halftone::train
