// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/tuning.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"
#include "halftone/base/processor.h"
#include "halftone/kernels/targets.h"

namespace halftone::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "halftone tuning 1";

/// What the times of a kernel depend on.
std::string machine_name() {
  return processor_name() + ", " + kernels::current_simd_target() + ", " + HALFTONE_VERSION;
}

std::string key_of(const std::string& layer) { return machine_name() + '\t' + layer; }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <typename T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

[[noreturn]] void refuse_line(const fs::path& file, std::size_t line, std::string_view expected) {
  fail(ErrorKind::kFormat, fmt::format("{}: line {}: expected {}; delete the file to measure again",
                                       file.string(), line, expected));
}

}  // namespace

Tuning Tuning::read(const fs::path& file) {
  Tuning tuning;
  std::error_code error;
  if (!fs::exists(file, error) && !error) return tuning;
  const std::vector<std::byte> bytes = read_file(file);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::vector<std::string_view> lines = split(text, '\n');
  if (lines.front() != kHeader) refuse_line(file, 1, "'" + std::string(kHeader) + "'");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string_view> fields = split(lines[i], '\t');
    Line found;
    if (fields.size() != 5 || !parse(fields[3], found.threads) || found.threads < 1 ||
        !parse(fields[4], found.us)) {
      refuse_line(file, i + 1, "machine, layer, kernel, threads and microseconds, with tabs");
    }
    found.kernel = fields[2];
    tuning.lines_[fmt::format("{}\t{}", fields[0], fields[1])] = std::move(found);
  }
  return tuning;
}

void Tuning::write(const fs::path& file) const {
  std::string text = std::string(kHeader) + '\n';
  for (const auto& [layer, found] : lines_) {
    text += fmt::format("{}\t{}\t{}\t{:.3f}\n", layer, found.kernel, found.threads, found.us);
  }
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) {
    fail(ErrorKind::kIo, file.parent_path().string() + ": cannot create: " + error.message());
  }
  write_file(file, text);
}

std::optional<MeasuredMethod> Tuning::find(const std::string& layer) const {
  const auto found = lines_.find(key_of(layer));
  if (found == lines_.end()) return std::nullopt;
  const auto& [kernel, threads, us] = found->second;
  const std::optional<Product> product = product_named(kernel);
  if (!product && !kernel.empty()) return std::nullopt;
  return MeasuredMethod{{product, threads}, us};
}

void Tuning::record(const std::string& layer, const MeasuredMethod& measured) {
  const auto& [way, us] = measured;
  const std::string kernel(way.product ? to_string(*way.product) : "");
  lines_[key_of(layer)] = {kernel, way.threads, us};
}

fs::path default_tuning_file() {
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / "tuning.txt";
}

}  // namespace halftone::runtime
