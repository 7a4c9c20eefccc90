// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/evaluate/evaluation_state.h"

#include "halftone/base/hash.h"

namespace halftone::lm {
namespace {

using Json = StateFile::Json;

Json mean_json(const Mean& mean) { return {mean.count, mean.mean, mean.squares}; }

Mean mean_from(const Json& json) {
  return {json.at(0).get<std::uint64_t>(), json.at(1).get<double>(), json.at(2).get<double>()};
}

std::string window_name(std::size_t index) { return "window " + std::to_string(index + 1); }

}  // namespace

void EvaluationState::add(const TokenMeasures& measures, bool has_reference) {
  loss.add(measures.loss);
  if (!has_reference) return;
  reference_loss.add(measures.reference_loss);
  difference.add(measures.loss - measures.reference_loss);
  kl.add(measures.kl);
  same_top.add(measures.same_top ? 1 : 0);
  kls.push_back(measures.kl);
}

TextEvaluation EvaluationState::result(bool has_reference) const {
  TextEvaluation result{loss.count, num_windows, loss.estimate(), exp_of(loss.estimate())};
  if (has_reference) {
    constexpr double kShare = 0.99;
    result.reference = {exp_of(reference_loss.estimate()), exp_of(difference.estimate()),
                        kl.estimate(), quantile(kls, kShare), same_top.estimate()};
  }
  return result;
}

JobIdentity evaluation_identity(const TextEvaluationJob& job) {
  Hash hash;
  for (const TokenId token : job.tokens) hash.add(std::to_string(token) + " ");
  const WindowOptions& windows = job.windows;
  JobIdentity identity = job.identity;
  identity.push_back({"tokens", hash_text(hash.value())});
  identity.push_back({"windows", "context " + std::to_string(windows.context) + ", stride " +
                                     std::to_string(windows.stride) + ", limit " +
                                     std::to_string(windows.limit) +
                                     (windows.second_half ? ", second half" : "")});
  identity.push_back({"comparison", job.reference != nullptr ? "with a reference" : "none"});
  return identity;
}

EvaluationState known_windows(const StateFile& kept) {
  EvaluationState state;
  const auto add = [&state](const Json& json) {
    state.loss = mean_from(json.at("loss"));
    state.reference_loss = mean_from(json.at("reference_loss"));
    state.difference = mean_from(json.at("difference"));
    state.kl = mean_from(json.at("kl"));
    state.same_top = mean_from(json.at("same_top"));
    const auto kls = json.at("kls").get<std::vector<double>>();
    state.kls.insert(state.kls.end(), kls.begin(), kls.end());
    return true;
  };
  while (kept.find(window_name(state.num_windows), add)) ++state.num_windows;
  return state;
}

void keep_window(const EvaluationState& state, std::size_t num_kls, StateFile& kept) {
  const auto first = state.kls.begin() + static_cast<std::ptrdiff_t>(num_kls);
  kept.add(window_name(state.num_windows - 1),
           {{"loss", mean_json(state.loss)},
            {"reference_loss", mean_json(state.reference_loss)},
            {"difference", mean_json(state.difference)},
            {"kl", mean_json(state.kl)},
            {"same_top", mean_json(state.same_top)},
            {"kls", std::vector<double>(first, state.kls.end())}});
}

}  // namespace halftone::lm
