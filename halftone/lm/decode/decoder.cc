// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/decode/decoder.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/decode/device_rows.h"
#include "halftone/lm/decode/ranks/costs.h"
#include "halftone/runtime/execution_options.h"

namespace halftone::lm {
namespace {

constexpr std::size_t kNumInputs = 3;

/// Whether a state has a row for each token: [sequences, context, width].
bool has_rows(const ir::Graph& body, const ir::State& state) {
  const auto producer = body.producer(state.after);
  return producer && std::holds_alternative<ir::AppendRows>(body.node(*producer).op);
}

/// The type of the first state of a body that has a row for each token.
const ir::Shape& state_shape(const ir::Graph& body) {
  const auto found = std::ranges::find_if(
      body.states(), [&](const ir::State& state) { return has_rows(body, state); });
  if (found == body.states().end()) fail(ErrorKind::kFormat, "a decoder without states of tokens");
  return body.value(found->before).type.shape;
}

std::size_t last_extent(const ir::Graph& graph) {
  return static_cast<std::size_t>(graph.value(graph.outputs()[0]).type.shape.back());
}

constexpr std::size_t kMaxHeadRows = 64;  // logits are wide

}  // namespace

Decoder::Decoder(DecoderGraphs graphs, const DecoderOptions& options,
                 std::unique_ptr<RowRunner> runner)
    : graphs_(std::move(graphs)), options_(options), runner_(std::move(runner)) {
  if (!std::has_single_bit(options.rows)) {
    fail(ErrorKind::kUsage,
         "rows of a run: expected a power of two, found " + std::to_string(options.rows));
  }
  const ir::Shape& state = state_shape(graphs_.body);
  context_ = static_cast<std::size_t>(state[1]);
  vocabulary_ = last_extent(graphs_.head);
  tokens_.resize(static_cast<std::size_t>(state[0]));
  for (std::vector<TokenId>& tokens : tokens_) tokens.reserve(context_);
  is_stale_.resize(tokens_.size());
  const std::size_t inputs = graphs_.body.untied(graphs_.body.inputs()).size();
  if (inputs != kNumInputs) {
    fail(ErrorKind::kFormat,
         "inputs of a decoder: expected ids, slots and positions, found " + std::to_string(inputs));
  }
  for (const ir::State& each : graphs_.body.states()) {
    has_rows_.push_back(has_rows(graphs_.body, each));
  }
  if (runner_ == nullptr && !options_.device.empty()) {
    runner_ = std::make_unique<DeviceRows>(graphs_, options_);
  }
  if (runner_ != nullptr) return;
  options_.execution.float_order = runtime::FloatOrder::kFixed;
  if (options_.execution.packed_weights == nullptr) {
    options_.execution.packed_weights = std::make_shared<runtime::PackedWeights>();
  }
  body_of(1);
}

Decoder::~Decoder() = default;

std::size_t Decoder::state_bytes() const {
  return runner_ != nullptr ? runner_->state_bytes() : states_->size_bytes();
}

runtime::Session& Decoder::body_of(std::size_t rows) {
  std::unique_ptr<runtime::Session>& session = bodies_[rows];
  if (session == nullptr) {
    auto plan = runtime::make_plan(graphs_.body, {rows, options_.threads, options_.execution});
    session = std::make_unique<runtime::Session>(std::move(plan), states_);
    if (states_ == nullptr) states_ = session->states();
  }
  return *session;
}

runtime::Session& Decoder::head_of(std::size_t rows) {
  std::unique_ptr<runtime::Session>& session = heads_[rows];
  if (session == nullptr) {
    session = std::make_unique<runtime::Session>(
        runtime::make_plan(graphs_.head, {rows, options_.threads, options_.execution}));
  }
  return *session;
}

void Decoder::check_room(std::size_t sequence, std::size_t count) const {
  if (sequence >= tokens_.size()) {
    fail(ErrorKind::kUsage, "sequence: expected 0 to " + std::to_string(tokens_.size() - 1) +
                                ", found " + std::to_string(sequence));
  }
  const std::size_t length = tokens_[sequence].size();
  if (count <= context_ - length) return;
  fail(ErrorKind::kUnsupported, "the context is full: it has room for " + std::to_string(context_) +
                                    " tokens, " + std::to_string(length) + " are there and " +
                                    std::to_string(count) +
                                    " follow; make it longer or begin anew");
}

std::vector<float> Decoder::append(std::size_t sequence, std::span<const TokenId> tokens,
                                   bool all_logits) {
  const SequencePart part{sequence, tokens, all_logits ? WantedLogits::kAll : WantedLogits::kLast};
  return append_each({&part, 1});
}

std::vector<DecoderRow> Decoder::rows_of(std::span<const SequencePart> parts) const {
  std::set<std::size_t> seen;
  std::vector<DecoderRow> rows;
  for (const SequencePart& part : parts) {
    if (part.tokens.empty()) fail(ErrorKind::kUsage, "expected at least one token, found none");
    check_room(part.sequence, part.tokens.size());
    for (const TokenId token : part.tokens) check_token(token);
    if (!seen.insert(part.sequence).second) {
      fail(ErrorKind::kUsage, "sequence " + std::to_string(part.sequence) + " is named twice");
    }
    std::size_t position = tokens_[part.sequence].size();
    for (const TokenId token : part.tokens) {
      rows.push_back({token, part.sequence, position++, part.wanted == WantedLogits::kAll});
    }
    if (part.wanted == WantedLogits::kLast) rows.back().is_wanted = true;
  }
  return rows;
}

std::vector<float> Decoder::append_each(std::span<const SequencePart> parts) {
  const std::vector<DecoderRow> rows = rows_of(parts);
  for (const SequencePart& part : parts) restore(part.sequence);
  const auto wanted = static_cast<std::size_t>(std::ranges::count_if(rows, &DecoderRow::is_wanted));
  std::vector<float> logits(wanted * vocabulary_);
  for (const SequencePart& part : parts) is_stale_[part.sequence] = !keeps_all();  // if it ends
  run(rows, logits);
  for (const SequencePart& part : parts) {
    is_stale_[part.sequence] = false;
    std::vector<TokenId>& tokens = tokens_[part.sequence];
    tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
  }
  return logits;
}

void Decoder::check_length(std::size_t sequence, std::size_t length) const {
  check_room(sequence, 0);
  if (length <= tokens_[sequence].size()) return;
  fail(ErrorKind::kUsage, "length: expected at most the " +
                              std::to_string(tokens_[sequence].size()) +
                              " tokens of the sequence, found " + std::to_string(length));
}

void Decoder::truncate(std::size_t sequence, std::size_t length) {
  check_length(sequence, length);
  const bool is_shorter = length < tokens_[sequence].size();
  tokens_[sequence].resize(length);
  if (is_shorter && !keeps_all()) is_stale_[sequence] = true;
}

bool Decoder::copy_front(std::size_t from, std::size_t to, std::size_t length) {
  check_length(from, length);
  check_room(to, 0);
  const bool is_whole = length == tokens_[from].size() && !is_stale_[from];
  if (!keeps_all() && !is_whole) return false;
  if (runner_ != nullptr) {
    if (!runner_->copy_front(from, to, length)) return false;
  } else {
    tokens_[to].clear();  // if it fails
    states_->copy_front({from, to, tokens_.size(), length});
  }
  tokens_[to].assign(tokens_[from].begin(),
                     tokens_[from].begin() + static_cast<std::ptrdiff_t>(length));
  is_stale_[to] = false;
  return true;
}

bool Decoder::keeps_all() const {
  return std::ranges::all_of(has_rows_, [](bool has) { return has; });
}

void Decoder::restore(std::size_t sequence) {
  if (!is_stale_[sequence]) return;
  std::vector<DecoderRow> rows;
  for (const TokenId token : tokens_[sequence]) rows.push_back({token, sequence, rows.size()});
  run(rows, {});
  is_stale_[sequence] = false;
}

std::size_t Decoder::shared_bytes() const {
  return states_ == nullptr ? 0 : states_->shared_bytes();
}

void Decoder::prepare_states(std::span<const DecoderRow> rows) {
  if (shared_bytes() == 0) return;
  while (!rows.empty()) {
    const DecoderRow& first = rows.front();
    std::size_t count = 1;
    while (count < rows.size() && rows[count].sequence == first.sequence) ++count;
    states_->prepare_rows({first.sequence, first.position, count});
    rows = rows.subspan(count);
  }
}

std::size_t Decoder::bytes_per_token(std::size_t length) const {
  if (runner_ != nullptr) return 0;  // those of this process alone
  std::size_t bytes = bodies_.at(1)->plan().weight_bytes_of_run();
  const auto head = heads_.find(1);
  if (head != heads_.end()) bytes += head->second->plan().weight_bytes_of_run();
  for (std::size_t i = 0; i < has_rows_.size(); ++i) {
    const std::size_t state = states_->state(i).size() / tokens_.size();
    bytes += has_rows_[i] ? state / context_ * length : state;
  }
  return bytes;
}

std::shared_ptr<std::vector<std::vector<double>>> Decoder::timed(runtime::Session& session) {
  auto seconds = std::make_shared<std::vector<std::vector<double>>>(session.plan().steps().size());
  session.add_observer([seconds](const runtime::StepEvent& event) {
    (*seconds)[event.step].push_back(
        std::chrono::duration<double>(event.stop - event.start).count());
  });
  return seconds;
}

std::vector<TimedStep> Decoder::time_steps(std::size_t sequence, std::span<const TokenId> tokens) {
  std::vector<TimedStep> steps;
  if (runner_ != nullptr) return steps;  // those of this process alone
  const std::vector<runtime::Session*> sessions{&body_of(1), &head_of(1)};
  std::vector<std::shared_ptr<std::vector<std::vector<double>>>> seconds;
  for (runtime::Session* session : sessions) seconds.push_back(timed(*session));
  for (const TokenId& token : tokens) (void)append(sequence, std::span(&token, 1), false);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    for (std::size_t step = 0; step < seconds[i]->size(); ++step) {
      std::vector<double>& times = (*seconds[i])[step];
      if (times.empty()) continue;
      const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
      std::ranges::nth_element(times, middle);
      steps.push_back({sessions[i]->plan().steps()[step].name, *middle});
    }
  }
  // Sessions with observers read the clock: later runs do without.
  bodies_.erase(1);
  heads_.erase(1);
  (void)body_of(1);  // the one that bytes_per_token() reads
  return steps;
}

std::optional<RankCosts> Decoder::costs_on_ranks(std::size_t ranks) const {
  if (runner_ != nullptr) return std::nullopt;  // this process has only a part
  return lm::costs_on_ranks(graphs_, ranks);
}

void Decoder::check_token(TokenId token) const {
  if (token >= 0 && static_cast<std::size_t>(token) < vocabulary_) return;
  fail(ErrorKind::kUsage, "token: expected 0 to " + std::to_string(vocabulary_ - 1) + ", found " +
                              std::to_string(token));
}

void Decoder::run(std::span<const DecoderRow> rows, std::span<float> logits) {
  prepare_states(rows);
  while (!rows.empty()) {
    const std::size_t count = next_run(rows.size(), options_.rows);
    run_body(rows.first(count));
    logits = run_head(rows.first(count), logits);
    rows = rows.subspan(count);
  }
}

void Decoder::run_body(std::span<const DecoderRow> rows) {
  if (runner_ != nullptr) return runner_->run_body(rows);
  runtime::Session& body = body_of(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    body.input_as<std::int32_t>(0)[i] = rows[i].token;
    body.input_as<std::int32_t>(1)[i] = static_cast<std::int32_t>(rows[i].sequence);
    body.input_as<std::int32_t>(2)[i] = static_cast<std::int32_t>(rows[i].position);
  }
  body.run();
}

std::span<float> Decoder::run_head(std::span<const DecoderRow> rows, std::span<float> logits) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_wanted) all.push_back(i);
  }
  for (std::span<const std::size_t> wanted = all; !wanted.empty();) {
    const std::size_t count = next_run(wanted.size(), kMaxHeadRows);
    run_head_of(rows.size(), wanted.first(count), logits.first(count * vocabulary_));
    logits = logits.subspan(count * vocabulary_);
    wanted = wanted.subspan(count);
  }
  return logits;
}

void Decoder::run_head_of(std::size_t rows, std::span<const std::size_t> wanted,
                          std::span<float> logits) {
  if (runner_ != nullptr) return runner_->run_head(rows, wanted, logits);
  const runtime::ValueView hidden = body_of(rows).output(0);
  const auto width = static_cast<std::size_t>(hidden.type.shape.back()) * sizeof(float);
  runtime::Session& head = head_of(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::ranges::copy(hidden.bytes.subspan(wanted[i] * width, width),
                      head.input(0).subspan(i * width, width).begin());
  }
  head.run();
  std::copy_n(reinterpret_cast<const float*>(head.output(0).bytes.data()), logits.size(),
              logits.begin());
}

}  // namespace halftone::lm
