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
  std::optional<int> inputs{};
  std::optional<std::string> scheme{};
  std::vector<std::string> choices{};
  std::size_t stride = 0;
};

Fields fields_of(Options& options) {
  return {
      {"flip", &options.flip, "Flips", {}, {}, "--no-flip", "Does not flip"},
      {"bits", &options.bits, "Bits", FieldRange::between(1, 8)},
      {"epochs", &options.epochs, "Passes", FieldRange::between(1, 100000), {}, "-n,--passes"},
      {"learning_rate", &options.rate, "Rate", FieldRange::above(0)},
      {"schedule", &options.schedule, "Schedule", {}, {"cosine", "step", "constant"}},
      {"file", &options.file, "File"},
      {"milestones", &options.milestones, "Shares", FieldRange::between(0, 1)},
      {"memory", &options.memory, "Bytes", FieldRange::from(1)},
      {"minutes", &options.minutes, "Time", FieldRange::above(0)},
      Field{"inputs", &options.inputs, "Bits", FieldRange::between(1, 8)}.usually("3").with_zero(
          "none"),
      {"scheme", &options.scheme, "Scheme", {}, {"a", "b"}},
      {"choices", &options.choices, "Choices"},
      Field{"stride", &options.stride, "Stride", FieldRange::from(1)}.usually("all")};
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
                "--memory int none: at least 1", "--minutes float none: a number above 0",
                "--inputs int none: 1 to 8 or none", "--scheme str none: a or b",
                "--choices texts none: ", "--stride int 0: at least 1"}));
}

TEST(Fields, MayBeUnset) {
  Options options;
  const Fields fields = fields_of(options);
  const auto field = [&](const char* name) { return *find_field(fields, name); };
  EXPECT_TRUE(field("bits").is_set());
  for (const char* name : {"file", "memory", "inputs", "scheme", "choices", "stride"}) {
    EXPECT_FALSE(field(name).is_set()) << name;
    EXPECT_NO_THROW(field(name).check()) << name;
  }
  EXPECT_EQ(field("inputs").help(), "Bits (default 3)");
  EXPECT_EQ(field("inputs").default_text(), "3");
  EXPECT_EQ(field("bits").default_text(), "3");
  options.inputs = 0;
  EXPECT_TRUE(field("inputs").is_set() && field("inputs").has_zero_word());
  EXPECT_EQ(field("inputs").value_text(), "none");
  options.choices = {"2", "4/8"};
  EXPECT_EQ(field("choices").value_text(), "2,4/8");
  field("choices").reset();
  field("inputs").reset();
  field("bits").reset();
  EXPECT_TRUE(options.choices.empty() && !options.inputs);
  EXPECT_EQ(options.bits, 3) << "is always set";
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
  options.inputs = 9;
  expect("inputs: expected 1 to 8 or none, found 9");
  options.scheme = "c";
  expect("scheme: expected a or b, found c");
  options.schedule = "slow";
  expect("schedule: expected cosine, step or constant, found slow");
}

}  // namespace
}  // namespace halftone
