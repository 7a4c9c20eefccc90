// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/text_evaluation.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/paths.h"

namespace halftone {
namespace {

std::string text_in(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Name and size of a file, or of all files of a folder.
std::string identity_of(const std::filesystem::path& path) {
  if (path.empty()) return "none";
  return full_path(path).filename().string() + " " + std::to_string(bytes_of_files(path)) +
         " bytes";
}

/// The file that keeps what was measured of a text.
std::filesystem::path state_of(std::filesystem::path state, std::size_t text) {
  if (!state.empty() && text > 0) state += "." + std::to_string(text + 1);
  return state;
}

/// Collects where in a text losses are.
class TextDetailsOf {
 public:
  void add(const lm::MeasuredToken& token) {
    std::size_t range = 0;  // of positions from 2^range on
    while ((token.position >> (range + 1)) > 0) ++range;
    if (sums_.size() <= range) sums_.resize(range + 1);
    Sums& sums = sums_[range];
    sums.last = std::max(sums.last, token.position);
    sums.loss.add(token.measures.loss);
    sums.kl.add(token.measures.kl);
    if (token.measures.reference_top == lm::kNoToken) return;
    // The first of equal ones stays in front.
    const auto at =
        std::ranges::upper_bound(worst_, token.measures.kl, std::ranges::greater{},
                                 [](const lm::MeasuredToken& each) { return each.measures.kl; });
    worst_.insert(at, token);
    if (worst_.size() > kMaxChanged) worst_.pop_back();
  }

  [[nodiscard]] TextDetails result(const TextModel& model, std::string_view text) const {
    TextDetails details;
    for (std::size_t range = 0; range < sums_.size(); ++range) {
      const Sums& sums = sums_[range];
      if (sums.loss.count == 0) continue;
      details.positions.push_back(
          {std::size_t{1} << range, sums.last, sums.loss.estimate(), sums.kl.estimate()});
    }
    const std::vector<lm::TokenId> tokens = model.tokenize(text);
    for (const lm::MeasuredToken& each : worst_) {
      const std::size_t first = each.index - std::min(each.index, kTokensBefore);
      const std::span<const lm::TokenId> before(tokens.data() + first, each.index - first);
      details.changed.push_back(
          {each.index, model.detokenize(before), model.token_text(tokens[each.index]),
           model.token_text(each.measures.top), model.token_text(each.measures.reference_top),
           each.measures.loss, each.measures.reference_loss, each.measures.kl});
    }
    return details;
  }

 private:
  static constexpr std::size_t kMaxChanged = 12;
  static constexpr std::size_t kTokensBefore = 12;
  struct Sums {
    std::size_t last = 0;
    lm::Mean loss;
    lm::Mean kl;
  };
  std::vector<Sums> sums_;                ///< by the logarithm of positions
  std::vector<lm::MeasuredToken> worst_;  ///< the largest divergence first
};

void check_files(const TextEvaluationJob& job) {
  FileUses uses;
  uses.read("model", job.model);
  uses.read("reference", job.reference);
  uses.read("tokenizer", job.open.tokenizer);
  for (std::size_t i = 0; i < job.texts.size(); ++i) {
    uses.read("text", job.texts[i]);
    uses.write("state", state_of(job.state, i));
  }
  uses.check();
}

/// The reference, decoded to float32; nothing if there is none.
std::optional<TextModel> open_reference(const std::filesystem::path& path, OpenOptions open) {
  if (path.empty()) return std::nullopt;
  open.float_activations = true;
  open.cache = "float32";
  open.lora.clear();
  open.bits.reset();
  open.device.clear();  // float activations are for the processor
  open.ranks.reset();   // which run one model
  return TextModel::open(path, open);
}

/// What a state was measured with, besides the text.
JobIdentity models_of(const TextEvaluationJob& job) {
  const OpenOptions& open = job.open;
  const bool is_fixed = open.float_order == runtime::FloatOrder::kFixed;
  return {{"model", identity_of(job.model)},
          {"lora", identity_of(open.lora)},
          {"bits", std::to_string(open.bits.value_or(0))},
          {"cache", open.cache},
          {"activations", open.float_activations ? "float" : "8 bits"},
          {"float order", is_fixed ? "fixed" : "fastest"},
          {"reference", identity_of(job.reference)}};
}

}  // namespace

lm::TextEvaluation evaluate_text(TextModel& model, TextModel* reference, std::string_view text,
                                 const TextEvaluationSettings& options) {
  const std::vector<lm::TokenId> tokens = model.tokenize(text);
  if (reference != nullptr && reference->tokenizer().encode(text) != tokens) {
    fail(ErrorKind::kUsage,
         reference->name() + ": expected the tokens that " + model.name() +
             " has for the text, found others: a reference has the same tokenizer",
         Hint::kReference);
  }
  return lm::evaluate_text({.model = model.model(),
                            .reference = reference != nullptr ? &reference->model() : nullptr,
                            .tokens = tokens,
                            .begin = model.tokenizer().begin(),
                            .windows = options.windows,
                            .state = options.state,
                            .identity = options.identity,
                            .progress = options.progress,
                            .visit = options.visit});
}

std::vector<TextFileEvaluation> evaluate_text_files(const TextEvaluationJob& job) {
  if (job.texts.empty()) fail(ErrorKind::kUsage, "expected a text, found none");
  check_files(job);
  std::vector<std::string> texts;
  for (const std::filesystem::path& path : job.texts) texts.push_back(text_in(path));
  OpenOptions open = job.open;
  open.context = job.windows.context;
  TextModel model = TextModel::open(job.model, open);
  std::optional<TextModel> reference = open_reference(job.reference, open);
  const JobIdentity models = models_of(job);
  const auto count = static_cast<double>(texts.size());
  std::vector<TextFileEvaluation> evaluations;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto begin = static_cast<double>(i);
    JobIdentity identity = models;
    identity.push_back({"text", identity_of(job.texts[i])});
    TextDetailsOf details;
    TextEvaluationSettings options{job.windows, state_of(job.state, i), std::move(identity),
                                   part_of(job.progress, begin / count, (begin + 1) / count)};
    if (job.details) {
      options.visit = [&](const lm::MeasuredToken& token) { details.add(token); };
    }
    const auto evaluate = [&] {
      return evaluate_text(model, reference ? &*reference : nullptr, texts[i], options);
    };
    evaluations.push_back(
        {job.texts[i].filename().string(),
         texts.size() == 1 ? evaluate() : with_context(job.texts[i].string(), evaluate),
         {}});
    if (job.details) evaluations.back().details = details.result(model, texts[i]);
  }
  return evaluations;
}

}  // namespace halftone
