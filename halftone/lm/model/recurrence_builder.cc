// SPDX-License-Identifier: Apache-2.0
// Recurrences of the graphs of a model.
#include <cmath>
#include <iterator>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/lm/model/graph_builder.h"

namespace halftone::lm {

ValueId GraphBuilder::mixer(ValueId x) {
  switch (d_.mixer(block_)) {
    case Mixer::kAttention:
      return attention(x);
    case Mixer::kConvolution:
      return convolution(x);
    case Mixer::kScan:
      return scan(x);
    case Mixer::kDelta:
      return delta(x);
    case Mixer::kAttentionAndScan:
      return binary("mixer/sum", ir::BinaryKind::kAdd, scaled("scan", scan(x), d_.scan_factor),
                    scaled("attention", attention(x), d_.attention_factor));
    case Mixer::kChannelScan:
      return channel_scan(x);
    case Mixer::kNone:
      break;
  }
  fail(ErrorKind::kInternal, "a block without a mixer");
}

ValueId GraphBuilder::short_convolution(ValueId x, ir::Activation activation) {
  const WeightId id = here(WeightRole::kMixerKernel);
  const std::size_t channels = shape_of(d_, id)[0];
  // By taps, as the operator reads it.
  const ValueId kernel = shared_constant(weights_.at(id).name + "/taps", [&] {
    const std::vector<float> values = weights_.at(id).decode();
    ir::Tensor by_taps(ir::ElementType::kFloat32, {dim(d_.taps), dim(channels)});
    for (std::size_t i = 0; i < values.size(); ++i) {
      by_taps.as<float>()[i % d_.taps * channels + i / d_.taps] = values[i];
    }
    return by_taps;
  });
  std::vector<ValueId> inputs = {x, kernel};
  if (d_.has_kernel_bias) inputs.push_back(add_weight({id.role, id.block, Part::kBias, 0}));
  return recur("mixer/convolution", ir::ShortConvolution{.activation = activation},
               {dim(d_.taps) - 1, dim(channels)}, std::move(inputs));
}

ValueId GraphBuilder::convolution(ValueId x) {
  const ValueId all = product("mixer/input", x, here(WeightRole::kMixerInput));
  const auto part = [&](const char* name, std::size_t index) {
    return part_of(name, all, index * d_.width, d_.width);
  };
  const ValueId opened =
      binary("mixer/opened", ir::BinaryKind::kMul, part("mixer/before", 0), part("mixer/rows", 2));
  const ValueId y = binary("mixer/gated", ir::BinaryKind::kMul, part("mixer/behind", 1),
                           short_convolution(opened));
  return product("mixer/output", y, here(WeightRole::kMixerOutput));
}

ValueId GraphBuilder::part_of_groups(const std::string& name, ValueId grouped, std::size_t begin,
                                     std::size_t count) {
  const auto groups = static_cast<std::size_t>(graph_.value(grouped).type.shape[lead_.size()]);
  return rows_of(name, part_of(name + "/parts", grouped, begin, count), groups * count);
}

GraphBuilder::DeltaInputs GraphBuilder::delta_inputs(ValueId x) {
  const std::size_t keys = d_.scan_states;
  const std::size_t values = d_.scan_inner / d_.scan_groups;  // of a head of keys
  const std::size_t heads = d_.scan_heads / d_.scan_groups;
  DeltaInputs result{};
  const ValueId all = product("mixer/input", x, here(WeightRole::kMixerInput));
  if (d_.merges_gate) {
    const ValueId grouped = heads_of("mixer/groups", all, d_.scan_groups, 2 * (keys + values));
    const auto part = [&](const char* name, std::size_t begin, std::size_t count) {
      return part_of_groups(std::string("mixer/") + name, grouped, begin, count);
    };
    result.channels =
        node("mixer/channels", ir::Concat{lead_.size()},
             {part("raw_q", 0, keys), part("raw_k", keys, keys), part("raw_v", 2 * keys, values)});
    result.gate = part("raw_gate", 2 * keys + values, values);
  } else {
    result.channels = all;
    result.gate = product("mixer/raw_gate", x, here(WeightRole::kMixerGate));
  }
  result.steps = product("mixer/steps", x, here(WeightRole::kMixerSteps));
  if (d_.merges_steps) {
    const ValueId grouped = heads_of("mixer/step_groups", result.steps, d_.scan_groups, 2 * heads);
    result.beta = part_of_groups("mixer/raw_beta", grouped, 0, heads);
    result.steps = part_of_groups("mixer/raw_step", grouped, heads, heads);
  } else {
    result.beta = product("mixer/raw_beta", x, here(WeightRole::kMixerBeta));
  }
  return result;
}

ValueId GraphBuilder::unit_keys(const std::string& name, ValueId x, double factor) {
  constexpr double kEpsilon = 1e-6;  // of the sum of squares
  const auto width = static_cast<double>(d_.scan_states);
  const ValueId heads = heads_of(name + "/heads", x, d_.scan_groups, d_.scan_states);
  const ValueId unit = node(name + "/normalized",
                            ir::Normalize{.axes = {lead_.size() + 1},
                                          .epsilon = static_cast<float>(kEpsilon / width),
                                          .subtract_mean = false},
                            {heads});
  const std::string scale = name == "mixer/q" ? "query_scale" : "key_scale";
  const ValueId y = rows_of(name + "/rows", unit, d_.scan_groups * d_.scan_states);
  const ValueId unit_rows =
      binary(name, ir::BinaryKind::kMul, y, scalar(scale, factor / std::sqrt(width)));
  const std::size_t copies = d_.scan_heads / d_.scan_groups;
  if (!d_.tiles_heads || copies == 1) return unit_rows;
  return node(name + "/tiled", ir::Concat{lead_.size()}, std::vector<ValueId>(copies, unit_rows));
}

ValueId GraphBuilder::delta(ValueId x) {
  const std::size_t keys = d_.scan_groups * d_.scan_states;
  const std::size_t values = d_.scan_inner / d_.scan_heads;
  const DeltaInputs in = delta_inputs(x);
  const ValueId convolved = short_convolution(in.channels, {ir::ActivationKind::kSilu});
  const ValueId step =
      binary("mixer/step", ir::BinaryKind::kAdd, in.steps, add_weight(here(WeightRole::kStepBias)),
             {ir::ActivationKind::kSoftplus});
  const double query_factor = 1 / std::sqrt(static_cast<double>(d_.scan_states));
  const ValueId y = recur(
      "mixer/delta", ir::GatedDelta{.key_heads = d_.tiles_heads ? d_.scan_heads : d_.scan_groups},
      {dim(d_.scan_heads), dim(d_.scan_states), dim(values)},
      {unit_keys("mixer/q", part_of("mixer/q/convolved", convolved, 0, keys), query_factor),
       unit_keys("mixer/k", part_of("mixer/k/convolved", convolved, keys, keys), 1),
       part_of("mixer/v", convolved, 2 * keys, d_.scan_inner),
       binary("mixer/decay", ir::BinaryKind::kMul, step, decays()),
       node("mixer/beta", ir::Unary{{ir::ActivationKind::kSigmoid}}, {in.beta})});
  const ValueId heads = heads_of("mixer/heads", y, d_.scan_heads, values);
  const std::string norm_name(to_string(WeightRole::kMixerNorm));
  const ValueId normed =
      rows_of("mixer/normed",
              binary(norm_name, ir::BinaryKind::kMul, normalized(norm_name, heads, false),
                     add_weight(here(WeightRole::kMixerNorm))),
              d_.scan_inner);
  const ValueId gate = node("mixer/gate", ir::Unary{{ir::ActivationKind::kSilu}}, {in.gate});
  return product("mixer/output", binary("mixer/gated", ir::BinaryKind::kMul, normed, gate),
                 here(WeightRole::kMixerOutput));
}

ValueId GraphBuilder::decays() {
  const Weight& weight = weights_.at(here(WeightRole::kDecay));
  return shared_constant(weight.name + "/decays", [&] {
    std::vector<float> values = weight.decode();
    for (float& value : values) {
      if (d_.has_log_decays) value = -static_cast<float>(elementary::exp(value));
    }
    return ir::Tensor::from<float>({dim(values.size())}, values);
  });
}

ValueId GraphBuilder::channel_decays() {
  const Weight& weight = weights_.at(here(WeightRole::kChannelDecay));
  return shared_constant(weight.name + "/decays", [&] {
    const std::vector<float> values = weight.decode();
    const std::size_t states = weight.inputs();
    ir::Tensor by_states(ir::ElementType::kFloat32, {dim(states), dim(weight.outputs())});
    for (std::size_t i = 0; i < values.size(); ++i) {
      by_states.as<float>()[i % states * weight.outputs() + i / states] =
          d_.has_log_decays ? -static_cast<float>(elementary::exp(values[i])) : values[i];
    }
    return by_states;
  });
}

ValueId GraphBuilder::normalized_groups(ValueId x, std::size_t groups, WeightRole role) {
  const auto width = static_cast<std::size_t>(graph_.value(x).type.shape.back());
  const std::string name(to_string(role));
  if (groups != 1) x = heads_of(name + "/groups", x, groups, width / groups);
  x = normalized(name, x, false);
  if (groups != 1) x = rows_of(name + "/rows", x, width);
  return binary(name, ir::BinaryKind::kMul, x, add_weight(here(role)));
}

ValueId GraphBuilder::scan_inputs(ValueId x) {
  const ValueId y = product("mixer/input", x, here(WeightRole::kMixerInput));
  if (d_.scan_input_factors.empty()) return y;
  const std::size_t shared = d_.scan_groups * d_.scan_states;
  const std::size_t widths[] = {d_.scan_inner, d_.scan_inner, shared, shared, d_.scan_heads};
  const ValueId factors = shared_constant("scan_input_factors", [&] {
    std::vector<float> values;
    for (std::size_t i = 0; i < std::size(widths); ++i) {
      values.insert(values.end(), widths[i], static_cast<float>(d_.scan_input_factors[i]));
    }
    return ir::Tensor::from<float>({dim(values.size())}, values);
  });
  return binary("mixer/input/scaled", ir::BinaryKind::kMul, y, factors);
}

ValueId GraphBuilder::gated_scan(ValueId y, ValueId gate) {
  const auto normed = [&](ValueId rows) {
    return normalized_groups(rows, d_.scan_groups, WeightRole::kMixerNorm);
  };
  if (d_.has_scan_norm && d_.norms_before_gate) y = normed(y);
  y = binary("mixer/gated", ir::BinaryKind::kMul, y, gate);
  return d_.has_scan_norm && !d_.norms_before_gate ? normed(y) : y;
}

ValueId GraphBuilder::scan(ValueId x) {
  const std::size_t inner = d_.scan_inner;
  const std::size_t shared = d_.scan_groups * d_.scan_states;  // numbers of b and of c
  const ValueId all = scan_inputs(x);
  const ValueId convolved = short_convolution(
      part_of("mixer/channels", all, inner, inner + 2 * shared), {ir::ActivationKind::kSilu});
  const ValueId step =
      binary("mixer/step", ir::BinaryKind::kAdd,
             part_of("mixer/raw_step", all, 2 * (inner + shared), d_.scan_heads),
             add_weight(here(WeightRole::kStepBias)), {ir::ActivationKind::kSoftplus});
  const ValueId y = recur(
      "mixer/scan", ir::SelectiveScan{.channel_groups = d_.scan_groups},
      {dim(d_.scan_states), dim(inner)},
      {part_of("mixer/rows", convolved, 0, inner), step, decays(),
       part_of("mixer/b", convolved, inner, shared),
       part_of("mixer/c", convolved, inner + shared, shared), add_weight(here(WeightRole::kSkip))});
  const ValueId gate = node("mixer/gate", ir::Unary{{ir::ActivationKind::kSilu}},
                            {part_of("mixer/raw_gate", all, 0, inner)});
  return product("mixer/output", gated_scan(y, gate), here(WeightRole::kMixerOutput));
}

ValueId GraphBuilder::channel_scan(ValueId x) {
  const std::size_t inner = d_.scan_inner;
  const ValueId all = product("mixer/input", x, here(WeightRole::kMixerInput));
  const ValueId rows =
      short_convolution(part_of("mixer/channels", all, 0, inner), {ir::ActivationKind::kSilu});
  const ValueId selection = product("mixer/selection", rows, here(WeightRole::kSelection));
  std::size_t begin = 0;
  const auto normed = [&](const char* name, std::size_t count, WeightRole role) {
    const ValueId part = part_of(name, selection, begin, count);
    begin += count;
    return normalized_groups(part, 1, role);
  };
  const ValueId low = normed("mixer/low_step", d_.scan_rank, WeightRole::kStepNorm);
  const ValueId b = normed("mixer/b", d_.scan_states, WeightRole::kScanInputNorm);
  const ValueId c = normed("mixer/c", d_.scan_states, WeightRole::kScanOutputNorm);
  const ValueId step =
      binary("mixer/step", ir::BinaryKind::kAdd,
             product("mixer/raw_step", low, here(WeightRole::kStepProjection)),
             add_weight(here(WeightRole::kStepBias)), {ir::ActivationKind::kSoftplus});
  const ValueId y =
      recur("mixer/scan", ir::SelectiveScan{}, {dim(d_.scan_states), dim(inner)},
            {rows, step, channel_decays(), b, c, add_weight(here(WeightRole::kSkip))});
  const ValueId gate = node("mixer/gate", ir::Unary{{ir::ActivationKind::kSilu}},
                            {part_of("mixer/raw_gate", all, inner, inner)});
  return product("mixer/output", binary("mixer/gated", ir::BinaryKind::kMul, y, gate),
                 here(WeightRole::kMixerOutput));
}

}  // namespace halftone::lm
