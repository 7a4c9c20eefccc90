// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/fields/fields.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halftone/base/testing.h"

namespace halftone {
namespace {

struct Options {
  bool flip = true;
  int bits = 3;
  std::size_t epochs = 1;
  double rate = 1e-3;
  std::string schedule = "cosine";
  std::filesystem::path file{};
  std::vector<double> milestones{0.5, 0.75};
  std::optional<std::uint64_t> memory{};
  std::optional<double> minutes{};
};

Fields fields_of(Options& options) {
  return {{"flip", &options.flip, "Flips", {}, {}, "--no-flip", "Does not flip"},
          {"bits", &options.bits, "Bits", FieldRange::between(1, 8)},
          {"epochs", &options.epochs, "Passes", FieldRange::between(1, 100000), {}, "-n,--passes"},
          {"learning_rate", &options.rate, "Rate", FieldRange::above(0)},
          {"schedule", &options.schedule, "Schedule", {}, {"cosine", "step", "constant"}},
          {"file", &options.file, "File"},
          {"milestones", &options.milestones, "Shares", FieldRange::between(0, 1)},
          {"memory", &options.memory, "Bytes", FieldRange::from(1)},
          {"minutes", &options.minutes, "Time", FieldRange::above(0)}};
}

TEST(Fields, SayWhatTheyMayBe) {
  Options options;
  std::vector<std::string> found;
  for (const Field& field : fields_of(options)) {
    found.push_back(field.option_name() + " " + std::string(field.kind()) + " " +
                    field.value_text() + ": " + field.range_text());
  }
  EXPECT_EQ(found,
            (std::vector<std::string>{
                "--no-flip bool true: ", "--bits int 3: 1 to 8", "-n,--passes int 1: 1 to 100000",
                "--learning-rate float 0.001: a number above 0",
                "--schedule str cosine: cosine, step or constant",
                "--file path none: ", "--milestones floats [0.5, 0.75]: 0 to 1",
                "--memory int none: at least 1", "--minutes float none: a number above 0"}));
}

TEST(Fields, AreFoundByName) {
  Options options;
  const Fields fields = joined(fields_of(options), {{"more", &options.bits, "More"}});
  EXPECT_EQ(find_field(fields, "bits")->text, "Bits");
  EXPECT_EQ(find_field(fields, "more")->text, "More");
  EXPECT_EQ(find_field(fields, "less"), nullptr);
  EXPECT_TRUE(find_field(fields, "file")->is_optional());
  EXPECT_FALSE(find_field(fields, "bits")->is_optional());
}

TEST(Fields, RefuseWhatIsOutOfRange) {
  Options options;
  const auto check = [&] {
    for (const Field& field : fields_of(options)) field.check();
  };
  check();
  const auto expect = [&](const char* message) {
    expect_error(ErrorKind::kUsage, message, check);
    options = {};
  };
  options.bits = 9;
  expect("bits: expected 1 to 8, found 9");
  options.rate = 0;
  expect("learning_rate: expected a number above 0, found 0");
  options.rate = NAN;
  expect("learning_rate: expected a number above 0, found nan");
  options.milestones = {0.5, 2};
  expect("milestones: expected 0 to 1, found [0.5, 2]");
  options.minutes = -1;
  expect("minutes: expected a number above 0, found -1");
  options.schedule = "slow";
  expect("schedule: expected cosine, step or constant, found slow");
}

}  // namespace
}  // namespace halftone
