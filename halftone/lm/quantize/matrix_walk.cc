// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/matrix_walk.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/model/tensor_names.h"
#include "halftone/lm/quantize/sample_walk.h"

namespace halftone::lm {
namespace {

constexpr std::array kFittedRoles = {WeightRole::kTokenEmbedding, WeightRole::kHead,
                                     WeightRole::kQuery,          WeightRole::kKey,
                                     WeightRole::kValue,          WeightRole::kAttentionOutput,
                                     WeightRole::kGate,           WeightRole::kUp,
                                     WeightRole::kDown,           WeightRole::kSharedGate,
                                     WeightRole::kSharedUp,       WeightRole::kSharedDown,
                                     WeightRole::kExpertGate,     WeightRole::kExpertUp,
                                     WeightRole::kExpertDown};

MatrixView<const float> square(const std::vector<float>& values, std::size_t n) {
  return {std::span(values), n, n};
}

class MatrixWalker {
 public:
  MatrixWalker(const MatrixWalkJob& job, const std::function<bool(const WeightId&)>& wanted,
               const std::function<void(const VisitedMatrix&)>& visit)
      : job_(job),
        wanted_(wanted),
        visit_(visit),
        walk_(job.model.description, job.model.weights, job.samples, job.threads) {}

  void run() {
    const std::size_t blocks = job_.model.description.blocks;
    for (std::size_t block = 0; block < blocks; ++block) {
      report(block, "block " + std::to_string(block + 1) + " of " + std::to_string(blocks));
      for (InputMoments& input : walk_.next_block()) visit_readers(std::move(input));
    }
    report(blocks, "embedding and head");
    InputMoments head = walk_.head();
    if (job_.folding.description().has_final_transform) {
      visit_together({{.role = WeightRole::kFinalTransform}}, head);
    }
    visit_readers(std::move(head));
    visit_embedding();
  }

 private:
  void report(std::size_t block, const std::string& activity) const {
    if (!job_.progress) return;
    const std::size_t steps = job_.model.description.blocks + 1;
    job_.progress(static_cast<double>(block) / static_cast<double>(steps), activity);
  }
  /// Visits the matrices that read an input.
  void visit_readers(InputMoments input) const {
    std::vector<WeightId> ids;
    for (WeightId id : input.matrices) {
      if (id.role == WeightRole::kHead && job_.model.description.ties_embeddings) {
        id = {.role = WeightRole::kTokenEmbedding};
      }
      const bool is_fitted = std::ranges::find(kFittedRoles, id.role) != kFittedRoles.end();
      if (is_fitted && wanted_(id)) ids.push_back(id);
    }
    if (!ids.empty()) visit_together(ids, std::move(input));
  }
  void visit_together(const std::vector<WeightId>& ids, InputMoments input) const {
    const std::size_t n = input.width;
    std::vector<float> judge = input.held_out.empty() ? input.fit : std::move(input.held_out);
    job_.folding.fold_moments(ids[0], 0, judge);
    job_.folding.fold_moments(ids[0], job_.damping.channel, input.fit);
    const auto metric = with_context(name_of(ids[0]), [&] {
      return compress::GroupMetric::of(square(input.fit, n),
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
    std::vector<float> identity(n * n);
    for (std::size_t i = 0; i < n; ++i) identity[i * n + i] = 1;
    visit(id, compress::GroupMetric::identity(n), square(identity, n));
  }
  [[nodiscard]] std::string name_of(const WeightId& id) const {
    return canonical_name(job_.folding.description(), id);
  }
  void visit(const WeightId& id, const compress::GroupMetric& metric,
             MatrixView<const float> moments) const {
    with_context(name_of(id), [&] {
      const std::vector<float> values = folded_matrix(job_.folding, id);
      const std::size_t cols = moments.cols();
      visit_({id, MatrixView<const float>(values, values.size() / cols, cols), metric, moments});
    });
  }

  const MatrixWalkJob& job_;
  const std::function<bool(const WeightId&)>& wanted_;
  const std::function<void(const VisitedMatrix&)>& visit_;
  SampleWalk walk_;
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
  return id.role == WeightRole::kTokenEmbedding || id.role == WeightRole::kHead;
}

std::string canonical_name(const Description& description, const WeightId& id) {
  return places_of(description, Naming::kGguf, id)[0].name;
}

std::vector<float> folded_matrix(const Folding& folding, const WeightId& id) {
  if (id.role < WeightRole::kExpertGate) return folding.weight(id);
  std::vector<float> all;
  WeightId expert = id;
  for (expert.expert = 0; expert.expert < folding.description().experts; ++expert.expert) {
    const std::vector<float> one = folding.weight(expert);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void walk_matrices(const MatrixWalkJob& job, const std::function<bool(const WeightId&)>& wanted,
                   const std::function<void(const VisitedMatrix&)>& visit) {
  MatrixWalker(job, wanted, visit).run();
}

}  // namespace halftone::lm
