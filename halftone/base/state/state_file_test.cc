// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/state/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

class StateFiles : public WithFolder {
 protected:
  [[nodiscard]] StateFile opened(std::uint64_t key = ~0ULL, bool writes = true) const {
    return {path("s.json"), {"weights of fruit", key, "scale or season"}, writes};
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
  StateFile state = opened(1, false);
  state.add("apple", 1);
  EXPECT_EQ(weight(state, "apple"), 1);
  EXPECT_FALSE(std::filesystem::exists(path("s.json")));
}

TEST_F(StateFiles, NeedNoFile) {
  StateFile state({}, {"weights of fruit", 1, "scale or season"}, true);
  state.add("apple", 1);
  EXPECT_EQ(weight(state, "apple"), 1);
}

TEST_F(StateFiles, OfAnotherRunAreRefused) {
  opened(1).add("apple", 1);
  expect_error(ErrorKind::kFormat,
               "s.json: has weights of fruit of another scale or season: name another file",
               [&] { static_cast<void>(opened(2)); });
}

TEST_F(StateFiles, RefuseWhatIsNoState) {
  for (const char* text :
       {"", "[1]", "{}", "{\"kind\": \"weights of fruit\"}", "{\"kind\": [], \"measured\": {}}",
        "{\"kind\": \"weights\", \"key\": 1,"
        " \"measured\": {}}"}) {
    write_file(path("s.json"), text);
    expect_error(ErrorKind::kFormat, "s.json: expected measured weights of fruit, found something",
                 [&] { static_cast<void>(opened(1)); });
  }
  write_file(path("s.json"),
             R"({"kind": "weights of fruit", "key": 1, "measured": {"apple": "heavy"}})");
  const StateFile state = opened(1);
  expect_error(ErrorKind::kFormat, "s.json: expected measured weights of fruit, found something",
               [&] { static_cast<void>(weight(state, "apple")); });
}

}  // namespace
}  // namespace halftone
