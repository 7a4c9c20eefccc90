// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/teacher/score_cache.h"

#include <cstring>

#include "halftone/base/testing.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/spmd/testing.h"
#include "halftone/train/run/trainer.h"

namespace halftone::train {
namespace {

constexpr std::size_t kCachedSamples = 300;  // not a multiple of the part size

class Cache : public WithFolder {
 protected:
  Cache()
      : data_(compress::random_dataset(kCachedSamples, 10, 2)),
        teachers_{compress::perceptron(10, 20, 4, 1), compress::perceptron(10, 7, 4, 2)} {
    compress::Recipe recipe;
    recipe.defaults.weight_bits = 2;
    recipe.defaults.activation_bits = 2;
    student_ = compress::quantize(teachers_[0], data_, recipe, {}).graph;
  }

  [[nodiscard]] LearnOptions options(const std::string& cache) const {
    LearnOptions options;
    options.epochs = 2;
    options.batch = 36;
    if (!cache.empty()) options.teacher_cache = path(cache);
    return options;
  }
  /// Also writes the cache file.
  TrainedGraph trained(const LearnOptions& options) const {
    return train(student_, &teachers_[0], {teachers_, data_}, {}, options);
  }
  void expect_refusal(ErrorKind kind, const std::string& text, const LearnOptions& options) const {
    expect_error(kind, text, [&] { trained(options); });
  }
  /// Expects an error for a modified file.
  void expect_refusal_of(const std::string& name, std::span<const std::byte> bytes,
                         const std::string& text) const {
    write_file(path(name), bytes);
    expect_refusal(ErrorKind::kFormat,
                   path(name) + ": " + text + ": delete it or name another file", options(name));
  }

  data::Dataset data_;
  std::vector<ir::Graph> teachers_;
  ir::Graph student_;
};

void expect_same(const TrainedGraph& a, const TrainedGraph& b) {
  Random random(8);
  const auto inputs = ir::test::list(ir::test::random_tensor({50, 10}, random));
  EXPECT_TRUE(ir::test::same_bytes(ir::test::run_reference(a.graph, inputs),
                                   ir::test::run_reference(b.graph, inputs)));
  ASSERT_EQ(a.epochs.size(), b.epochs.size());
  for (std::size_t i = 0; i < a.epochs.size(); ++i) EXPECT_EQ(a.epochs[i].loss, b.epochs[i].loss);
}

TEST_F(Cache, GivesTheBitsThatAskingGives) {
  const TrainedGraph asked = trained(options(""));
  expect_same(trained(options("made")), asked);
  const auto made = std::filesystem::last_write_time(path("made"));
  expect_same(trained(options("made")), asked);
  EXPECT_EQ(std::filesystem::last_write_time(path("made")), made);
  EXPECT_EQ(std::filesystem::file_size(path("made")), 48 + kCachedSamples * 2 * 4 * 4 + 8);
}

TEST_F(Cache, ServesOtherTemperaturesAndWeights) {
  trained(options("made"));
  LearnOptions asked = options("");
  LearnOptions read = options("made");
  asked.loss.temperature = read.loss.temperature = 1.5;
  asked.seed = read.seed = 5;
  expect_same(trained(read), trained(asked));
}

TEST_F(Cache, IsTheSameFileOnAnyDevicesAndRanks) {
  LearnOptions options = this->options("one");
  options.devices = spmd::Devices::emulate(1);
  const TrainedGraph one = trained(options);
  const std::vector<std::byte> bytes = read_file(path("one"));
  options = this->options("three");
  options.devices = spmd::Devices::emulate(3);
  trained(options);
  EXPECT_EQ(read_file(path("three")), bytes);
  // Each rank has its own file; one exists already.
  write_file(path("rank0"), bytes);
  for (const TrainedGraph& found : spmd::LocalRanks(2).run([&](const auto& ranks) {
         LearnOptions mine = this->options("rank" + std::to_string(ranks->rank()));
         mine.devices = spmd::Devices::over(ranks, 1);
         return trained(mine);
       })) {
    expect_same(found, one);
  }
  EXPECT_EQ(read_file(path("rank1")), bytes);
}

TEST_F(Cache, IsRefusedWhereItIsDamaged) {
  trained(options("made"));
  const std::vector<std::byte> good = read_file(path("made"));
  for (const std::size_t place : {std::size_t{17}, std::size_t{60}, good.size() - 1}) {
    std::vector<std::byte> bad = good;
    bad[place] ^= std::byte{4};
    expect_refusal_of("bad", bad, "is damaged or incomplete");
  }
  for (const std::size_t size : {good.size() - 1, std::size_t{56}}) {
    expect_refusal_of("bad", std::span(good).first(size), "is damaged or incomplete");
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{55}}) {
    expect_refusal_of("bad", std::span(good).first(size), "is not a file of teachers' answers");
  }
  std::vector<std::byte> other = good;
  other[0] = std::byte{'H'};
  expect_refusal_of("bad", other, "is not a file of teachers' answers");
  other = good;
  other[8] = std::byte{2};
  expect_refusal_of("bad", other, "expected teachers' answers of version 1, found 2");
}

TEST_F(Cache, IsRefusedWhereItLacksNumbers) {
  trained(options("made"));
  std::vector<std::byte> bytes = read_file(path("made"));
  bytes.resize(bytes.size() - 16);
  Hash hash;
  hash.add(bytes);
  const std::uint64_t value = hash.value();
  const auto end = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), end.begin(), end.end());
  expect_refusal_of("short", bytes, "is damaged");
}

TEST_F(Cache, IsRefusedWhereItIsAboutSomethingElse) {
  trained(options("made"));
  const LearnOptions options = this->options("made");
  const auto expect_foreign = [&](const std::string& text, const std::vector<ir::Graph>& teachers,
                                  const data::Dataset& data) {
    expect_error(ErrorKind::kFormat, text, [&] {
      train(student_, nullptr, {teachers, data}, {}, options);
    });
  };
  expect_foreign("holds answers for other samples", teachers_,
                 compress::random_dataset(kCachedSamples, 10, 3));
  expect_foreign("expected answers [samples, teachers, scores] of [200, 2, 4], found [300, 2, 4]",
                 teachers_, compress::random_dataset(200, 10, 2));
  expect_foreign("of [300, 1, 4], found [300, 2, 4]", {teachers_[0]}, data_);
  expect_foreign("its answers differ from those of the teachers for the first 18 samples",
                 {teachers_[1], teachers_[0]}, data_);
}

TEST_F(Cache, IsRefusedWhereItCannotHelp) {
  LearnOptions options = this->options("made");
  options.features = {{"first", "first"}};
  expect_refusal(ErrorKind::kUsage, "does not store features", options);
  options = this->options("made");
  options.loss.label_weight = 1;
  const data::Dataset labelled =
      compress::random_dataset(kCachedSamples, 10, 2, std::vector<std::int64_t>(kCachedSamples, 1));
  expect_error(ErrorKind::kUsage, "a cache of teachers' answers needs a teacher", [&] {
    train(student_, nullptr, {{}, labelled}, {}, options);
  });
  std::vector<float> x(kCachedSamples * 10);
  const data::Dataset images = data::dataset_from_npy(
      "images",
      own_bytes(data::npy_bytes(data::make_npy(std::span<const float>(x), {kCachedSamples, 2, 5}))),
      {}, {});
  options = this->options("made");
  options.augment.flip = true;
  expect_error(ErrorKind::kUsage, "augmentation changes the samples", [&] {
    train(student_, nullptr, {teachers_, images}, {}, options);
  });
  EXPECT_FALSE(std::filesystem::exists(path("made")));
  expect_refusal(ErrorKind::kIo, "no/such/folder: cannot write", this->options("no/such/folder"));
  expect_refusal(ErrorKind::kIo, "is not a regular file", this->options("."));
}

}  // namespace
}  // namespace halftone::train
