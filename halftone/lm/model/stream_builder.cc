// SPDX-License-Identifier: Apache-2.0
// Streams of rows of the graphs of a model, and matrices past attention.
#include <cmath>

#include "halftone/lm/model/graph_builder.h"

namespace halftone::lm {
namespace {

/// Rows whose mean square is below are not lengthened further.
constexpr double kLeastMeanSquare = 1e-5;

}  // namespace

ValueId GraphBuilder::add_bypass(ValueId sum, ValueId rows) {
  const ValueId low = product("bypass/left", rows, here(WeightRole::kBypassLeft));
  const ValueId branch =
      norm(product("bypass/right", low, here(WeightRole::kBypassRight)), WeightRole::kBypassNorm);
  const ValueId past = binary("bypass/past", ir::BinaryKind::kAdd, rows, branch);
  return binary("bypass/scaled", ir::BinaryKind::kMul,
                binary("bypass/sum", ir::BinaryKind::kAdd, sum, past),
                scalar("bypass_factor", 1 / std::sqrt(2.0)));
}

ValueId GraphBuilder::in_length(const std::string& name, ValueId y, ValueId length) {
  const double least = std::sqrt(kLeastMeanSquare * static_cast<double>(d_.width));
  const ValueId own = binary(name + "/at_least", ir::BinaryKind::kMax,
                             length_of(name + "/length", y), scalar("least_length", least));
  return binary(name + "/resized", ir::BinaryKind::kMul, y,
                binary(name + "/ratio", ir::BinaryKind::kDiv, length, own));
}

ValueId GraphBuilder::started_streams(ValueId x) {
  if (d_.streams == 1) return x;
  const ValueId length = length_of("streams/length", x);
  std::vector<ValueId> parts = {x};
  for (std::size_t i = 1; i < d_.streams; ++i) {
    const std::string name = "streams/start/" + std::to_string(i);
    const ValueId y = product(name, x, {.role = WeightRole::kStreamStart, .expert = i - 1});
    parts.push_back(in_length(name, y, length));
  }
  return node("streams/start", ir::Concat{lead_.size()}, parts);
}

ValueId GraphBuilder::ended_streams(ValueId streams) {
  if (d_.streams == 1) return streams;
  prefix_ = "";
  ValueId sum = stream("streams/first", streams, 0);
  const ValueId length = length_of("streams/first/length", sum);
  for (std::size_t i = 1; i < d_.streams; ++i) {
    const std::string name = "streams/end/" + std::to_string(i);
    const ValueId y = product(name, stream(name + "/rows", streams, i),
                              {.role = WeightRole::kStreamEnd, .expert = i - 1});
    sum = binary(name + "/sum", ir::BinaryKind::kAdd, sum, in_length(name, y, length));
  }
  return binary("streams/mean", ir::BinaryKind::kMul, sum,
                scalar("stream_factor", 1 / static_cast<double>(d_.streams)));
}

ValueId GraphBuilder::shares_of_streams(const std::string& name, ValueId x) {
  const std::string norm_name = name + "/norm";
  const ValueId rows = binary(norm_name, ir::BinaryKind::kMul, normalized(norm_name, x, false),
                              add_weight(here(WeightRole::kStreamRouterNorm)));
  return product(name + "/shares",
                 binary(name + "/rows", ir::BinaryKind::kMul, rows,
                        scalar("stream_router_factor", 1 / static_cast<double>(d_.width))),
                 here(WeightRole::kStreamRouter), false, {ir::ActivationKind::kTanh});
}

ValueId GraphBuilder::predicted_streams(ValueId streams) {
  const ValueId shares = shares_of_streams("predict", stream("predict/first", streams, 0));
  const ValueId coefficients =
      heads_of("predict/matrix",
               product("predict/coefficients", shares, here(WeightRole::kStreamPrediction)),
               d_.streams, d_.streams);
  const ValueId change =
      node("predict/change", ir::MatMul{},
           {coefficients, heads_of("predict/streams", streams, d_.streams, d_.width)});
  return binary("predict/sum", ir::BinaryKind::kAdd, streams,
                rows_of("predict/changes", change, d_.streams * d_.width));
}

ValueId GraphBuilder::corrected_streams(ValueId predicted, ValueId worked) {
  const ValueId shares = shares_of_streams("correct", worked);
  const ValueId coefficients = binary(
      "correct/coefficients", ir::BinaryKind::kAdd,
      product("correct/changes", shares, here(WeightRole::kStreamCorrection)), scalar("one", 1));
  const ValueId change =
      binary("correct/change", ir::BinaryKind::kSub, worked, stream("correct/first", predicted, 0));
  const ValueId changes =
      binary("correct/scaled", ir::BinaryKind::kMul, heads_of("correct/row", change, 1, d_.width),
             heads_of("correct/column", coefficients, d_.streams, 1));
  return binary("correct/sum", ir::BinaryKind::kAdd,
                heads_of("correct/streams", predicted, d_.streams, d_.width), changes);
}

ValueId GraphBuilder::add_to_others(ValueId corrected) {
  const std::size_t axis = lead_.size();
  const auto streams_from = [&](const std::string& name, std::size_t begin, std::size_t count) {
    return node(name, ir::Slice{.axis = axis, .begin = begin, .count = count}, {corrected});
  };
  const ValueId first = streams_from("others/first", 0, 1);
  ValueId read = rows_of("others/read", first, d_.width);
  if (d_.scales_first_stream) {
    read = binary("others/scaled", ir::BinaryKind::kMul, read,
                  add_weight(here(WeightRole::kStreamScale)));
  }
  ValueId input = block_input(read);
  if (d_.has_post_norms) input = norm(input, WeightRole::kBlockInputPostNorm);
  const ValueId others =
      binary("others/sum", ir::BinaryKind::kAdd, streams_from("others/before", 1, d_.streams - 1),
             heads_of("others/row", input, 1, d_.width));
  return node("others/all", ir::Concat{axis}, {first, others});
}

ValueId GraphBuilder::block_of_streams(ValueId streams) {
  const ValueId predicted = predicted_streams(streams);
  const ValueId worked = both_branches(stream("predict/active", predicted, 0));
  ValueId corrected = corrected_streams(predicted, worked);
  if (d_.block_input_width != 0) corrected = add_to_others(corrected);
  return rows_of("streams", corrected, d_.streams * d_.width);
}

}  // namespace halftone::lm
