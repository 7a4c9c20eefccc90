// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/state/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/file.h"
#include "halftone/base/state/testing.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

class StateFiles : public WithFolder {
 protected:
  [[nodiscard]] StateFile opened(const std::string& season = "autumn", bool writes = true) const {
    return {path("s.json"), "weights of fruit", {{"scale", "A"}, {"season", season}}, writes};
  }

  static std::optional<double> weight(const StateFile& state, const std::string& name) {
    return state.find(name, [](const StateFile::Json& json) { return json.get<double>(); });
  }
};

TEST_F(StateFiles, KeepWhatWasAdded) {
  StateFile state = opened();
  EXPECT_EQ(weight(state, "apple"), std::nullopt);
  state.add("pear", 2);
  state.add("apple", 0.1 + 0.2);
  state.add("pear", 1e-300);
  EXPECT_EQ(weight(state, "pear"), 1e-300);
  EXPECT_EQ(weight(opened(), "pear"), 1e-300);
  EXPECT_EQ(weight(opened(), "apple"), 0.1 + 0.2);
}

TEST_F(StateFiles, OfOtherRanksAreNotWritten) {
  StateFile state = opened("autumn", false);
  state.add("apple", 1);
  EXPECT_EQ(weight(state, "apple"), 1);
  EXPECT_FALSE(std::filesystem::exists(path("s.json")));
}

TEST_F(StateFiles, NeedNoFile) {
  StateFile state({}, "weights of fruit", {}, true);
  state.add("apple", 1);
  EXPECT_EQ(weight(state, "apple"), 1);
}

TEST_F(StateFiles, OfAnotherRunAreRefusedByThePartThatDiffers) {
  opened().add("apple", 1);
  expect_error(ErrorKind::kFormat,
               "s.json: has weights of fruit of another job: expected season 'spring', found "
               "'autumn'; name another file",
               [&] { static_cast<void>(opened("spring")); });
}

TEST_F(StateFiles, NoticeEveryFlippedBit) {
  StateFile state = opened();
  state.add("apple", 0.1 + 0.2);
  state.add("pear", {{"sizes", {1, 2e-300, nullptr}}, {"name", "\xC3\xA4"}});
  expect_flips_are_noticed(path("s.json"), [&] {
    const StateFile found = opened();
    std::string text;
    for (const char* name : {"apple", "pear"}) {
      text +=
          found.find(name, [](const StateFile::Json& json) { return json.dump(); }).value_or("");
    }
    return text;
  });
}

TEST_F(StateFiles, RefuseWhatIsNoState) {
  for (const char* text : {"", "[1]", "{}"}) {
    write_file(path("s.json"), text);
    expect_error(ErrorKind::kFormat, "s.json: expected measured weights of fruit, found something",
                 [&] { static_cast<void>(opened()); });
  }
}

TEST_F(StateFiles, RefuseValuesOfAnotherForm) {
  opened().add("apple", "heavy");
  const StateFile state = opened();
  expect_error(ErrorKind::kFormat, "s.json: expected measured weights of fruit, found something",
               [&] { static_cast<void>(weight(state, "apple")); });
}

}  // namespace
}  // namespace halftone
