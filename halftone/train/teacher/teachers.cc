// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/teacher/teachers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"
#include "halftone/train/learn/distillation_loss.h"

namespace halftone::train {
namespace {

constexpr const char* kRunAxis = "run";
constexpr std::size_t kMaxRemembered = std::size_t{1} << 26;  // scores: 256 MiB

/// Whether `here` is true on every rank; all ranks call it.
bool on_all_ranks(bool here, const spmd::Devices& devices) {
  const auto lane = [here] { return spmd::Array::scalar<std::int64_t>(here ? 1 : 0); };
  const spmd::Array said = spmd::gather(
      spmd::spread(lane, {.axis_name = "rank", .axis_size = devices.size(), .devices = devices})());
  return std::ranges::count(said.as<std::int64_t>(), 0) == 0;
}

std::vector<std::size_t> samples_from(std::size_t first, std::size_t count) {
  std::vector<std::size_t> samples(count);
  std::iota(samples.begin(), samples.end(), first);
  return samples;
}

}  // namespace

Teachers::Teachers(const std::vector<ir::Graph>& graphs, const Batches& student, std::size_t run,
                   std::span<const ir::ValueId> features)
    : data_(student.data()), run_(run) {
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const std::string name = "teacher " + std::to_string(i + 1);
    with_context(name, [&] {
      const auto wanted = i == 0 ? features : std::span<const ir::ValueId>();
      teachers_.push_back(std::make_unique<Teacher>(graphs[i], student, run, wanted));
    });
    const ir::Shape& found = teachers_.back()->scores();
    if (score_extents(found) != score_extents(scores())) {
      fail(ErrorKind::kShape,
           name + " has scores " + found.to_string() + ", teacher 1 has " + scores().to_string());
    }
  }
  if (empty() || student.moves() || !features.empty()) return;
  if (data_.size() > kMaxRemembered / (graphs.size() * num_scores())) return;
  memory_.emplace(data_.size(), graphs.size(), num_scores());
}

/// Of one sample and teacher.
std::size_t Teachers::num_scores() const {
  return static_cast<std::size_t>(score_extents(scores()).size());
}

Answers Teachers::ask(std::span<const std::size_t> samples, std::optional<std::size_t> epoch) {
  Answers answers;
  std::vector<at::Tensor> scores;
  for (const std::unique_ptr<Teacher>& teacher : teachers_) {
    Answers own = teacher->answer(samples, epoch);
    scores.push_back(std::move(own.scores));
    if (scores.size() == 1) answers.features = std::move(own.features);
  }
  answers.scores = at::stack(scores);
  return answers;
}

Answers Teachers::answer(std::span<const std::size_t> samples, std::optional<std::size_t> epoch) {
  if (cache_) return {cache_->scores(samples), {}};
  if (!memory_) return ask(samples, epoch);
  if (!memory_->has(samples)) memory_->keep(samples, ask(samples, epoch).scores);
  return {memory_->scores(samples), {}};
}

void Teachers::use_cache(const std::filesystem::path& path, const spmd::Devices& devices,
                         const ProgressSink& progress) {
  const ScoreCacheKey key{fingerprint(data_), data_.size(), teachers_.size(), num_scores()};
  std::error_code error;
  const bool is_here = std::filesystem::exists(path, error);
  if (!on_all_ranks(is_here, devices)) write_cache(path, key, devices, !is_here, progress);
  cache_.emplace(path, key);
  memory_.reset();
  check_cache(path);
}

void Teachers::write_cache(const std::filesystem::path& path, const ScoreCacheKey& key,
                           const spmd::Devices& devices, bool is_mine,
                           const ProgressSink& progress) {
  constexpr std::size_t kRuns = 64;  // number with scores in memory at once
  std::optional<ScoreCacheWriter> writer;
  if (is_mine) writer.emplace(path, key);
  const std::size_t row = key.teachers * key.scores;
  for (std::size_t first = 0; first < key.samples; first += kRuns * run_) {
    const std::size_t count = std::min(kRuns * run_, key.samples - first);
    const auto lane = [&] {
      const ThreadLimit limit(1);
      const std::size_t begin = spmd::axis_index(kRunAxis) * run_;
      const auto samples = samples_from(first + begin, std::min(run_, count - begin));
      const at::Tensor scores = ask(samples, std::nullopt).scores.transpose(0, 1).contiguous();
      return spmd::Array::make<float>(
          {static_cast<std::int64_t>(run_), static_cast<std::int64_t>(row)},
          [&](std::span<float> all) {
            const auto end = std::copy_n(scores.data_ptr<float>(), scores.numel(), all.begin());
            std::fill(end, all.end(), 0.0F);
          });
    };
    const std::size_t runs = (count + run_ - 1) / run_;
    const spmd::Array scores = spmd::gather(
        spmd::spread(lane, {.axis_name = kRunAxis, .axis_size = runs, .devices = devices})());
    if (writer) writer->append(scores.as<float>().first(count * row));
    if (progress) {
      progress(static_cast<double>(first + count) / static_cast<double>(key.samples),
               "asking the teachers");
    }
  }
  if (writer) writer->finish();
}

/// A file with the right sizes may hold other scores. Therefore the teachers answer one run again,
/// which is compared with the file.
void Teachers::check_cache(const std::filesystem::path& path) {
  const ThreadLimit limit(1);
  const auto samples = samples_from(0, std::min(run_, data_.size()));
  const at::Tensor stored = cache_->scores(samples);
  const at::Tensor given = ask(samples, std::nullopt).scores;
  if (std::memcmp(stored.data_ptr(), given.data_ptr(), stored.nbytes()) == 0) return;
  refuse_cache(path, "its answers differ from those of the teachers for the first " +
                         std::to_string(samples.size()) + " samples");
}

}  // namespace halftone::train
