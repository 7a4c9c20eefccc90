// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/option_fields.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace halftone {
namespace {

template <typename Options>
class OptionFields : public testing::Test {};

using AllOptions =
    testing::Types<v0::TrainOptions, v0::TeachingOptions, v0::LanguageDistillOptions,
                   v0::LanguageModelOptions, v0::LanguageFitOptions, v0::LanguageQuantizeOptions,
                   v0::SamplingOptions, v0::GenerateOptions, v0::DataOptions, v0::EstimateOptions,
                   v0::LanguageEstimateOptions, v0::ExploreSearch, v0::CrossbarOptions>;
TYPED_TEST_SUITE(OptionFields, AllOptions);

TYPED_TEST(OptionFields, HaveNamesSentencesAndDefaultsInRange) {
  TypeParam options;
  std::set<std::string> names;
  for (const Field& field : fields_of(options)) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " comes twice";
    EXPECT_TRUE(std::regex_match(field.name, std::regex("[a-z]+(_[a-z]+)*"))) << field.name;
    EXPECT_TRUE(field.option_name().starts_with("-")) << field.name;
    EXPECT_FALSE(field.text.empty()) << field.name;
    EXPECT_FALSE(field.text.ends_with('.')) << field.name;
    EXPECT_NO_THROW(field.check()) << field.name;
  }
}

TYPED_TEST(OptionFields, ReferToTheOptions) {
  TypeParam options;
  TypeParam others;
  const Fields fields = fields_of(options);
  const Fields same = fields_of(options);
  const Fields different = fields_of(others);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(fields[i].place, same[i].place) << fields[i].name;
    EXPECT_NE(fields[i].place, different[i].place) << fields[i].name;
  }
}

}  // namespace
}  // namespace halftone
