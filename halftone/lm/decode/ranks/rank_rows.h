// SPDX-License-Identifier: Apache-2.0
// Runs the graphs of a language model on the ranks of spmd: the first says what, all compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/decode/ranks/staged_graph.h"
#include "halftone/lm/decode/row_runner.h"
#include "halftone/lm/model/decoder_graphs.h"
#include "halftone/spmd/transport.hpp"

namespace halftone::lm {

struct RankModel;

struct RankOptions {
  int threads = 1;
  std::size_t min_rows = DivideOptions().min_rows;
  runtime::ExecutionOptions execution{};
};

/// The weights and states of a decoder that are this rank's. The first rank calls the functions of
/// a RowRunner, which others do too as they follow it. A failure in one of these ends all ranks:
/// the others would wait for it.
class RankRows final : public RowRunner {
 public:
  /// @param graphs  not needed afterwards
  /// @throws Error as runtime::make_plan()
  RankRows(const DecoderGraphs& graphs, std::shared_ptr<spmd::Transport> transport,
           const RankOptions& options);
  /// Lets the others go if it leads them.
  ~RankRows() override;
  /// On the first rank, before all other functions: the others follow now.
  void lead() { leads_ = true; }

  /// On all ranks: how another model is made that the same followers run beside this one.
  void set_companion(std::function<DecoderGraphs()> make) { make_companion_ = std::move(make); }
  /// On the first rank: that model. It must not outlive this; any thread may use either.
  /// @throws Error as open_on_ranks(); this one goes on
  RankModel open_companion();

  void run_body(std::span<const DecoderRow> rows) override;
  void run_head(std::size_t rows, std::span<const std::size_t> wanted,
                std::span<float> logits) override;
  [[nodiscard]] std::size_t state_bytes() const override { return body_.state_bytes(); }
  bool copy_front(std::size_t from, std::size_t to, std::size_t length) override;

  /// On other ranks than the first: does what that one does, until it lets them go.
  void follow();

 private:
  enum class Work : std::int32_t { kEnd, kBody, kHead, kCopy, kCompanion };
  /// The start of a message, in one piece: the work and the first of its numbers.
  struct Order;
  /// Tells the others what comes.
  void tell(Work work, std::span<const std::int32_t> numbers);
  void work(Work work, std::span<const std::int32_t> numbers);
  void body(std::span<const std::int32_t> numbers);
  void head(std::span<const std::int32_t> numbers);
  void copy(std::span<const std::int32_t> numbers);
  void follow_companion();
  /// Does the same on all ranks, one thing at a time.
  template <typename Body>
  void on_all(Work work, std::span<const std::int32_t> numbers, const Body& body);
  /// Does something that ends all ranks if it fails.
  template <typename Body>
  void together(const Body& body);

  std::shared_ptr<spmd::Transport> transport_;  // shared with the program's devices
  RankOptions options_;
  bool leads_ = false;
  bool is_companion_ = false;
  std::function<DecoderGraphs()> make_companion_;
  std::unique_ptr<RankRows> companion_;  ///< on other ranks than the first
  std::shared_ptr<std::mutex> turn_ = std::make_shared<std::mutex>();  // shared with a companion
  std::size_t sequences_;
  StagedGraph body_;
  StagedGraph head_;
};

/// A model on this rank.
struct RankModel {
  DecoderGraphs graphs;  ///< without constants
  std::unique_ptr<RankRows> rows;
};

/// Opens a model on all ranks.
/// @param make  gives its graphs; all ranks fail if it does on one
/// @return      nothing if the first rank has left, which then has reported why; there the rows
///              lead, others follow()
/// @throws Error as the first rank whose make() or RankRows() failed; kDevice if ranks do not run
///         the same
std::optional<RankModel> open_on_ranks(const std::shared_ptr<spmd::Transport>& transport,
                                       const std::function<DecoderGraphs()>& make,
                                       const RankOptions& options);

}  // namespace halftone::lm
