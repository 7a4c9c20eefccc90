// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/rounds.h"

#include <algorithm>
#include <map>

#include "halftone/base/byte_reader.h"
#include "halftone/spmd/agreement.h"

namespace halftone::spmd::internal {
namespace {

enum State : std::uint64_t { kEnded, kReady, kWaiting, kFailed };

class ByteWriter {
 public:
  void number(std::uint64_t value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
  }
  void text(std::string_view value) {
    number(value.size());
    const auto raw = std::as_bytes(std::span(value));
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
  }
  void texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) text(value);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

std::string read_text(ByteReader& reader) {
  const auto bytes = reader.take(reader.little_endian<std::uint64_t>());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> read_texts(ByteReader& reader) {
  std::vector<std::string> texts(reader.little_endian<std::uint64_t>());
  for (std::string& text : texts) text = read_text(reader);
  return texts;
}

/// The full state of a rank, for rounds that the headers do not decide.
struct Report {
  std::optional<Failure> failure;
  std::vector<OpenCall> calls;
};

ByteWriter written(const Report& report) {
  ByteWriter out;
  out.number(report.failure ? 1 : 0);
  if (report.failure) {
    out.number(report.failure->path.size());
    for (const std::size_t index : report.failure->path) out.number(index);
    out.number(static_cast<std::uint64_t>(report.failure->kind));
    out.text(report.failure->message);
    out.number(static_cast<std::uint64_t>(report.failure->hint));
  }
  out.number(report.calls.size());
  for (const OpenCall& call : report.calls) {
    out.text(call.key);
    out.text(call.text);
    out.texts(call.waiting);
    out.texts(call.missing);
  }
  return out;
}

Report read_report(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  Report report;
  if (in.little_endian<std::uint64_t>() != 0) {
    Failure failure;
    failure.path.resize(in.little_endian<std::uint64_t>());
    for (std::size_t& index : failure.path) index = in.little_endian<std::uint64_t>();
    failure.kind = static_cast<ErrorKind>(in.little_endian<std::uint64_t>());
    failure.message = read_text(in);
    failure.hint = static_cast<Hint>(in.little_endian<std::uint64_t>());
    report.failure = std::move(failure);
  }
  report.calls.resize(in.little_endian<std::uint64_t>());
  for (OpenCall& call : report.calls) {
    call.key = read_text(in);
    call.text = read_text(in);
    call.waiting = read_texts(in);
    call.missing = read_texts(in);
  }
  return report;
}

/// Orders errors of lanes by their path; failures of no single lane come last.
bool goes_before(const Failure& a, const Failure& b) {
  if (a.path.empty() || b.path.empty()) return !a.path.empty() && b.path.empty();
  return a.path < b.path;
}

/// The calls of all ranks; calls with the same key and text are merged.
std::vector<OpenCall> merged(const std::vector<Report>& reports) {
  std::map<std::string, OpenCall> calls;
  for (const Report& report : reports) {
    for (const OpenCall& call : report.calls) {
      const auto [at, is_new] = calls.try_emplace(call.key + call.text, call);
      OpenCall& all = at->second;
      if (is_new) continue;
      for (const std::string& lane : call.waiting) {
        if (std::erase(all.missing, lane) != 0) all.waiting.push_back(lane);
      }
    }
  }
  std::vector<OpenCall> result;
  for (auto& [key, call] : calls) result.push_back(std::move(call));
  return result;
}

std::string full_key(const Meeting& meeting) {
  return meeting.address.key() + meeting.request.to_string();
}

/// The meetings that span ranks with their keys, sorted by key.
std::vector<std::pair<std::string, std::shared_ptr<Meeting>>> shared_meetings(
    const std::vector<std::shared_ptr<Meeting>>& open) {
  std::vector<std::pair<std::string, std::shared_ptr<Meeting>>> result;
  for (const std::shared_ptr<Meeting>& meeting : open) {
    if (meeting->spans_ranks()) result.emplace_back(full_key(*meeting), meeting);
  }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return result;
}

/// Whether all lanes of this rank that belong to a meeting have arrived.
bool is_ready(const Meeting& meeting, std::size_t rank) {
  for (std::size_t p = 0; p < meeting.address.num_lanes; ++p) {
    if (meeting.arrived[p] == 0 && meeting.address.rank_of(p) == rank) return false;
  }
  return true;
}

/// The result of a round from the reports of all ranks, with the meetings of this rank.
Round concluded(const std::vector<Report>& reports,
                const std::vector<std::pair<std::string, std::shared_ptr<Meeting>>>& meetings) {
  Round round;
  for (const Report& report : reports) {
    if (report.failure && (!round.failure || goes_before(*report.failure, *round.failure))) {
      round.failure = report.failure;
    }
  }
  const std::vector<OpenCall> calls = merged(reports);
  const bool goes_on = std::any_of(calls.begin(), calls.end(),
                                   [](const OpenCall& call) { return call.missing.empty(); });
  round.is_last = round.failure || !goes_on;
  if (round.is_last) {
    if (!round.failure) round.failure = Failure{{}, ErrorKind::kUsage, why_stuck(calls)};
    return round;
  }
  for (const auto& [key, meeting] : meetings) {
    const auto call = std::find_if(calls.begin(), calls.end(), [&key = key](const OpenCall& c) {
      return c.key + c.text == key;
    });
    if (call->missing.empty()) round.complete.push_back(meeting);
  }
  return round;
}

}  // namespace

std::vector<OpenCall> describe(const std::vector<std::shared_ptr<Meeting>>& meetings) {
  std::vector<OpenCall> calls;
  for (const std::shared_ptr<Meeting>& meeting : meetings) {
    OpenCall& call = calls.emplace_back();
    call.key = meeting->address.key();
    call.text = meeting->request.to_string();
    for (std::size_t p = 0; p < meeting->address.num_lanes; ++p) {
      (meeting->arrived[p] != 0 ? call.waiting : call.missing)
          .push_back(label(meeting->address.frames_at(p)));
    }
  }
  return calls;
}

std::string why_stuck(const std::vector<OpenCall>& calls) {
  const auto message = [](const OpenCall& call, const std::string& lane) {
    return call.text + ": " + call.waiting.front() + " waits for " + lane + ", which ";
  };
  // The best explanation is a missing lane, or one around or inside it, that waits elsewhere.
  for (const OpenCall& call : calls) {
    for (const std::string& lane : call.missing) {
      for (const OpenCall& other : calls) {
        const auto is_there = [&lane](const std::string& waiting) {
          return lane == waiting || lane.starts_with(waiting + ", ") ||
                 waiting.starts_with(lane + ", ");
        };
        if (std::any_of(other.waiting.begin(), other.waiting.end(), is_there)) {
          return message(call, lane) + "waits in " + other.text;
        }
      }
    }
  }
  const auto call = std::find_if(calls.begin(), calls.end(),
                                 [](const OpenCall& c) { return !c.missing.empty(); });
  return message(*call, call->missing.front()) + "ended without it";
}

std::string why_ended(const Meeting& meeting, std::size_t position, std::size_t missing) {
  const Address& address = meeting.address;
  return why_stuck({{.key = {},
                     .text = meeting.request.to_string(),
                     .waiting = {label(address.frames_at(position))},
                     .missing = {label(address.frames_at(missing))}}});
}

Round exchange_round(Transport& transport, const std::string& program,
                     const std::vector<std::shared_ptr<Meeting>>& open,
                     const std::optional<Failure>& failure) {
  const auto meetings = shared_meetings(open);
  Header mine{.program = hash(program)};
  if (failure) {
    mine.state = kFailed;
  } else if (!meetings.empty()) {
    mine.state = kReady;
    for (const auto& [key, meeting] : meetings) {
      mine.detail = hash(std::to_string(mine.detail) + key);
      if (!is_ready(*meeting, transport.rank())) mine.state = kWaiting;
    }
  } else if (!open.empty()) {
    mine.state = kWaiting;
  }
  const std::vector<Header> headers = all_headers(transport, mine);
  Round round;
  if (auto message = difference(transport, headers, program)) {
    round.failure = Failure{{}, ErrorKind::kUsage, std::move(*message)};
    round.is_last = true;
    return round;
  }
  const bool all_alike = std::all_of(headers.begin(), headers.end(),
                                     [&mine](const Header& other) { return other == mine; });
  if (all_alike && mine.state == kEnded) {
    round.is_last = true;
  } else if (all_alike && mine.state == kReady) {
    for (const auto& [key, meeting] : meetings) round.complete.push_back(meeting);
  } else {
    std::vector<Report> reports;
    for (const auto& bytes : all_bytes(transport, written({failure, describe(open)}).bytes())) {
      reports.push_back(read_report(bytes));
    }
    round = concluded(reports, meetings);
  }
  return round;
}

}  // namespace halftone::spmd::internal
