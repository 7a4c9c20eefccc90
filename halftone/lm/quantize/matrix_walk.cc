// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/matrix_walk.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/model/tensor_names.h"

namespace halftone::lm {
namespace {

constexpr std::array kFittedRoles = {WeightRole::kTokenEmbedding, WeightRole::kHead,
                                     WeightRole::kQuery,          WeightRole::kKey,
                                     WeightRole::kValue,          WeightRole::kAttentionOutput,
                                     WeightRole::kGate,           WeightRole::kUp,
                                     WeightRole::kDown,           WeightRole::kSharedGate,
                                     WeightRole::kSharedUp,       WeightRole::kSharedDown,
                                     WeightRole::kExpertGate,     WeightRole::kExpertUp,
                                     WeightRole::kExpertDown,     WeightRole::kQueryLatent,
                                     WeightRole::kLatent,         WeightRole::kKeyValue,
                                     WeightRole::kBlockInputGate, WeightRole::kBlockInputOutput,
                                     WeightRole::kMixerInput,     WeightRole::kMixerGate,
                                     WeightRole::kMixerOutput,    WeightRole::kSelection,
                                     WeightRole::kBlockInputTable};

MatrixView<const float> square(const std::vector<float>& values, std::size_t n) {
  return {std::span(values), n, n};
}

constexpr WeightId kFinalTransformId{.role = WeightRole::kFinalTransform};

/// Time in multiplications of the float model: of a fit for each of a matrix's outputs * inputs^2,
/// and of a loss for each multiplication of its token, whose logits need exponentials.
constexpr double kFitWork = 16;
constexpr double kLossWork = 3;
constexpr double kTokensPerLoss = 8;  // see SampleWalk::losses()
constexpr double kLookUpWork = 64;    // of a fit without a metric, in inputs

class MatrixWalker {
 public:
  MatrixWalker(const MatrixWalkJob& job, const WantedMatrix& wanted,
               const std::function<void(const VisitedMatrix&)>& visit)
      : job_(job), wanted_(wanted), visit_(visit) {}

  void run() {
    const Description& d = job_.model.description;
    const std::size_t blocks = needs_head() ? d.blocks : blocks_with_wanted();
    estimate_work(blocks);
    if (blocks > 0 || needs_head()) {
      SampleWalk walk(d, job_.model.weights, job_.samples, job_.threads);
      for (std::size_t block = 0; block < blocks; ++block) {
        report("block " + std::to_string(block + 1) + " of " + std::to_string(d.blocks));
        visit_all(walk.next_block([&](const WeightId& id) { return is_wanted(id); }));
        work_done_ += block_work_[block];
      }
      if (needs_head()) visit_head(walk);
    }
    visit_embedding();
    visit_block_inputs();
  }

 private:
  [[nodiscard]] bool has_final_transform() const {
    return job_.folding.description().has_final_transform && wanted_(kFinalTransformId);
  }
  [[nodiscard]] bool needs_head() const {
    return job_.on_losses || has_final_transform() || is_wanted({.role = WeightRole::kHead});
  }
  /// Blocks up to the last one that has a matrix to visit.
  [[nodiscard]] std::size_t blocks_with_wanted() const {
    std::size_t blocks = 0;
    for (const WeightId& id : matrices_to_fit(job_.model.description)) {
      if (!is_table(id) && wanted_(id)) blocks = std::max(blocks, id.block + 1);
    }
    return blocks;
  }
  /// The matrix that is to be fitted for the one of the model: a tied head is the embedding.
  [[nodiscard]] WeightId fitted_id(const WeightId& id) const {
    const bool is_tied = id.role == WeightRole::kHead && job_.model.description.ties_embeddings;
    return is_tied ? WeightId{.role = WeightRole::kTokenEmbedding} : id;
  }
  [[nodiscard]] bool is_wanted(const WeightId& id) const {
    const WeightId fitted = fitted_id(id);
    return std::ranges::find(kFittedRoles, fitted.role) != kFittedRoles.end() && wanted_(fitted);
  }
  /// Of the float model and of the fit of a matrix.
  [[nodiscard]] double work_of(const WeightId& id) const {
    const Description& d = job_.model.description;
    const Weight& weight = job_.model.weights.at(id);
    const auto elements = static_cast<double>(stack_of(d, id.role) * weight.num_elements());
    const bool is_looked_up = id.role == WeightRole::kBlockInputTable;
    const double inputs = is_looked_up ? kLookUpWork : static_cast<double>(weight.inputs());
    const double fit = wanted_(id) ? kFitWork * inputs : 0;
    return elements * (fit + (is_table(id) ? 0 : num_tokens()));
  }
  [[nodiscard]] double num_tokens() const {
    const Samples& samples = job_.samples;
    return static_cast<double>((samples.fit.size() + samples.held_out.size()) * samples.tokens);
  }
  void estimate_work(std::size_t blocks) {
    const Description& d = job_.model.description;
    block_work_.assign(d.blocks, 0);
    for (const WeightId& id : matrices_to_fit(d)) {
      (is_table(id) ? table_work_ : block_work_[id.block]) += work_of(id);
    }
    if (job_.on_losses) {
      loss_work_ = kLossWork * num_tokens() / kTokensPerLoss * static_cast<double>(d.vocabulary) *
                   static_cast<double>(d.width);
    }
    work_ = table_work_ + loss_work_;
    for (std::size_t block = 0; block < blocks; ++block) work_ += block_work_[block];
  }
  void report(const std::string& activity) const {
    if (job_.progress && work_ > 0) job_.progress(work_done_ / work_, activity);
  }
  void visit_all(std::vector<InputMoments> inputs) const {
    for (InputMoments& input : inputs) visit_readers(std::move(input));
    if (!inputs.empty() && job_.on_block) job_.on_block();
  }
  void visit_head(SampleWalk& walk) {
    report("embedding and head");
    if (has_final_transform() || is_wanted({.role = WeightRole::kHead})) {
      InputMoments head = walk.head();
      if (has_final_transform()) visit_together({kFinalTransformId}, head);
      visit_readers(std::move(head));
    }
    work_done_ += table_work_;
    if (!job_.on_losses) return;
    const double end = work_done_ + loss_work_;
    job_.on_losses(walk.losses(part_of(job_.progress, work_done_ / work_, end / work_)));
    work_done_ = end;
  }
  /// Visits the matrices that read an input.
  void visit_readers(InputMoments input) const {
    std::vector<WeightId> ids;
    for (const WeightId& id : input.matrices) {
      if (is_wanted(id)) ids.push_back(fitted_id(id));
    }
    if (!ids.empty()) visit_together(ids, std::move(input));
  }
  void visit_together(const std::vector<WeightId>& ids, InputMoments input) const {
    const std::size_t n = input.width;
    std::vector<float> judge = input.held_out.empty() ? input.fit : std::move(input.held_out);
    job_.folding.fold_moments(ids[0], 0, judge);
    job_.folding.fold_moments(ids[0], job_.damping.channel, input.fit);
    const auto metric = with_context(name_of(ids[0]), [&] {
      return compress::Metric<float>::of(square(input.fit, n),
                                         {.channel = 0, .uniform = job_.damping.uniform});
    });
    input.fit = {};
    for (const WeightId& id : ids) visit(id, metric, square(judge, n));
  }
  /// Visits the table of an embedding whose rows no head multiplies.
  void visit_embedding() const {
    const WeightId id{.role = WeightRole::kTokenEmbedding};
    if (job_.model.description.ties_embeddings || !wanted_(id)) return;
    const std::size_t n = job_.model.description.width;
    visit(id, compress::Metric<float>::identity(n), {});
  }
  /// Visits the table of the inputs of blocks, which no folding changes, in pieces.
  void visit_block_inputs() const {
    const WeightId id{.role = WeightRole::kBlockInputTable};
    if (job_.model.description.block_input_width == 0 || !wanted_(id)) return;
    report("inputs of blocks");
    const Weight& table = job_.model.weights.at(id);
    const std::size_t cols = table.inputs();
    const std::size_t most = std::max<std::size_t>(1, job_.piece / cols);
    const auto metric = compress::Metric<float>::identity(cols);
    with_context(name_of(id), [&] {
      for (std::size_t first = 0; first < table.outputs(); first += most) {
        std::vector<float> values(std::min(most, table.outputs() - first) * cols);
        table.decode(first, values);
        visit_(
            {id, MatrixView<const float>(values, values.size() / cols, cols), metric, {}, first});
      }
    });
  }
  [[nodiscard]] std::string name_of(const WeightId& id) const {
    return canonical_name(job_.folding.description(), id);
  }
  void visit(const WeightId& id, const compress::Metric<float>& metric,
             MatrixView<const float> moments) const {
    with_context(name_of(id), [&] {
      const std::vector<float> values = folded_matrix(job_.folding, id);
      const std::size_t cols = metric.inputs();
      visit_({id, MatrixView<const float>(values, values.size() / cols, cols), metric, moments, 0});
    });
  }

  const MatrixWalkJob& job_;
  const WantedMatrix& wanted_;
  const std::function<void(const VisitedMatrix&)>& visit_;
  std::vector<double> block_work_;
  double table_work_ = 0;  ///< fits of embedding and head
  double loss_work_ = 0;
  double work_ = 0;
  double work_done_ = 0;
};

}  // namespace

std::vector<WeightId> matrices_to_fit(const Description& description) {
  std::vector<WeightId> ids;
  for (const WeightId& id : needed_weights(description)) {
    const bool is_fitted = std::ranges::find(kFittedRoles, id.role) != kFittedRoles.end();
    if (is_fitted && id.part == Part::kWeight && id.expert == 0) ids.push_back(id);
  }
  return ids;
}

bool is_table(const WeightId& id) {
  return id.role == WeightRole::kTokenEmbedding || id.role == WeightRole::kHead ||
         id.role == WeightRole::kBlockInputTable;
}

std::string canonical_name(const Description& description, const WeightId& id) {
  return places_of(description, Naming::kGguf, id)[0].name;
}

std::vector<float> folded_matrix(const Folding& folding, const WeightId& id) {
  const std::size_t count = stack_of(folding.description(), id.role);
  if (count == 1) return folding.weight(id);
  std::vector<float> all;
  WeightId each = id;
  for (each.expert = 0; each.expert < count; ++each.expert) {
    const std::vector<float> one = folding.weight(each);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void walk_matrices(const MatrixWalkJob& job, const WantedMatrix& wanted,
                   const std::function<void(const VisitedMatrix&)>& visit) {
  MatrixWalker(job, wanted, visit).run();
}

}  // namespace halftone::lm
