// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/hash.h"
#include "halftone/base/paths.h"
#include "halftone/base/printable.h"
#include "halftone/base/state/state_file.h"
#include "halftone/base/state/state_identity.h"

namespace halftone {
namespace {

using Json = StateLog::Json;
using Bytes = std::span<const std::byte>;

constexpr std::string_view kMagic = "halftone state 1\n";
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kDigits = 16;
constexpr std::size_t kHeaderBytes = 4 * (kDigits + 1);

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// 16 digits and a blank.
std::string digits_of(std::uint64_t value) {
  std::string digits(kDigits + 1, '0');
  digits.back() = ' ';
  for (std::size_t i = kDigits; i-- > 0; value >>= 4U) digits[i] = "0123456789abcdef"[value & 15U];
  return digits;
}

std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + kDigits, value, 16);
  return value;
}

/// The numbers in front of a record.
struct Header {
  std::uint64_t text_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t check = 0;

  [[nodiscard]] std::string text() const {
    const std::string numbers = digits_of(text_bytes) + digits_of(value_bytes) + digits_of(check);
    Hash hash;
    hash.add(numbers);
    return numbers + digits_of(hash.value());
  }
};

/// @param text  that of kHeaderBytes
Header header_of(std::string_view text) {
  return {value_of(text), value_of(text.substr(kDigits + 1)),
          value_of(text.substr(2 * (kDigits + 1)))};
}

std::uint64_t check_of(std::string_view text, std::span<const Bytes> pieces) {
  Hash hash;
  hash.add(text);
  for (const Bytes piece : pieces) hash.add(piece);
  return hash.value();
}

/// JSON that ends at a multiple of kAlignment if it begins behind `position` bytes.
std::string record_text(const std::string& name, const Json& value, std::uint64_t position) {
  const Json json = {{"name", name}, {"value", value}};
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::size_t end = (position + text.size()) % kAlignment;
  text.append((kAlignment - end) % kAlignment, ' ');
  return text;
}

/// Calls write(pieces) with the pieces of a record that begins behind `position` bytes.
template <typename Write>
void with_record(const std::string& name, const Json& value, std::span<const Bytes> bytes,
                 std::uint64_t position, const Write& write) {
  const std::string text = record_text(name, value, position + kHeaderBytes);
  Header header{.text_bytes = text.size(), .check = check_of(text, bytes)};
  for (const Bytes piece : bytes) header.value_bytes += piece.size();
  const std::string front = header.text();
  std::vector<Bytes> pieces = {bytes_of(front), bytes_of(text)};
  pieces.insert(pieces.end(), bytes.begin(), bytes.end());
  pieces.push_back(bytes_of("\n"));
  write(pieces);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string hash_text(std::uint64_t hash) { return "hash " + std::to_string(hash); }

nlohmann::ordered_json to_json(const JobIdentity& identity) {
  auto json = nlohmann::ordered_json::object();
  for (const JobPart& part : identity) json[part.name] = part.value;
  return json;
}

void check_identity(const std::string& what, const nlohmann::ordered_json& found,
                    const JobIdentity& expected) {
  for (const JobPart& part : expected) {
    const auto value = found.value(part.name, std::string());
    if (value == part.value) continue;
    fail(ErrorKind::kFormat, "has " + what + " of another job: expected " + part.name + " '" +
                                 part.value + "', found '" + printable(value) +
                                 "'; name another file");
  }
}

StateLog::StateLog(std::filesystem::path path, StateKind kind, const JobIdentity& identity,
                   bool writes)
    : path_(std::move(path)),
      kind_(std::move(kind)),
      head_({{"kind", kind_.expected}, {"job", to_json(identity)}}),
      writes_(writes && !path_.empty()) {
  if (!path_.empty() && path_exists(path_)) read(identity);
}

void StateLog::read(const JobIdentity& identity) {
  const SharedBytes file = map_file(path_);
  const std::string_view front =
      text_of(file.bytes.first(std::min(file.bytes.size(), kMagic.size())));
  fail_if_older(file.bytes);
  if (front != kMagic) fail_form();
  std::size_t position = kMagic.size();
  const std::optional<StateRecord> head = next(file, position);
  if (!head) fail_form();
  try {
    if (head->value.at("kind") != kind_.expected) fail_form();
    with_context(path_.string(),
                 [&] { check_identity(kind_.name, head->value.at("job"), identity); });
  } catch (const Json::exception&) {
    fail_form();
  }
  while (auto record = next(file, position)) records_.push_back(std::move(*record));
  size_bytes_ = position;
  if (!writes_ || position == file.bytes.size()) return;
  // Pages of a mapped file behind its end must not be read: map what is left again.
  records_.clear();
  shorten_file(path_, position);
  read(identity);
}

std::optional<StateRecord> StateLog::next(const SharedBytes& file, std::size_t& position) const {
  const auto rest = file.bytes.subspan(position);
  if (rest.size() < kHeaderBytes) return std::nullopt;
  const std::string_view front = text_of(rest.first(kHeaderBytes));
  const Header header = header_of(front);
  const std::string where = "byte " + std::to_string(position);
  if (header.text() != front) fail_damaged(where);
  const std::size_t most = rest.size() - kHeaderBytes;
  if (header.text_bytes > most || header.value_bytes >= most - header.text_bytes) {
    return std::nullopt;
  }
  const std::size_t end = kHeaderBytes + header.text_bytes + header.value_bytes;
  const std::string_view text = text_of(rest.subspan(kHeaderBytes, header.text_bytes));
  const SharedBytes bytes =
      file.part(position + kHeaderBytes + header.text_bytes, header.value_bytes);
  if (check_of(text, std::span(&bytes.bytes, 1)) != header.check) fail_damaged(where);
  if (rest[end] != std::byte{'\n'}) fail_damaged(where);
  position += end + 1;
  try {
    Json json = Json::parse(text);
    return StateRecord{json.at("name").get<std::string>(), std::move(json.at("value")), bytes};
  } catch (const Json::exception&) {
    fail_form();
  }
}

void StateLog::append(const std::string& name, const Json& value, std::span<const Bytes> pieces) {
  if (!writes_) return;
  if (!file_) {
    if (size_bytes_ == 0) {
      with_record("head", head_, {}, kMagic.size(), [&](const std::vector<Bytes>& head) {
        write_file(path_, [&](const ByteSink& sink) {
          sink(bytes_of(kMagic));
          for (const Bytes piece : head) sink(piece);
        });
        size_bytes_ = kMagic.size();
        for (const Bytes piece : head) size_bytes_ += piece.size();
      });
    }
    file_.emplace(path_, size_bytes_);
  }
  with_record(name, value, pieces, file_->size_bytes(),
              [&](const std::vector<Bytes>& record) { file_->append(record); });
}

void StateLog::fail_form() const {
  fail(ErrorKind::kFormat, path_.string() + ": expected " + kind_.expected +
                               ", found something else: name another file");
}

void StateLog::fail_damaged(const std::string& where) const {
  fail(ErrorKind::kFormat, path_.string() + ": is damaged: the checksum of the record at " + where +
                               " differs; remove it or name another file");
}

void StateLog::fail_if_older(std::span<const std::byte> bytes) const {
  constexpr std::size_t kFront = 256;
  const std::string_view front = text_of(bytes.first(std::min(bytes.size(), kFront)));
  if (!front.starts_with(R"({"head":{"value":{"kind":)") &&
      !contains(front, "\"halftone.quantize_state\"")) {
    return;
  }
  fail(ErrorKind::kFormat, path_.string() +
                               ": is the state of an older version, which cannot continue: remove "
                               "it or name another file");
}

StateFile::StateFile(std::filesystem::path path, const std::string& what,
                     const JobIdentity& identity, bool writes)
    : log_(std::move(path), {what, "measured " + what}, identity, writes) {
  for (StateRecord& record : log_.take_records()) {
    measured_.insert_or_assign(std::move(record.name), std::move(record.value));
  }
}

void StateFile::add(const std::string& name, const Json& value) {
  measured_.insert_or_assign(name, value);
  log_.append(name, value);
}

}  // namespace halftone
