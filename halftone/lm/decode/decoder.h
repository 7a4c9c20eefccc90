// SPDX-License-Identifier: Apache-2.0
// Runs a language model token by token.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/lm/decode/row.h"
#include "halftone/lm/decode/row_runner.h"
#include "halftone/lm/generate/token_model.h"
#include "halftone/lm/model/decoder_graphs.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::lm {

struct DecoderOptions {
  int threads = 1;
  std::size_t rows = 256;  ///< most tokens of one run; a power of two
  runtime::ExecutionOptions execution{};
  std::string device{};  ///< as gpu::open_device() takes it; empty: the processor
};

/// A model with the states of its sequences. Logits depend on the tokens of their sequence alone:
/// not on how these were divided into runs, nor on other sequences, threads, the processor or the
/// device, bit for bit. One thread at a time may use it.
class Decoder final : public TokenModel {
 public:
  /// @param runner  runs the graphs, whose constants are not needed then; null: this does
  /// @throws Error kFormat or kShape if the graphs are not those of a decoder; kUnsupported if
  ///         there is not enough memory; as runtime::make_plan(); as DeviceRows
  Decoder(DecoderGraphs graphs, const DecoderOptions& options,
          std::unique_ptr<RowRunner> runner = nullptr);
  ~Decoder() override;

  [[nodiscard]] std::size_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::size_t context() const override { return context_; }
  [[nodiscard]] std::size_t sequences() const override { return tokens_.size(); }
  [[nodiscard]] std::span<const TokenId> tokens(std::size_t sequence) const override {
    return tokens_.at(sequence);
  }

  std::vector<float> append(std::size_t sequence, std::span<const TokenId> tokens,
                            bool all_logits) override;
  /// In one run, or as many as options.rows ask for.
  std::vector<float> append_each(std::span<const SequencePart> parts) override;
  void truncate(std::size_t sequence, std::size_t length) override;
  [[nodiscard]] bool truncates_freely() const override { return keeps_all(); }
  /// Not on a device; of recurrent models whole sequences only.
  bool copy_front(std::size_t from, std::size_t to, std::size_t length) override;
  [[nodiscard]] std::size_t shared_bytes() const override;
  [[nodiscard]] std::size_t bytes_per_token(std::size_t length) const override;
  std::vector<TimedStep> time_steps(std::size_t sequence, std::span<const TokenId> tokens) override;
  [[nodiscard]] std::optional<RankCosts> costs_on_ranks(std::size_t ranks) const override;

  /// Memory of the states of all sequences.
  [[nodiscard]] std::size_t state_bytes() const;

 private:
  void check_room(std::size_t sequence, std::size_t count) const;
  /// @throws Error kUsage if a sequence is shorter
  void check_length(std::size_t sequence, std::size_t length) const;
  /// The rows of some parts. @throws Error as append_each()
  [[nodiscard]] std::vector<DecoderRow> rows_of(std::span<const SequencePart> parts) const;
  void check_token(TokenId token) const;
  /// Whether states keep a row for each token, so that truncated ones do no harm.
  [[nodiscard]] bool keeps_all() const;
  /// Computes the states of a sequence anew if they hold truncated tokens.
  void restore(std::size_t sequence);
  /// Gives the tokens of rows memory that no other sequence shares. Rows of a sequence follow each
  /// other.
  void prepare_states(std::span<const DecoderRow> rows);
  /// Runs the body on rows, as many at a time as plans have.
  /// @param logits  of those that are wanted, in their order
  void run(std::span<const DecoderRow> rows, std::span<float> logits);
  void run_body(std::span<const DecoderRow> rows);
  /// @param rows    of the last run of the body
  /// @param logits  in front those of its wanted rows
  /// @return        the rest
  std::span<float> run_head(std::span<const DecoderRow> rows, std::span<float> logits);
  /// @param wanted  indices of rows, at most kMaxHeadRows
  void run_head_of(std::size_t rows, std::span<const std::size_t> wanted, std::span<float> logits);
  /// Measures the steps of a session from now on, in seconds by step; the result outlives it.
  std::shared_ptr<std::vector<std::vector<double>>> timed(runtime::Session& session);
  runtime::Session& body_of(std::size_t rows);
  runtime::Session& head_of(std::size_t rows);

  DecoderGraphs graphs_;
  DecoderOptions options_;
  std::size_t vocabulary_ = 0;
  std::size_t context_ = 0;
  std::vector<std::vector<TokenId>> tokens_;  ///< by sequence
  std::shared_ptr<runtime::StateMemory> states_;
  /// By sequence: whether states hold tokens that were truncated, or of a run that ended early.
  /// Those of attention may, others are computed anew.
  std::vector<bool> is_stale_;
  std::vector<bool> has_rows_;  ///< by state: a row for each token, as attention reads them
  std::map<std::size_t, std::unique_ptr<runtime::Session>> bodies_;  ///< by rows
  std::map<std::size_t, std::unique_ptr<runtime::Session>> heads_;   ///< by rows
  std::unique_ptr<RowRunner> runner_;  ///< which runs in place of sessions; null: none
};

}  // namespace halftone::lm
