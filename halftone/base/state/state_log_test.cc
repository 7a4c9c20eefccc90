// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string_view>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/base/state/state_file.h"
#include "halftone/base/state/testing.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

using Bytes = std::span<const std::byte>;

class StateLogs : public WithFolder {
 protected:
  [[nodiscard]] StateLog opened(const std::string& season = "autumn", bool writes = true) const {
    return {path("log"),
            {"weights of fruit", "measured weights of fruit"},
            {{"scale", "A"}, {"season", season}},
            writes};
  }
  static std::string_view text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  static void append(StateLog& log, const std::string& name, std::string_view bytes) {
    const Bytes all = std::as_bytes(std::span(bytes.data(), bytes.size()));
    const std::vector<Bytes> pieces = {all.first(all.size() / 2), all.subspan(all.size() / 2)};
    log.append(name, {{"bytes", bytes.size()}}, pieces);
  }
  /// What a log has, as a text.
  [[nodiscard]] std::string found() const {
    StateLog log = opened();
    std::string text;
    for (const StateRecord& record : log.take_records()) {
      text += record.name + record.value.dump() + std::string(text_of(record.bytes.bytes)) + "\n";
    }
    return text;
  }
  [[nodiscard]] std::string file_text() const {
    return std::string(text_of(read_file(path("log"))));
  }
  void write(std::string_view text) const { std::ofstream(path("log"), std::ios::binary) << text; }
};

/// Bytes that this process has passed to the system to write; 0 where nothing tells.
std::uint64_t bytes_written() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (counts >> name >> value) {
    if (name == "wchar:") return value;
  }
  return 0;
}

TEST_F(StateLogs, KeepRecordsInTheirOrder) {
  EXPECT_EQ(found(), "");
  EXPECT_FALSE(std::filesystem::exists(path("log"))) << "before there is a record";
  StateLog log = opened();
  append(log, "pear", "yellow");
  append(log, "apple", "");
  EXPECT_EQ(found(), "pear{\"bytes\":6}yellow\napple{\"bytes\":0}\n");
  append(log, "pear", "green");
  StateLog again = opened();
  append(again, "plum", "blue");
  EXPECT_EQ(found(),
            "pear{\"bytes\":6}yellow\napple{\"bytes\":0}\npear{\"bytes\":5}green\n"
            "plum{\"bytes\":4}blue\n");
  for (const StateRecord& record : opened().take_records()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(record.bytes.bytes.data()) % 8, 0U);
    EXPECT_TRUE(record.bytes.is_file);
  }
}

TEST_F(StateLogs, WriteEachRecordOnce) {
  constexpr std::size_t kRecords = 40;
  const std::string bytes(1000, 'x');
  StateLog log = opened();
  append(log, "first", bytes);
  std::string before = file_text();
  const std::uint64_t size = before.size();
  const std::uint64_t written = bytes_written();
  for (std::size_t i = 0; i < kRecords; ++i) {
    append(log, "other", bytes);
    const std::string now = file_text();
    ASSERT_TRUE(now.starts_with(before));
    ASSERT_LT(now.size() - before.size(), bytes.size() + 150);
    before = now;
  }
  if (written > 0) {
    EXPECT_EQ(bytes_written() - written, before.size() - size);
  }
}

TEST_F(StateLogs, SurviveAProcessThatIsStoppedAsItWrites) {
  StateLog log = opened();
  append(log, "pear", "yellow");
  const std::string first = found();
  const std::size_t size = file_text().size();
  append(log, "apple", "red and green");
  const std::string both = found();
  const std::string whole = file_text();
  for (std::size_t cut = size; cut < whole.size(); ++cut) {
    write(whole.substr(0, cut));
    // One that only reads leaves the file alone.
    EXPECT_EQ(opened("autumn", false).take_records().size(), 1U);
    EXPECT_EQ(file_text().size(), cut);
    ASSERT_EQ(found(), first) << cut;
    EXPECT_EQ(file_text().size(), size);
    StateLog again = opened();
    append(again, "apple", "red and green");
    ASSERT_EQ(file_text(), whole) << cut;
  }
  EXPECT_EQ(found(), both);
}

TEST_F(StateLogs, NoticeEveryFlippedBit) {
  StateLog log = opened();
  append(log, "pear", "yellow");
  append(log, "apple", "red and green");
  expect_flips_are_noticed(path("log"), [&] { return found(); });
  const std::string whole = file_text();
  std::string damaged = whole;
  damaged[whole.find("yellow")] = 'Y';
  write(damaged);
  expect_error(ErrorKind::kFormat, "log: is damaged: the checksum of the record at byte ",
               [&] { (void)found(); });
}

TEST_F(StateLogs, OfAnotherRunAreRefused) {
  StateLog log = opened();
  append(log, "pear", "yellow");
  expect_error(ErrorKind::kFormat,
               "log: has weights of fruit of another job: expected season 'spring', found "
               "'autumn'; name another file",
               [&] { (void)opened("spring"); });
  expect_error(ErrorKind::kFormat, "log: expected prices, found something else", [&] {
    StateLog(path("log"), {"prices", "prices"}, {}, true);
  });
}

TEST_F(StateLogs, OfOlderVersionsAreRefusedInOneLine) {
  std::string tensors = R"(........{"__metadata__":{"halftone.quantize_state":"{)";
  tensors.replace(0, 8, 8, '\0');
  const std::string json = R"({"head":{"value":{"kind":"weights of fruit","job":{}},"check":"1"}})";
  for (const std::string* text : std::vector<const std::string*>{&json, &tensors}) {
    write(*text);
    expect_error(ErrorKind::kFormat,
                 "log: is the state of an older version, which cannot continue: remove it or name "
                 "another file",
                 [&] { (void)opened(); });
  }
}

TEST_F(StateLogs, AreNotOtherFiles) {
  StateLog log = opened();
  append(log, "pear", "yellow");
  const std::string whole = file_text();
  // A head is never written in part.
  for (const std::string& text : {std::string(), std::string("text"), whole.substr(0, 17),
                                  whole.substr(0, 100), "x" + whole}) {
    write(text);
    expect_error(ErrorKind::kFormat,
                 "log: expected measured weights of fruit, found something else",
                 [&] { (void)opened(); });
  }
}

TEST_F(StateLogs, NeedNoFile) {
  StateLog log({}, {"weights", "weights"}, {}, true);
  append(log, "pear", "yellow");
  EXPECT_TRUE(log.take_records().empty());
  StateLog other = opened("autumn", false);
  append(other, "pear", "yellow");
  EXPECT_FALSE(std::filesystem::exists(path("log")));
}

TEST_F(StateLogs, AreWrittenByOneProcess) {
  StateLog first = opened();
  append(first, "pear", "yellow");
  StateLog second = opened();
  append(second, "apple", "red");
  expect_error(ErrorKind::kIo, "log: cannot write: expected ", [&] { append(first, "plum", ""); });
}

}  // namespace
}  // namespace halftone
