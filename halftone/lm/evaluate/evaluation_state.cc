// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/evaluate/evaluation_state.h"

#include <nlohmann/json.hpp>
#include <span>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/hash.h"

namespace halftone::lm {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStateKind = "halftone evaluation of a text";

Json mean_json(const Mean& mean) { return {mean.count, mean.mean, mean.squares}; }

Mean mean_from(const Json& json) {
  return {json.at(0).get<std::uint64_t>(), json.at(1).get<double>(), json.at(2).get<double>()};
}

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

std::string evaluation_key(const TextEvaluationJob& job) {
  Hash hash;
  hash.add(job.identity);
  for (const TokenId token : job.tokens) hash.add(std::to_string(token) + " ");
  const WindowOptions& windows = job.windows;
  for (const std::size_t part :
       {windows.context, windows.stride, windows.limit, std::size_t{windows.second_half},
        std::size_t{job.reference != nullptr}}) {
    hash.add(std::to_string(part) + " ");
  }
  return std::to_string(hash.value());
}

EvaluationState read_state(const std::filesystem::path& path, const std::string& key) {
  if (path.empty() || !std::filesystem::exists(path)) return {};
  const std::vector<std::byte> bytes = read_file(path);
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  const Json json = Json::parse(begin, begin + bytes.size(), nullptr, false);
  const auto fail_state = [&](const std::string& what) {
    fail(ErrorKind::kFormat, path.string() + ": " + what);
  };
  try {
    if (json.is_discarded() || json.at("kind") != kStateKind)
      fail_state("expected a state of an evaluation, found something else");
    if (json.at("key") != key)
      fail_state("has the state of other models, windows or another text: name another file");
    EvaluationState state;
    state.num_windows = json.at("windows").get<std::size_t>();
    state.loss = mean_from(json.at("loss"));
    state.reference_loss = mean_from(json.at("reference_loss"));
    state.difference = mean_from(json.at("difference"));
    state.kl = mean_from(json.at("kl"));
    state.same_top = mean_from(json.at("same_top"));
    state.kls = json.at("kls").get<std::vector<double>>();
    return state;
  } catch (const Json::exception&) {
    fail_state("expected a state of an evaluation, found something else");
  }
  return {};
}

void write_state(const std::filesystem::path& path, const std::string& key,
                 const EvaluationState& state) {
  if (path.empty()) return;
  const Json json = {{"kind", kStateKind},
                     {"key", key},
                     {"windows", state.num_windows},
                     {"loss", mean_json(state.loss)},
                     {"reference_loss", mean_json(state.reference_loss)},
                     {"difference", mean_json(state.difference)},
                     {"kl", mean_json(state.kl)},
                     {"same_top", mean_json(state.same_top)},
                     {"kls", state.kls}};
  write_file(path, json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace halftone::lm
