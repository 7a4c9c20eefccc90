// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/decode/ranks/rank_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "halftone/spmd/agreement.h"

namespace halftone::lm {
namespace {

/// Numbers that travel with an order; more follow in a message of their own.
constexpr std::size_t kFewNumbers = 61;

/// From the first rank to all, by a binary tree.
void broadcast(spmd::Transport& transport, std::span<std::byte> bytes) {
  const std::size_t rank = transport.rank();
  std::size_t step = 1;
  while (step < transport.num_ranks() && (rank & step) == 0) step *= 2;
  if (rank != 0) {
    const spmd::Parcel<std::byte> parcel{rank - step, bytes};
    transport.exchange({}, {&parcel, 1});
  }
  for (step /= 2; step > 0; step /= 2) {
    if (rank + step >= transport.num_ranks()) continue;
    const spmd::Parcel<const std::byte> parcel{rank + step, bytes};
    transport.exchange({&parcel, 1}, {});
  }
}

/// Forgets all constants, and gives the memory of mapped files back: weights are packed.
void release_constants(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_values(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    if (graph.constant(id) == nullptr) continue;
    ir::release_pages(*graph.constant(id));
    graph.release_constant(id);
  }
}

std::size_t sequences_of(const ir::Graph& body) {
  if (body.states().empty()) return 0;
  return static_cast<std::size_t>(body.value(body.states()[0].before).type.shape[0]);
}

/// Tells the other ranks whether this one is ready.
/// @param error  why it is not
/// @return       false if the first rank has left
/// @throws Error as open_on_ranks()
bool agree_on_model(spmd::Transport& transport, const std::optional<Error>& error) {
  namespace internal = spmd::internal;
  const std::string name = "a language model";
  const std::uint64_t state = error ? 1 + static_cast<std::uint64_t>(error->kind()) : 0;
  const auto headers = internal::all_headers(transport, {internal::hash(name), state, 0});
  if (const auto difference = internal::difference(transport, headers, name)) {
    if (transport.rank() != 0 && headers[0].program != internal::hash(name)) return false;
    fail(ErrorKind::kDevice, *difference);
  }
  const auto is_ready = [](const internal::Header& header) { return header.state == 0; };
  if (std::ranges::all_of(headers, is_ready)) return true;
  const std::string mine = error ? error->what() : "";
  const auto texts = internal::all_bytes(transport, std::as_bytes(std::span(mine)));
  const auto first =
      static_cast<std::size_t>(std::ranges::find_if_not(headers, is_ready) - headers.begin());
  const std::string text(reinterpret_cast<const char*>(texts[first].data()), texts[first].size());
  fail(static_cast<ErrorKind>(headers[first].state - 1),
       first == 0 ? text : "rank " + std::to_string(first) + ": " + text);
}

/// The error that a function throws.
template <typename Body>
std::optional<Error> error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::kMemory, "out of memory");
  }
  return std::nullopt;
}

/// Sums in one order, and weights that plans of several sizes share.
RankOptions of_decoders(RankOptions options) {
  options.execution.float_order = runtime::FloatOrder::kFixed;
  if (options.execution.packed_weights == nullptr) {
    options.execution.packed_weights = std::make_shared<runtime::PackedWeights>();
  }
  return options;
}

}  // namespace

struct RankRows::Order {
  Work work = Work::kEnd;
  std::int32_t is_companion = 0;  ///< whose work it is
  std::int32_t count = 0;
  std::array<std::int32_t, kFewNumbers + 1> numbers{};
};

RankRows::RankRows(const DecoderGraphs& graphs, std::shared_ptr<spmd::Transport> transport,
                   const RankOptions& options)
    : transport_(std::move(transport)),
      options_(options),
      sequences_(sequences_of(graphs.body)),
      body_(graphs.body, options.min_rows, *transport_, options.threads, options.execution),
      head_(graphs.head, options.min_rows, *transport_, options.threads, options.execution) {}

RankRows::~RankRows() {
  if (!leads_) return;
  try {
    tell(Work::kEnd, {});
  } catch (const std::exception& error) {
    transport_->end_all_ranks(error.what());
  }
}

template <typename Body>
void RankRows::together(const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    transport_->end_all_ranks(error.what());
    throw;
  }
}

void RankRows::tell(Work work, std::span<const std::int32_t> numbers) {
  Order order{work, is_companion_ ? 1 : 0, static_cast<std::int32_t>(numbers.size()), {}};
  std::ranges::copy(numbers.first(std::min(numbers.size(), kFewNumbers)), order.numbers.begin());
  broadcast(*transport_, std::as_writable_bytes(std::span(&order, 1)));
  if (numbers.size() <= kFewNumbers) return;
  std::vector<std::int32_t> all(numbers.begin(), numbers.end());
  broadcast(*transport_, std::as_writable_bytes(std::span(all)));
}

void RankRows::follow() {
  together([&] {
    for (;;) {
      Order order;
      broadcast(*transport_, std::as_writable_bytes(std::span(&order, 1)));
      const auto count = static_cast<std::size_t>(order.count);
      std::vector<std::int32_t> numbers(order.numbers.begin(), order.numbers.end());
      numbers.resize(count);
      if (count > kFewNumbers) broadcast(*transport_, std::as_writable_bytes(std::span(numbers)));
      if (order.work == Work::kEnd) return;
      RankRows& rows = order.is_companion == 0 ? *this : *companion_;
      rows.work(order.work, numbers);
    }
  });
}

RankModel RankRows::open_companion() {
  const std::scoped_lock lock(*turn_);
  together([&] { tell(Work::kCompanion, {}); });
  RankModel model = *open_on_ranks(transport_, make_companion_, options_);
  model.rows->leads_ = false;  // it lets no one go
  model.rows->is_companion_ = true;
  model.rows->turn_ = turn_;
  return model;
}

void RankRows::follow_companion() {
  try {
    companion_ = std::move(open_on_ranks(transport_, make_companion_, options_)->rows);
  } catch (const Error&) {
    companion_.reset();  // the first rank reports why
  }
}

template <typename Body>
void RankRows::on_all(Work work, std::span<const std::int32_t> numbers, const Body& body) {
  const std::scoped_lock lock(*turn_);
  together([&] {
    tell(work, numbers);
    body();
  });
}

void RankRows::work(Work work, std::span<const std::int32_t> numbers) {
  if (work == Work::kBody) body(numbers);
  if (work == Work::kHead) head(numbers);
  if (work == Work::kCopy) copy(numbers);
  if (work == Work::kCompanion) follow_companion();
}

void RankRows::run_body(std::span<const DecoderRow> rows) {
  std::vector<std::int32_t> numbers;
  for (const DecoderRow& row : rows) {
    numbers.insert(numbers.end(), {row.token, static_cast<std::int32_t>(row.sequence),
                                   static_cast<std::int32_t>(row.position)});
  }
  on_all(Work::kBody, numbers, [&] { body(numbers); });
}

void RankRows::body(std::span<const std::int32_t> numbers) {
  constexpr std::size_t kInputs = 3;  // ids, slots and positions
  const std::size_t rows = numbers.size() / kInputs;
  for (std::size_t input = 0; input < kInputs; ++input) {
    const std::span<std::byte> bytes = body_.input(input, rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::int32_t number = numbers[row * kInputs + input];
      std::memcpy(bytes.data() + row * sizeof(number), &number, sizeof(number));
    }
  }
  for (std::size_t row = 0; row < rows; ++row) {
    body_.prepare_rows({.sequence = static_cast<std::size_t>(numbers[row * kInputs + 1]),
                        .first = static_cast<std::size_t>(numbers[row * kInputs + 2]),
                        .count = 1});
  }
  body_.run(rows);
}

void RankRows::run_head(std::size_t rows, std::span<const std::size_t> wanted,
                        std::span<float> logits) {
  std::vector<std::int32_t> numbers = {static_cast<std::int32_t>(rows)};
  for (const std::size_t row : wanted) numbers.push_back(static_cast<std::int32_t>(row));
  on_all(Work::kHead, numbers, [&] { head(numbers); });
  std::memcpy(logits.data(), head_.output(wanted.size()).data(), logits.size_bytes());
}

void RankRows::head(std::span<const std::int32_t> numbers) {
  const auto rows = static_cast<std::size_t>(numbers[0]);
  const std::span<const std::int32_t> wanted = numbers.subspan(1);
  const std::span<const std::byte> hidden = body_.output(rows);
  const std::span<std::byte> input = head_.input(0, wanted.size());
  const std::size_t width = hidden.size() / rows;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::ranges::copy(hidden.subspan(static_cast<std::size_t>(wanted[i]) * width, width),
                      input.subspan(i * width).begin());
  }
  head_.run(wanted.size());
}

bool RankRows::copy_front(std::size_t from, std::size_t to, std::size_t length) {
  const std::array numbers = {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to),
                              static_cast<std::int32_t>(length)};
  on_all(Work::kCopy, numbers, [&] { copy(numbers); });
  return true;
}

void RankRows::copy(std::span<const std::int32_t> numbers) {
  const auto at = [&](std::size_t i) { return static_cast<std::size_t>(numbers[i]); };
  body_.copy_front({at(0), at(1), sequences_, at(2)});
}

std::optional<RankModel> open_on_ranks(const std::shared_ptr<spmd::Transport>& transport,
                                       const std::function<DecoderGraphs()>& make,
                                       const RankOptions& options) {
  RankModel model;
  const std::optional<Error> error = error_of([&] {
    model.graphs = make();
    model.rows = std::make_unique<RankRows>(model.graphs, transport, of_decoders(options));
    release_constants(model.graphs.body);
    release_constants(model.graphs.head);
  });
  if (!agree_on_model(*transport, error)) return std::nullopt;
  if (transport->rank() == 0) model.rows->lead();
  return model;
}

}  // namespace halftone::lm
