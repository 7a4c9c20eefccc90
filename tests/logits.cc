// SPDX-License-Identifier: Apache-2.0
// Logits of a language model, for a test that compares them with another program's:
//
//     logits MODEL decoder|reference|samples CONTEXT < TOKENS > LOGITS
//
// opens a model, reads ids, and writes the logits of all positions as float32, row by row; tensors
// of the model that it does not use go to stderr. `decoder` is lm::Decoder, in two calls;
// `reference` the reference evaluation, in two runs; both with states for CONTEXT tokens. `samples`
// runs the form without states on one sample.
#include <cstdint>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/lm/decode/decoder.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/open_model.h"
#include "halftone/runtime/execute/session.h"

namespace {

using halftone::ir::Dim;
using halftone::ir::ElementType;
using halftone::ir::Shape;
using halftone::ir::Tensor;
using halftone::lm::DecoderGraphs;
using Tokens = std::vector<halftone::lm::TokenId>;

/// A prompt in two parts, so that the second reads what the first left.
std::vector<Tokens> parts_of(const Tokens& tokens) {
  if (tokens.size() < 2) return {tokens};
  const auto middle = tokens.begin() + static_cast<std::ptrdiff_t>(tokens.size() / 3 + 1);
  return {Tokens(tokens.begin(), middle), Tokens(middle, tokens.end())};
}

std::vector<float> by_decoder(DecoderGraphs graphs, const Tokens& tokens) {
  halftone::lm::Decoder decoder(std::move(graphs), {.rows = 16});
  std::vector<float> logits;
  for (const Tokens& part : parts_of(tokens)) {
    const std::vector<float> rows = decoder.append(0, part, true);
    logits.insert(logits.end(), rows.begin(), rows.end());
  }
  return logits;
}

Tensor integers(const Tokens& values, Shape shape) {
  return Tensor::from<std::int32_t>(std::move(shape), values);
}

void append(std::vector<float>& logits, const Tensor& rows) {
  const auto values = rows.as<float>();
  logits.insert(logits.end(), values.begin(), values.end());
}

/// The state inputs after these are given by hand, and come back as outputs.
std::vector<float> by_reference(const DecoderGraphs& graphs, const Tokens& tokens) {
  std::vector<Tensor> states;
  for (const auto& state : graphs.body.states()) {
    states.emplace_back(ElementType::kFloat32, graphs.body.value(state.before).type.shape);
  }
  std::vector<float> logits;
  std::int32_t begin = 0;
  for (const Tokens& ids : parts_of(tokens)) {
    Tokens positions(ids.size());
    std::iota(positions.begin(), positions.end(), begin);
    begin += static_cast<std::int32_t>(ids.size());
    std::vector<Tensor> inputs;
    for (const Tokens& values : {ids, Tokens(ids.size(), 0), positions}) {
      inputs.push_back(integers(values, {static_cast<Dim>(values.size())}));
    }
    std::move(states.begin(), states.end(), std::back_inserter(inputs));
    std::vector<Tensor> outputs = evaluate_graph(graphs.body, inputs);
    states.assign(std::make_move_iterator(outputs.begin() + 1),
                  std::make_move_iterator(outputs.end()));
    outputs.resize(1);
    append(logits, evaluate_graph(graphs.head, outputs)[0]);
  }
  return logits;
}

std::vector<float> by_samples(const DecoderGraphs& graphs, const Tokens& tokens) {
  std::vector<Tensor> values;
  values.push_back(integers(tokens, {1, static_cast<Dim>(tokens.size())}));
  for (const auto& graph : {graphs.body, graphs.head}) {
    halftone::runtime::Session session(halftone::runtime::make_plan(graph));
    values = session.run(values);
  }
  std::vector<float> logits;
  append(logits, values[0]);
  return logits;
}

std::vector<float> logits_of(const std::string& path, const std::string& form, std::size_t context,
                             const Tokens& tokens) {
  const halftone::lm::ModelParts model = halftone::lm::open_model(path);
  for (const std::string& name : model.weights.unused()) {
    std::cerr << "unused tensor: " << name << '\n';
  }
  if (form == "samples") {
    return by_samples(build_samples(model.description, model.weights, tokens.size()), tokens);
  }
  DecoderGraphs graphs = build_decoder(model.description, model.weights, {.context = context});
  return form == "decoder" ? by_decoder(std::move(graphs), tokens) : by_reference(graphs, tokens);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    const Tokens tokens{std::istream_iterator<std::int32_t>(std::cin), {}};
    const auto logits = logits_of(argv[1], argv[2], std::stoul(argv[3]), tokens);
    std::cout.write(reinterpret_cast<const char*>(logits.data()),
                    static_cast<std::streamsize>(logits.size() * sizeof(float)));
  } catch (const halftone::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
