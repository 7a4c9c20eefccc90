// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/checkpoint_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"
#include "halftone/spmd/map.hpp"

namespace halftone::train {
namespace {

/// Bytes as arrays that ranks can share.
struct Parcel {
  spmd::Array size;   ///< int64 [1]
  spmd::Array words;  ///< int32, the last padded with zeros

  static auto members(auto& self) { return std::tie(self.size, self.words); }
};

Parcel pack(const std::vector<std::byte>& bytes) {
  const auto words = static_cast<std::int64_t>((bytes.size() + 3) / 4);
  return {spmd::Array::of({static_cast<std::int64_t>(bytes.size())}),
          spmd::Array::make<std::int32_t>({words}, [&](std::span<std::int32_t> dst) {
            std::ranges::fill(dst, 0);
            if (!bytes.empty()) std::memcpy(dst.data(), bytes.data(), bytes.size());
          })};
}

std::vector<std::byte> unpack(const Parcel& parcel) {
  const auto bytes =
      parcel.words.bytes().first(static_cast<std::size_t>(parcel.size.as<std::int64_t>()[0]));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

CheckpointFile::CheckpointFile(CheckpointOptions options, spmd::Devices devices)
    : options_(std::move(options)), devices_(std::move(devices)) {}

std::vector<std::byte> CheckpointFile::read() {
  if (options_.resume) {
    std::vector<std::byte> bytes = read_file(options_.path);
    with_context(options_.path,
                 [&] { check_run_settings(checkpoint_from(bytes).settings, settings_); });
    return bytes;
  }
  if (path_exists(options_.path)) {
    fail(ErrorKind::kUsage,
         options_.path + ": expected no checkpoint there yet, found one: remove it or resume",
         Hint::kResume);
  }
  return {};
}

std::optional<Checkpoint> CheckpointFile::open(const std::function<RunSettings()>& settings) {
  if (!is_kept()) return std::nullopt;
  const auto find = [&] {
    settings_ = settings();
    return read();
  };
  // With one rank, no lane: error messages then have no lane index in front.
  const std::vector<std::byte> bytes =
      devices_.spans_ranks() ? unpack(spmd::spread_sum([&] { return pack(find()); },
                                                       {.axis_size = 1, .devices = devices_})())
                             : find();
  if (bytes.empty()) return std::nullopt;
  return checkpoint_from(bytes);
}

bool CheckpointFile::is_due() const {
  return is_kept() && devices_.rank() == 0 &&
         Clock::now() - saved_ >= std::chrono::duration<double, std::ratio<60>>(options_.minutes);
}

void CheckpointFile::save(Checkpoint checkpoint) {
  if (!is_kept() || devices_.rank() != 0) return;
  checkpoint.settings = settings_;
  write_file(options_.path, to_bytes(checkpoint));
  saved_ = Clock::now();
}

}  // namespace halftone::train
